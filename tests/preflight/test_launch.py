"""A launch is what was asked for, read from plans and configs; its folders are found, or named when they are not."""

import pytest

from labkit.config import Drafter, EngineConfig, SpecConfig
from labkit.errors import ConfigError
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
    args = ("--tensor-parallel-size", "4", "--max_num_batched_tokens=8192", "--enforce-eager")
    engine = EngineConfig(target="T", max_model_len=4096, max_num_seqs=16, args=args)
    drafter = Drafter(method="draft_model", model="D", options={"draft_tensor_parallel_size": 1, "quantization": "fp8"})
    launch = launch_of(engine, SpecConfig(drafter=drafter, k=3))
    assert (launch.target, launch.draft, launch.method, launch.k) == ("T", "D", "draft_model", 3)
    assert (launch.tp, launch.draft_tp, launch.max_num_batched_tokens, launch.eager) == (4, 1, 8192, True)
    assert (launch.max_model_len, launch.max_num_seqs, launch.options) == (4096, 16, {"quantization": "fp8"})
    assert launch.speculative_config() == {
        "method": "draft_model", "model": "D", "num_speculative_tokens": 3, "draft_tensor_parallel_size": 1,
        "quantization": "fp8",
    }  # fmt: skip
    assert launch_of(engine, SpecConfig()).drafter is None


def test_one_thing_named_twice():
    with pytest.raises(ConfigError, match="k is 3 here and 5 in the speculative config; give it once"):
        merge_speculative_config({"num_speculative_tokens": 5}, {"k": 3})
    assert merge_speculative_config({"num_speculative_tokens": 5, "x": 1}, {"k": 5}) == {"k": 5, "options": {"x": 1}}


def test_a_refused_launch_raises_what_is_wrong(judge):
    with pytest.raises(
        ConfigError, match="would not run this as meant:\nk_zero: vLLM refuses num_speculative_tokens 0"
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
    with pytest.raises(
        ConfigError, match=r"'owner/name' is no folder and is not in the hub cache .*: hf download owner/"
    ):
        preflight(Launch(target="owner/name"))
    snapshots = tmp_path / "hub" / "models--owner--name" / "snapshots"
    snapshots.mkdir(parents=True)
    folder("model").rename(snapshots / "abc")
    assert preflight(Launch(target="owner/name", vllm="0.32.0")).case.target.vocab_size == 272


def test_a_multimodal_config_is_read_where_the_language_model_stands(judge):
    target = {"text_config": {"vocab_size": 400, "hidden_size": 64}, "vocab_size": 1}
    assert "400 of the target" in finding(judge(draft={}, k=4, target=target), "vocab_size").message
