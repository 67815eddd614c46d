"""What every engine is: an OpenAI-compatible server with a metrics page, and facts about it.

Two implementations start a process (``server``: vLLM; ``simulated``: the deterministic twin), one
attaches to a URL (``remote``).  All are context managers; leaving the context stops what was started
and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from labkit.config import SpecConfig

__all__ = ["EngineInfo", "Engine"]


@dataclass(frozen=True, kw_only=True)
class EngineInfo:
    """Facts about a ready engine. ``method`` and ``k`` are what the engine really runs, as far as it
    tells: "unknown" and None where it does not; the baseline has method None and K = 0."""

    kind: str
    model: str
    requested: SpecConfig | None
    method: str | None
    k: int | None
    version: str | None
    device: str
    started_at: float
    argv: tuple[str, ...] = ()
    speculative_config: dict[str, Any] | None = None
    cpu_fixes: str | None = None
    pids: tuple[int, ...] = ()
    log_path: Path | None = None


class Engine(Protocol):
    """A ready engine."""

    url: str  # without the /v1
    info: EngineInfo

    def alive(self) -> bool:
        """Whether the engine can still answer; for a process, whether it runs."""

    def last_words(self) -> str:
        """The last meaningful lines of its log, for error messages; empty where there is none."""

    def close(self) -> None:
        """Stop what was started, verify that nothing of it is left. Safe to call twice."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...
