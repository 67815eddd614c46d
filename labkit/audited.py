"""What an audit said of one setting, as it is kept in a run's folder (:mod:`labkit.store`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["FAULT", "NOTHING_FOUND", "REFUSED", "Audited"]

FAULT, NOTHING_FOUND, REFUSED = "fault", "no fault found", "refused"


@dataclass(frozen=True, kw_only=True)
class Audited:
    """``engine``: the one under test, in words; ``at``: when, in epoch seconds; ``found``: all that was found, the JSON
    of ``labkit audit``."""

    drafter: str
    k: int
    temperature: float
    engine: str
    at: float
    found: dict[str, Any]

    @property
    def verdict(self) -> str:
        """FAULT, NOTHING_FOUND or REFUSED."""
        return self.found["verdict"]

    @property
    def why(self) -> list[str]:
        return self.found["why"]

    @property
    def tokens(self) -> int:
        """Tokens of the engine under test that were looked at."""
        return self.found.get("tokens", 0)

    @property
    def label(self) -> str:
        return f"{self.drafter} K={self.k} at T = {self.temperature:g}"
