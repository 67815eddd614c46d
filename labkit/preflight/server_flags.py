"""A server's arguments → fields of a Launch: the one place that knows which flag means what for the rules."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from labkit.errors import ConfigError
from labkit.preflight.arguments import Argument

__all__ = ["fields_of", "runner_of"]

_NUMBERS = {
    "tensor-parallel-size": "tp", "pipeline-parallel-size": "pp", "data-parallel-size": "dp",
    "max-model-len": "max_model_len", "max-num-seqs": "max_num_seqs",
    "max-num-batched-tokens": "max_num_batched_tokens", "max-cudagraph-capture-size": "max_cudagraph_capture_size",
    "gpu-memory-utilization": "gpu_memory_utilization",
}  # fmt: skip
_SWITCHES = {"enable-lora": "lora", "enforce-eager": "eager"}
#: As vLLM's parser reads them: small letters are powers of ten, capital ones of two.
_UNITS = {"": 1, **{letter: 1000**n for n, letter in enumerate("kmgt", 1)}}
_UNITS |= {letter: 1024**n for n, letter in enumerate("KMGT", 1)}


def fields_of(arguments: Sequence[Argument]) -> dict[str, Any]:
    """What ``arguments`` say about a launch; of a repeated flag the last counts.

    Raises:
        ConfigError: a number cannot be read, or only the shell knows it.
    """
    found: dict[str, Any] = {}
    for argument in arguments:
        if name := _SWITCHES.get(argument.name):
            found[name] = True
        elif (name := _NUMBERS.get(argument.name)) and argument.text not in ("auto", "-1"):
            found[name] = _number(argument)
        elif argument.name == "generation-config":
            found["plain_sampling"] = argument.text == "vllm"
    return found


def runner_of(environment: Mapping[str, str]) -> str | None:
    """The model runner that the environment of a server forces; None where it forces none."""
    return {"0": "v1", "1": "v2"}.get(environment.get("VLLM_USE_V2_MODEL_RUNNER", ""))


def _number(argument: Argument) -> int | float:
    text = argument.text
    if whole := re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)([kKmMgGtT]?)", text):
        number = float(whole[1]) * _UNITS[whole[2]]
        return int(number) if number.is_integer() else number
    only_shell = ", which only the shell can read" if any(word.expansions for word in argument.values) else ""
    raise ConfigError(f"{argument.given or '--' + argument.name} is {text!r}{only_shell}; write the number out")
