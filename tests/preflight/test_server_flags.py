"""Which flag of a server means what for the rules, and numbers as vLLM's parser reads them."""

import pytest

from labkit.errors import ConfigError
from labkit.preflight.arguments import read_arguments
from labkit.preflight.server_flags import fields_of, runner_of
from labkit.preflight.shell import Word


def fields(*words):
    return fields_of(read_arguments([Word(text=word) for word in words]))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("-tp", "4"), {"tp": 4}),
        (("--tensor-parallel-size=2", "-tp", "4"), {"tp": 4}),
        (("--pipeline_parallel_size", "2", "-dp", "3"), {"pp": 2, "dp": 3}),
        (("--max-model-len", "4k"), {"max_model_len": 4000}),
        (("--max-model-len", "4K"), {"max_model_len": 4096}),
        (("--max-model-len", "25.6k"), {"max_model_len": 25600}),
        (("--max-model-len", "auto"), {}),
        (("--max-model-len", "-1"), {}),
        (("--gpu-memory-utilization", "0.85"), {"gpu_memory_utilization": 0.85}),
        (("--enable-lora", "--enforce-eager"), {"lora": True, "eager": True}),
        (("--no-enforce-eager",), {}),
        (("--generation-config", "vllm"), {"plain_sampling": True}),
        (("--generation-config", "auto"), {"plain_sampling": False}),
        (("model", "--port", "8000", "--zzz", "1"), {}),
    ],
)
def test_flags(words, found):
    assert fields(*words) == found


@pytest.mark.parametrize("value", ["four", "", "1e3", "9" * 40])
def test_a_number_that_cannot_be_read_is_named(value):
    with pytest.raises(ConfigError, match=r"--max-num-seqs is '.*'; write the number out"):
        fields("--max-num-seqs", value)


@pytest.mark.parametrize(("value", "runner"), [("0", "v1"), ("1", "v2"), ("", None), ("yes", None)])
def test_the_runner_that_the_environment_forces(value, runner):
    assert runner_of({"VLLM_USE_V2_MODEL_RUNNER": value}) == runner
    assert runner_of({}) is None
