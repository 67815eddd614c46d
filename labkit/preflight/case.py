"""One launch with what its files say: what the conditions of rules look at.

*The method*: vLLM takes it from the draft's path or config unless it is one of a few that stand as named
(``config/speculative.py`` of 0.32, ``__post_init__``); :attr:`Case.method` follows that order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from labkit.config import METHODS
from labkit.preflight.launch import Launch
from labkit.preflight.models import Model
from labkit.preflight.tokenizer import TokenizerComparison
from labkit.preflight.vllm_flags import method_in_path

__all__ = ["Case", "HEADS", "READS_TARGET"]

#: Methods whose drafter is a head that reads hidden states of the target.
HEADS = ("eagle", "eagle3", "dflash", "dspark")
READS_TARGET = (*HEADS, "mtp")


@dataclass(frozen=True, kw_only=True)
class Case:
    """``tokenizer`` is None where there is nothing to compare, or nothing was to be read (``unread`` says
    what); ``lists`` are the named lists of ``data/rules.yaml``."""

    launch: Launch
    target: Model
    draft: Model | None = None
    tokenizer: TokenizerComparison | None = None
    unread: str = ""
    lists: Mapping[str, Any] = field(default_factory=dict)

    @property
    def asked(self) -> str | None:
        """The method asked for; a draft without one is a draft model."""
        return self.launch.drafter.method if self.launch.drafter else None

    @property
    def method(self) -> str | None:
        """The method vLLM would run."""
        asked = self.asked
        if asked in HEADS or self.draft is None or METHODS.get(asked or "") is False:
            return asked
        return method_in_path(self.draft.name) or self._by_config() or asked

    def _by_config(self) -> str | None:
        """The method that vLLM reads from the draft's config."""
        if self.draft.model_type in ("medusa", "mlp_speculator"):
            return self.draft.model_type
        own_heads = {self.draft.model_type, *self.draft.architectures} & set(self.lists.get("mtp_models", ()))
        return "mtp" if own_heads and self.draft.mtp_layers else None

    @property
    def k(self) -> int:
        return self.launch.k or 0

    @property
    def draft_tp(self) -> int:
        """Without one vLLM takes the target's."""
        return self.launch.draft_tp or self.launch.tp

    def option(self, name: str) -> Any:
        return self.launch.options.get(name)

    def sampling(self, name: str) -> Any:
        """A sampling parameter as requests or the target's generation config set it."""
        asked = self.launch.sampling.get(name)
        served = {} if self.launch.plain_sampling else self.target.generation
        return served.get(name) if asked is None else asked
