"""A launch is what was asked for, read from plans and configs; its folders are found, or named when they are not."""

import pytest

from labkit.config import Drafter, EngineConfig, SpecConfig
from labkit.errors import ConfigError, IncompatibleError
from labkit.preflight.check import preflight
from labkit.preflight.launch import Launch, launch_of, merge_speculative_config, release
from tests.preflight.conftest import finding


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"k": -1}, "cannot be negative; got -1"),
        ({"k": 3}, "K = 3 needs a drafter"),
        ({"tp": 0}, "tp must be at least 1; got 0"),
        ({"method": "ngrm", "k": 3}, "unknown drafting method 'ngrm'.*did you mean 'ngram'"),
        ({"method": "ngram", "draft": "x/y", "k": 3}, "drafts without a model"),
        ({"method": "eagle3", "k": 3}, "needs a model"),
        ({"vllm": "newest"}, "no vLLM version: 'newest'"),
        ({"gpu_memory_utilization": 90}, r"must be in \(0, 1\]; got 90"),
    ],
)
def test_a_launch_that_makes_no_sense(fields, message):
    with pytest.raises(ConfigError, match=message):
        Launch(target="demo", **fields)


@pytest.mark.parametrize(("text", "found"), [("0.32.0", (0, 32)), ("v0.9", (0, 9)), ("0.26.1rc1.dev3+cpu", (0, 26))])
def test_the_release_of_a_version(text, found):
    assert release(text) == found


def test_a_launch_of_a_plans_engine():
    args = ("-tp", "2", "--tensor-parallel-size", "4", "--max_num_batched_tokens=8k", "--enforce-eager")
    runner = {"VLLM_USE_V2_MODEL_RUNNER": "1"}
    engine = EngineConfig(target="T", max_model_len=4096, max_num_seqs=16, args=args, env=runner)
    drafter = Drafter(method="draft_model", model="D", options={"draft_tensor_parallel_size": 1, "quantization": "fp8"})
    launch = launch_of(engine, SpecConfig(drafter=drafter, k=3))
    assert (launch.target, launch.draft, launch.method, launch.k) == ("T", "D", "draft_model", 3)
    assert (launch.tp, launch.draft_tp, launch.max_num_batched_tokens, launch.eager) == (4, 1, 8000, True)
    assert launch.runner == "v2"
    assert (launch.max_model_len, launch.max_num_seqs, launch.options) == (4096, 16, {"quantization": "fp8"})
    assert launch.speculative_config() == {
        "method": "draft_model", "model": "D", "num_speculative_tokens": 3, "draft_tensor_parallel_size": 1,
        "quantization": "fp8",
    }  # fmt: skip
    assert launch_of(engine, SpecConfig()).drafter is None


@pytest.mark.parametrize(
    ("args", "options", "message"),
    [
        (("--pipeline-parallel-size", "two"), {}, "--pipeline-parallel-size is 'two'; write the number out"),
        ((), {"draft_tensor_parallel_size": "one"}, "the engine of D K=3: draft_tp: .*; got 'one'"),
    ],
)
def test_a_plan_whose_numbers_cannot_be_read(args, options, message):
    drafter = Drafter(method="draft_model", model="D", options=options)
    with pytest.raises(ConfigError, match=message):
        launch_of(EngineConfig(target="T", args=args), SpecConfig(drafter=drafter, k=3))


def test_one_thing_named_twice():
    with pytest.raises(ConfigError, match="k is 3 here and 5 in the speculative config; give it once"):
        merge_speculative_config({"num_speculative_tokens": 5}, {"k": 3})
    assert merge_speculative_config({"num-speculative-tokens": 5, "x-y": 1}, {"k": 5}) == {
        "k": 5, "options": {"x_y": 1},
    }  # fmt: skip


def test_a_refused_launch_raises_what_is_wrong(judge):
    with pytest.raises(
        IncompatibleError, match="not run this as meant:\nk_zero: vLLM refuses num_speculative_tokens 0"
    ):
        judge(draft={}, k=0).check()


def test_a_launch_that_only_warns_is_not_refused(judge):
    judge(draft={}, k=4, pp=2).check()


def test_missing_and_damaged_folders_are_named(folder, tmp_path):
    with pytest.raises(ConfigError, match=r"the target folder .* has no config\.json"):
        preflight(Launch(target=str(tmp_path)))
    with pytest.raises(ConfigError, match=r"no draft at '\./nowhere'"):
        preflight(Launch(target=str(folder("target")), draft="./nowhere"))
    broken = folder("broken")
    (broken / "config.json").write_text("[]")
    with pytest.raises(ConfigError, match="holds no JSON object"):
        preflight(Launch(target=str(broken)))


def test_a_hub_id_is_taken_from_the_local_cache_alone(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    absent = preflight(Launch(target="owner/name", draft="owner/draft", k=3, pp=2, vllm="0.32.0"))
    assert (absent.verdict, {found.rule for found in absent.findings if found.level == "warn"}) == (
        "warn", {"config_unread", "tokenizer_unread", "pipeline_parallel"},
    )  # fmt: skip
    assert "hf download owner/name --include" in finding(absent, "config_unread").message
    assert preflight(Launch(target="owner/name", method="mtp", k=1, vllm="0.32.0")).verdict == "warn"
    snapshots = tmp_path / "hub" / "models--owner--name" / "snapshots"
    snapshots.mkdir(parents=True)
    folder("model").rename(snapshots / "abc")
    found = preflight(Launch(target="owner/name", vllm="0.32.0"))
    assert (found.case.target.vocab_size, found.case.target.name, found.verdict) == (272, "owner/name", "ok")


def test_of_a_public_model_that_is_not_here_the_known_fields_are_looked_at(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    pair = {"target": "Qwen/Qwen2.5-72B-Instruct", "draft": "Qwen/Qwen2.5-0.5B-Instruct", "k": 5, "vllm": "0.32.0"}
    report = preflight(Launch(tp=4, **pair))
    assert {line.split(":")[0] for line in report.refused} == {"vocab_size", "draft_heads"}
    assert report.tokenizer.verdict == "padding_only"
    assert "its files are not here; looked at were the fields of its public config" in report.plain()["notes"][0]


def test_a_multimodal_config_is_read_where_the_language_model_stands(judge):
    target = {"text_config": {"vocab_size": 400, "hidden_size": 64}, "vocab_size": 1}
    assert "400 of the target" in finding(judge(draft={}, k=4, target=target), "vocab_size").message
