"""How a simulated drafter is configured, and the one that needs no model: prompt lookup."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from labkit.config import METHODS
from labkit.errors import ConfigError

__all__ = ["Speculation", "lookup"]

_LOOKUP_METHODS = {"ngram", "ngram_gpu"}
_NOT_MODELLED = {"suffix"}
_OPTIONS = {
    "method", "model", "num_speculative_tokens", "prompt_lookup_min", "prompt_lookup_max", "draft_sample_method",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Speculation:
    """vLLM's speculative config, as far as it is simulated. ``lookup`` is the (shortest, longest) run of
    tokens that is looked up; None where a model drafts."""

    method: str
    k: int
    model: str | None = None
    probabilistic: bool = False
    lookup: tuple[int, int] | None = None

    @classmethod
    def from_vllm(cls, config: dict[str, Any] | None) -> Self | None:
        """Read ``--speculative-config``; None is the baseline.

        Raises:
            ConfigError: a method, an option or a value that the simulation does not model.
        """
        if config is None:
            return None
        method, k = config.get("method"), config.get("num_speculative_tokens")
        low, high = config.get("prompt_lookup_min"), config.get("prompt_lookup_max")
        low, high = low or high or 5, high or low or 5  # vLLM's defaults
        if unknown := sorted(config.keys() - _OPTIONS):
            raise ConfigError(f"the simulated engine does not model the options {unknown}; it knows {sorted(_OPTIONS)}")
        if method not in METHODS or method in _NOT_MODELLED:
            known = ", ".join(sorted(METHODS.keys() - _NOT_MODELLED))
            raise ConfigError(f"the simulated engine does not model method {method!r}; it knows {known}")
        if not isinstance(k, int) or k < 1:
            raise ConfigError(f"num_speculative_tokens must be an integer ≥ 1; got {k!r}")
        if low > high:
            raise ConfigError(f"prompt_lookup_min must be ≤ prompt_lookup_max; got {low} and {high}")
        return cls(
            method=method,
            k=k,
            model=config.get("model"),
            probabilistic=config.get("draft_sample_method") == "probabilistic",
            lookup=(low, high) if method in _LOOKUP_METHODS else None,
        )


def lookup(ids: bytes | bytearray, k: int, shortest: int, longest: int) -> list[int]:
    """Prompt lookup as vLLM's ngram proposer does it: of the longest run of last tokens (``shortest`` to
    ``longest`` of them) that occurs earlier, the earliest occurrence, and up to ``k`` tokens after it."""
    for n in range(min(longest, len(ids) - 1), shortest - 1, -1):
        found = ids.find(ids[-n:], 0, len(ids) - 1)
        if found >= 0:
            return list(ids[found + n : found + n + k])
    return []
