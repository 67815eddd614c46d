"""Every rule: what is asked for, and what is said of it. Verdicts of the field notes' launches."""

import json
import string
from dataclasses import replace

import pytest

from labkit.preflight.check import preflight
from labkit.preflight.launch import Launch, release
from labkit.preflight.rules import CONDITIONS, LEVELS, STATES, load_rules
from tests.preflight.conftest import SPECIAL, finding, permuted, tokenizer
from tests.preflight.test_pruned import safetensors

DRAFT = {"draft": {}, "k": 4}
HEAD = {"draft": {"architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1}, "method": "eagle3", "k": 3}
NGRAM = {"method": "ngram", "k": 4, "options": {"prompt_lookup_max": 4, "prompt_lookup_min": 2}}
MTP = {"target": {"model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"],
                  "num_nextn_predict_layers": 2}, "method": "mtp", "k": 2}  # fmt: skip
OTHER = {"tokens": tokenizer(special=[*SPECIAL[:2], "<|a|>", "<|b|>", "<|c|>", "<|d|>"])}
LOWER = {"tokens": tokenizer(normalizer={"type": "Lowercase"})}
TLI = {"options": {"use_heterogeneous_vocab": True}}
BIG = {"vocab_size": 400}
SCHEDULE = {"num_speculative_tokens_per_batch_size": [[1, 4, 3], [5, 64, 1]]}


def options(of, **more):
    return of | {"options": of.get("options", {}) | more}


#: Rule, state, and the launch that meets it: fields of target, draft and Launch.
CASES = [
    ("tokenizer", "unsupported", DRAFT | {"draft": OTHER}),
    ("tokenizer", "unsupported", DRAFT | {"draft": {"tokens": permuted()}, "vllm": "0.99"}),
    ("tokenizer", "unsupported", HEAD | {"draft": HEAD["draft"] | OTHER}),
    ("tokenizer_unread", "unknown", DRAFT | {"draft": {"bare": True}}),
    ("tokenizer_unread", "unknown", DRAFT | {"target": {"bare": True}}),
    ("encoding", "unknown", DRAFT | {"draft": LOWER}),
    ("vocab_size", "unsupported", DRAFT | {"target": BIG}),
    ("vocab_size", "unsupported", DRAFT | {"target": BIG, "vllm": "0.33.0"}),
    ("vocab_size", "unsupported", DRAFT | {"target": BIG, "vllm": "0.8.5"}),
    ("vocab_size", "unknown", DRAFT | {"target": BIG, "vllm": "0.40.0"}),
    ("heterogeneous_vocab", "supported", DRAFT | TLI | {"draft": OTHER}),
    ("heterogeneous_vocab", "supported", DRAFT | TLI | {"target": BIG}),
    ("heterogeneous_vocab", "unknown", DRAFT | TLI | {"vllm": "0.20.0"}),
    ("heterogeneous_vocab_misused", "unsupported", HEAD | TLI),
    ("heterogeneous_vocab_misused", "unsupported", options(DRAFT | TLI, draft_sample_method="probabilistic")),
    ("pruned_vocabulary", "supported", HEAD | {"draft": HEAD["draft"] | {"draft_vocab_size": 100}}),
    ("vocabulary_of_head", "unknown", HEAD | {"target": BIG}),
    ("method_from_path", "unsupported", DRAFT | {"draft_name": "my-eagle3-folder", "method": "draft_model"}),
    ("method_from_path", "unsupported", DRAFT | {"draft_name": "EAGLE-small"}),
    ("head_as_draft_model", "unsupported", HEAD | {"method": "draft_model"}),
    ("head_as_draft_model", "unsupported", HEAD | {"method": None}),
    ("head_architecture", "unsupported", HEAD | {"draft": {"architectures": ["Qwen2ForCausalLM"]}}),
    ("head_architecture", "unsupported", HEAD | {"method": "eagle"}),
    ("eagle3_target", "unknown", HEAD | {"target": {"architectures": ["BloomForCausalLM"]}}),
    ("hidden_size", "unsupported", HEAD | {"target": {"hidden_size": 96}}),
    ("hidden_size", "unsupported", HEAD | {"draft": HEAD["draft"] | {"target_hidden_size": 96}}),
    ("mtp_missing", "unsupported", {"method": "mtp", "k": 1}),
    ("mtp_missing", "unsupported", MTP | {"target": MTP["target"] | {"num_nextn_predict_layers": 0}}),
    ("mtp_indivisible", "unsupported", MTP | {"k": 3}),
    ("mtp_beyond_depth", "unknown", MTP | {"k": 4}),
    ("draft_model", "supported", DRAFT),
    ("draft_model", "supported", DRAFT | {"vllm": "0.9.2"}),
    ("draft_model", "unsupported", DRAFT | {"vllm": "0.13.0"}),
    ("draft_model", "unknown", DRAFT | {"vllm": "0.14.1"}),
    ("mlp_speculator", "unsupported", DRAFT | {"method": "mlp_speculator"}),
    ("mlp_speculator", "supported", DRAFT | {"method": "mlp_speculator", "vllm": "0.6.3"}),
    ("suffix", "unknown", {"method": "suffix", "k": 8}),
    ("ngram_without_lookup", "supported", {"method": "ngram", "k": 4}),
    ("ngram_without_lookup", "unsupported", {"method": "ngram", "k": 4, "vllm": "0.6.3"}),
    ("ngram_lookup", "unsupported", options(NGRAM, prompt_lookup_min=5)),
    ("ngram_lookup", "unsupported", options(NGRAM, prompt_lookup_min=0)),
    ("k_zero", "unsupported", DRAFT | {"k": 0}),
    ("k_missing", "unknown", MTP | {"k": None}),
    ("draft_tp_value", "unsupported", DRAFT | {"tp": 4, "draft_tp": 2}),
    ("draft_tp_of_draft_model", "unsupported", DRAFT | {"tp": 4, "draft_tp": 1}),
    ("draft_tp_of_draft_model", "unsupported", DRAFT | {"tp": 4, "draft_tp": 1, "vllm": "0.15.1", "runner": "v1"}),
    ("draft_tp_of_draft_model", "unknown", DRAFT | {"tp": 4, "draft_tp": 1, "runner": "v2"}),
    ("draft_tp_of_draft_model", "supported", DRAFT | {"tp": 4, "draft_tp": 1, "vllm": "0.6.3"}),
    ("draft_tp_of_head", "inert", HEAD | {"tp": 4, "draft_tp": 1}),
    ("target_heads", "unsupported", NGRAM | {"tp": 3}),
    ("draft_heads", "unsupported", DRAFT | {"draft": {"num_attention_heads": 2, "head_dim": 16}, "tp": 4}),
    ("pipeline_parallel", "unknown", DRAFT | {"pp": 2}),
    ("pipeline_parallel", "unknown", NGRAM | {"pp": 2}),
    ("pipeline_parallel", "unsupported", NGRAM | {"pp": 2, "vllm": "0.15.0"}),
    ("pipeline_parallel", "unsupported", DRAFT | {"pp": 2, "vllm": "0.28.0"}),
    ("pipeline_parallel_relayed", "supported", HEAD | {"pp": 2, "runner": "v2"}),
    ("pipeline_parallel_relayed", "unknown", HEAD | {"pp": 2}),
    ("pipeline_parallel_relayed", "unsupported", HEAD | {"pp": 2, "vllm": "0.12.0"}),
    (
        "pipeline_parallel_not_relayed",
        "unsupported",
        HEAD | {"pp": 2, "target": {"architectures": ["GptOssForCausalLM"]}},
    ),
    (
        "pipeline_parallel_not_relayed",
        "unsupported",
        HEAD | {"pp": 2, "target": {"architectures": ["GptOssForCausalLM"]}, "vllm": "0.12.0"},
    ),
    ("schedule_with_dp", "inert", options(DRAFT, **SCHEDULE) | {"dp": 2}),
    ("schedule", "unknown", options(DRAFT, **SCHEDULE)),
    ("schedule_broken", "unsupported", options(DRAFT, num_speculative_tokens_per_batch_size=[[2, 4, 3]])),
    ("runner_v2", "supported", NGRAM | {"runner": "v2"}),
    ("runner_v2", "supported", DRAFT | {"runner": "v2"}),
    ("runner_v2", "unknown", NGRAM | {"runner": "v2", "vllm": "0.23.0"}),
    ("runner_v2_lacks", "unsupported", {"method": "suffix", "k": 4, "runner": "v2"}),
    ("runner_v2_lacks", "unsupported", DRAFT | TLI | {"runner": "v2"}),
    ("runner_v2_lacks", "unsupported", options(HEAD, parallel_drafting=True) | {"runner": "v2"}),
    ("runner_v1_lacks", "unsupported", HEAD | {"method": "dspark", "runner": "v1"}),
    ("graphs_too_small", "unsupported", NGRAM | {"max_cudagraph_capture_size": 4}),
    ("graphs_too_small", "unknown", NGRAM | {"max_cudagraph_capture_size": 4, "runner": "v2"}),
    ("graphs_left", "unknown", NGRAM | {"max_num_seqs": 128}),
    ("batched_tokens", "unsupported", DRAFT | {"max_num_batched_tokens": 1}),
    ("lora", "unknown", DRAFT | {"lora": True}),
    ("lora_batched_tokens", "unsupported", NGRAM | {"lora": True, "max_num_batched_tokens": 512, "max_num_seqs": 256}),
    ("memory_unknown", "unknown", DRAFT | {"gpu_memory_gib": 80}),
    ("window_short", "unknown", DRAFT | {"draft": {"max_position_embeddings": 128}}),
    ("window_short", "inert", DRAFT | {"draft": {"max_position_embeddings": 128}, "runner": "v1"}),
    ("window_short", "unknown", DRAFT | {"draft": {"max_position_embeddings": 128}, "runner": "v2"}),
    ("window_short", "unknown", HEAD | {"draft": HEAD["draft"] | {"max_position_embeddings": 128}}),
    (
        "window_short",
        "unsupported",
        HEAD | {"draft": HEAD["draft"] | {"max_position_embeddings": 128}, "vllm": "0.24.0"},
    ),
    ("window_option", "unsupported", options(DRAFT, max_model_len=1024)),
    ("structured_outputs", "supported", DRAFT | {"structured_outputs": "xgrammar"}),
    ("structured_outputs_refused", "unsupported", DRAFT | {"structured_outputs": "lm-format-enforcer"}),
    ("sampling", "unsupported", DRAFT | {"sampling": {"min_p": 0.1}}),
    ("sampling", "unsupported", DRAFT | {"generation": {"min_p": 0.05}}),
    ("penalties", "supported", DRAFT | {"generation": {"repetition_penalty": 1.05}}),
    ("penalties", "inert", DRAFT | {"generation": {"repetition_penalty": 1.05}, "vllm": "0.12.0"}),
    ("padded_batch_off", "unsupported", options(DRAFT, disable_padded_drafter_batch=True)),
    ("disable_by_batch_size", "unsupported", options(DRAFT, disable_by_batch_size=4)),
    ("disable_by_batch_size", "inert", options(NGRAM, disable_by_batch_size=4) | {"vllm": "0.11.0"}),
    ("disable_by_batch_size", "supported", options(DRAFT, disable_by_batch_size=4) | {"vllm": "0.8.0"}),
    ("disable_by_batch_size", "unknown", options(NGRAM, disable_by_batch_size=4) | {"vllm": "0.20.0"}),
    ("tensor_parallel_size_key", "unsupported", options(DRAFT, tensor_parallel_size=2)),
    ("unknown_key", "unsupported", options(NGRAM, prompt_lookup_maximum=4)),
    ("other_version", "unknown", NGRAM | {"vllm": "0.31.0"}),
]
#: Rules whose launches need files of their own; tested one by one below.
BY_FILES = {"config_unread", "pruned_vocabulary_broken", "memory", "memory_short"}


def look(judge, launch):
    return judge(**{name: value for name, value in launch.items() if value is not None})


@pytest.mark.parametrize(("rule", "state", "launch"), CASES, ids=[f"{n}-{r}-{s}" for n, (r, s, _) in enumerate(CASES)])
def test_a_launch_that_meets_a_rule(judge, rule, state, launch):
    report = look(judge, launch)
    found = finding(report, rule)
    assert found is not None, [f.rule for f in report.findings]
    assert (found.state, found.level) == (state, STATES[state])
    assert LEVELS.index(report.verdict) >= LEVELS.index(found.level)
    assert "{" not in found.message.replace('{"', ""), found.message
    assert found.source


@pytest.mark.parametrize("rule", load_rules().rules, ids=lambda rule: rule.rule)
def test_every_entry_of_the_rules_has_a_case(rule):
    if rule.rule in BY_FILES:
        return
    met = set()
    for name, _, launch in CASES:
        version = release(launch.get("vllm", "0.32.0"))
        runners = [launch["runner"]] if launch.get("runner") else ["v1", "v2"]
        met |= {rule.at(version, runner) for runner in runners if name == rule.rule}
    assert [entry for entry in rule.states if entry not in met] == []


def test_every_condition_has_a_rule_and_no_rule_is_named_twice():
    rules = load_rules().rules
    assert {rule.condition for rule in rules} == set(CONDITIONS)
    assert len({rule.rule for rule in rules}) == len(rules)


@pytest.mark.parametrize("rule", load_rules().rules, ids=lambda rule: rule.rule)
def test_a_rule_says_what_and_where_from(rule):
    for entry in rule.states:
        assert entry.source
        assert entry.says.endswith((".", "]].")), entry.says
        assert all(name != "" for _, name, *_ in string.Formatter().parse(entry.says)), "fields have names"
        if entry.since and entry.until:
            assert release(entry.since) <= release(entry.until)


# --- what meets nothing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "launch",
    [
        {}, NGRAM, DRAFT, DRAFT | {"k": None}, HEAD, MTP, DRAFT | {"tp": 4}, DRAFT | {"tp": 4, "draft_tp": 4},
        HEAD | {"draft_name": "eagle3-head"}, HEAD | {"draft_name": "eagle3-head", "method": None},
        HEAD | {"draft": HEAD["draft"] | {"bare": True}}, NGRAM | {"max_num_seqs": 64},
        DRAFT | {"max_model_len": 128, "draft": {"max_position_embeddings": 128}},
        DRAFT | {"request_tokens": 100, "draft": {"max_position_embeddings": 128}},
        NGRAM | {"max_num_seqs": 512, "eager": True, "max_cudagraph_capture_size": 1},
    ],
)  # fmt: skip
def test_a_good_launch_is_ok(judge, launch):
    report = look(judge, launch)
    assert report.verdict == "ok", report.findings
    assert [found for found in report.findings if found.level != "ok"] == []


@pytest.mark.parametrize("more", [{"sampling": {"min_p": 0.0}}, {"plain_sampling": True}])
def test_what_requests_send_stands_above_the_generation_config(judge, more):
    """A generation config with min_p is no obstacle where requests send another or the server leaves it aside."""
    assert judge(**DRAFT | {"generation": {"min_p": 0.05}} | more).verdict == "ok"


def test_a_request_that_ends_at_the_edge_of_the_window(judge):
    """Drafting stops K tokens before the window's end."""
    report = judge(**DRAFT | {"request_tokens": 126, "draft": {"max_position_embeddings": 128}})
    assert "grow to 126 tokens, the draft's window is 128" in finding(report, "window_short").message


def test_a_stretched_window_is_as_long_as_vllm_takes_it(judge):
    draft = {"max_position_embeddings": 128, "rope_parameters": {"rope_type": "linear", "factor": 4.0}}
    assert judge(**DRAFT | {"draft": draft}).verdict == "ok"


# --- field notes, launch -----------------------------------------------------------------------------------


def test_padded_vocabularies_are_named_padding_and_refused(judge):
    """152064 against 151936: the tokens are the same, vLLM refuses the sizes, and the ways out are said."""
    report = judge(target={"vocab_size": 152064}, draft={"vocab_size": 151936}, k=5)
    assert (report.verdict, report.tokenizer.verdict) == ("incompatible", "padding_only")
    said = finding(report, "vocab_size").message
    assert "152064 of the target and 151936 of the draft differ (padding only)" in said
    assert "use_heterogeneous_vocab" in said
    assert finding(report, "tokenizer") is None


def test_four_special_tokens_are_incompatible_with_their_ids(judge):
    report = judge(**DRAFT | {"draft": OTHER})
    assert (report.verdict, report.tokenizer.verdict) == ("incompatible", "incompatible")
    assert report.plain()["tokenizer"]["differing_ids"] == [263, 264, 265, 266]
    assert "4 special ids mean other tokens" in finding(report, "tokenizer").message


def test_disable_by_batch_size_is_accepted_but_without_effect(judge):
    """In the versions that still took it; today's refuse it, and say what it was."""
    old = judge(**options(NGRAM, disable_by_batch_size=4) | {"vllm": "0.11.0"})
    assert "accepted but has no effect" in finding(old, "disable_by_batch_size").message
    asked = old.case.launch
    today = preflight(replace(asked, vllm="0.32.0"))
    assert "accepted but had no effect" in finding(today, "disable_by_batch_size").message


def test_draft_tp_changes_by_version_and_is_unknown_where_unknown(folder):
    states = {}
    target, draft = str(folder("target")), str(folder("draft"))
    for version in ("0.6.3", "0.12.0", "0.15.0", "0.32.0", "0.40.0"):
        report = preflight(Launch(target=target, draft=draft, k=4, tp=4, draft_tp=1, vllm=version))
        states[version] = finding(report, "draft_tp_of_draft_model").state
    known = {"0.6.3": "supported", "0.15.0": "unsupported", "0.32.0": "unsupported"}
    assert states == known | {"0.12.0": "unknown", "0.40.0": "unknown"}


def test_a_runner_nobody_named_counts_as_the_worse_and_both_are_told(judge):
    said = finding(judge(**DRAFT | {"tp": 4, "draft_tp": 1}), "draft_tp_of_draft_model").message
    assert "needs the target's tensor parallel size: got draft 1, target 4" in said
    assert "On model runner V2: " in said


def test_unknown_says_what_is_known_of_another_version(judge):
    said = finding(judge(**DRAFT | {"vllm": "0.40.0", "target": BIG}), "vocab_size").message
    assert said.startswith("What vLLM 0.40.0 does about vocabularies of different size is not known. Of 0.32.0: ")


def test_unknown_is_never_fine(judge):
    assert judge(**NGRAM | {"vllm": "0.40.0"}).verdict == "warn"


def test_a_method_changed_by_a_folders_name_is_shown(judge):
    """Field notes: AL 1.02 for 3.88. What runs is named as well as what was asked."""
    report = judge(**DRAFT | {"draft_name": "qwen-eagle3", "method": "draft_model"})
    assert report.plain()["method"] == "eagle3"
    assert "would run method eagle3, not draft_model" in finding(report, "method_from_path").message


# --- rules that need files ---------------------------------------------------------------------------------


def head(folder, ids, size):
    made = folder("eagle3-head", bare=True, draft_vocab_size=size, **HEAD["draft"])
    safetensors(made / "model.safetensors", d2t=[number - n for n, number in enumerate(ids)])
    return Launch(target=str(folder("target")), draft=str(made), method="eagle3", k=3, vllm="0.32.0")


def test_a_pruned_vocabulary_is_read_and_its_coverage_told(folder):
    report = preflight(head(folder, range(0, 200, 2), 100))
    pruned = report.plain()["tokenizer"]["pruned"]
    assert (report.verdict, pruned["valid"]) == ("ok", True)
    assert 0 < pruned["covers"]["en"] < 1
    assert "proposes 100 of the target's 272 tokens" in finding(report, "pruned_vocabulary").message
    assert "the head has no tokenizer of its own" in report.tokenizer.notes[-1]


@pytest.mark.parametrize(
    ("ids", "size", "why"),
    [([0, 5, 300], 3, "1 of its tokens are beyond the target's 272"), ([0, 5], 3, "d2t has 2 entries")],
)
def test_a_pruned_vocabulary_of_another_target(folder, ids, size, why):
    report = preflight(head(folder, ids, size))
    found = finding(report, "pruned_vocabulary_broken")
    assert (report.verdict, found.level) == ("incompatible", "incompatible")
    assert why in found.message


def with_weights(folder, *, target_bytes, **launch):
    target, draft = folder("target", max_position_embeddings=8192), folder("draft", max_position_embeddings=8192)
    index = {"metadata": {"total_size": target_bytes}, "weight_map": {}}
    (target / "model.safetensors.index.json").write_text(json.dumps(index))
    (draft / "model.safetensors").write_bytes(b"\0" * 2**20)
    return preflight(Launch(target=str(target), draft=str(draft), k=2, vllm="0.32.0", **launch))


def test_memory_left_for_the_kv_cache(folder):
    """2 layers × 2 × 4 heads × 16 × 4 bytes = 1 KiB a token and model; 10 GiB of weights, 1 MiB of draft."""
    report = with_weights(folder, target_bytes=10 * 2**30, gpu_memory_gib=12, gpu_memory_utilization=1.0)
    tokens = (2 * 2**30 - 2**20) // 2048
    assert report.verdict == "ok"
    assert f"{tokens} tokens of KV cache, one sequence needs 8192" in finding(report, "memory").message


def test_memory_that_holds_no_sequence(folder):
    report = with_weights(folder, target_bytes=10 * 2**30, gpu_memory_gib=10, gpu_memory_utilization=1.0)
    assert report.verdict == "incompatible"
    assert "leave 0 tokens of KV cache" in finding(report, "memory_short").message


def test_memory_is_that_of_all_gpus(folder):
    report = with_weights(folder, target_bytes=10 * 2**30, gpu_memory_gib=6, gpu_memory_utilization=1.0, tp=2)
    assert report.verdict == "ok"


@pytest.mark.parametrize(
    ("schedule", "why"),
    [
        ([], "it must be a list"), ([[1, 2]], "it must be a list"), ("1-4", "it must be a list"),
        ([[1, 2, 1.5]], "whole numbers"), ([[1, 0, 1]], "must rise"), ([[1, 4, -1]], "must rise"),
        ([[2, 4, 1]], "begin at batch size 1"), ([[1, 4, 1], [4, 8, 0]], "must not overlap"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_schedule(judge, schedule, why):
    report = judge(**options(DRAFT, num_speculative_tokens_per_batch_size=schedule))
    assert why in finding(report, "schedule_broken").message
