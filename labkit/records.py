"""What was observed, and the flags that say what is wrong with it.

*Conventions*: times in seconds; those of a request are relative to its start, ``sent`` is relative to the
cell's start, ``*_at`` are epoch seconds. Counts are integers; a missing count is None and a flag says why, never
0. ``accepted`` excludes the bonus token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Any

from labkit.plan import Cell

__all__ = ["Flag", "FLAGS", "EngineCounters", "Counters", "RequestRecord", "Provenance", "Measurement"]

#: Every flag a measurement can carry, with what it means.
FLAGS = {
    "reset": "a counter went backwards: the engine restarted between the snapshots",
    "absent": "the metrics page lacks a series",
    "not_enabled": "the engine does not speculate",
    "enabled_idle": "speculation is configured and nothing was generated",
    "enabled_no_drafts": "speculation is configured, tokens were generated, nothing was drafted",
    "contaminated": "the server generated more tokens than this client received",
    "not_quiescent": "requests were running when a snapshot was taken",
    "cache_mismatch": "the prefix cache hit at another rate than in the cells compared with",
    "client_bound": "chunks came faster than this client reads them",
    "drift": "the anchor cell changed over the session",
    "synthetic": "acceptance is synthetic or prompts are random tokens",
    "partial": "some requests failed",
    "degenerate": "outputs loop",
    "censored": "conditional rates from counters are not exact here",
    "machine_busy": "other processes used the machine",
    "idle_engine": "one of several engines did nothing",
    "invariant": "counters contradict each other",
    "not_warm": "two warm-up rounds in a row never agreed within 5 %",
    "method_mismatch": "the engine runs another method or K than was asked for",
    "incompatible": "preflight finds that this cannot work as meant; it was measured all the same",
}


@dataclass(frozen=True, kw_only=True)
class Flag:
    name: str
    reason: str

    def __post_init__(self) -> None:
        if self.name not in FLAGS:
            raise ValueError(f"unknown flag {self.name!r}; known: {', '.join(FLAGS)}")


@dataclass(frozen=True, kw_only=True)
class EngineCounters:
    """Counters of one engine of one served model; None where the page has no such series."""

    drafts: int | None = None
    draft_tokens: int | None = None
    accepted_tokens: int | None = None
    accepted_per_pos: tuple[int, ...] | None = None
    generation_tokens: int | None = None
    prompt_tokens: int | None = None
    prefix_cache_queries: int | None = None
    prefix_cache_hits: int | None = None

    def combined(self, other: EngineCounters, sign: int) -> EngineCounters:
        """Field by field ``self + sign·other``; None wherever either is missing."""
        return EngineCounters(
            **{f.name: _combine(getattr(self, f.name), getattr(other, f.name), sign) for f in fields(self)}
        )

    def values(self) -> list[int]:
        plain = [getattr(self, f.name) for f in fields(self) if f.name != "accepted_per_pos"]
        return [value for value in (*plain, *(self.accepted_per_pos or ())) if value is not None]

    def broken_invariant(self, k: int | None = None) -> str | None:
        """The first violated invariant of a delta (DESIGN: what is recorded), in words; else None."""
        accepted, drafted, per_pos = self.accepted_tokens, self.draft_tokens, self.accepted_per_pos
        if any(value < 0 for value in self.values()):
            return "a count is negative"
        if per_pos is not None and accepted is not None and sum(per_pos) != accepted:
            return f"accepted per position sums to {sum(per_pos)}, accepted tokens are {accepted}"
        if per_pos is not None and any(later > earlier for earlier, later in pairwise(per_pos)):
            return f"accepted per position increases: {list(per_pos)}"
        if accepted is not None and drafted is not None and accepted > drafted:
            return f"accepted {accepted} > drafted {drafted}"
        if k is not None and drafted is not None and self.drafts is not None and drafted > k * self.drafts:
            return f"drafted {drafted} > K·steps = {k * self.drafts}"
        return None


def _combine(a: Any, b: Any, sign: int) -> Any:
    if a is None or b is None:
        return None
    if isinstance(a, Sequence):
        width = max(len(a), len(b))
        pad = [(*row, *(0,) * (width - len(row))) for row in (a, b)]
        return tuple(x + sign * y for x, y in zip(*pad, strict=True))
    return a + sign * b


@dataclass(frozen=True, kw_only=True)
class Counters:
    """One snapshot of a metrics page, or a difference of two, for one served model.

    ``running`` and ``waiting`` are gauges at the (later) snapshot.
    """

    model_name: str
    per_engine: dict[str, EngineCounters]
    running: int | None = None
    waiting: int | None = None

    @property
    def total(self) -> EngineCounters:
        """Sum over engines: a rate of sums, never a mean of rates."""
        engines = list(self.per_engine.values())
        total = engines[0]
        for engine in engines[1:]:
            total = total.combined(engine, +1)
        return total

    @property
    def max_position(self) -> int | None:
        """K as registered at the server's start: the number of positions counted."""
        per_pos = self.total.accepted_per_pos
        return len(per_pos) if per_pos is not None else None

    def since(self, earlier: Counters) -> Counters:
        """The delta from ``earlier`` to this snapshot. An engine missing earlier started at 0; one missing now
        went back to 0, which its negative delta shows."""

        def zero(like: EngineCounters) -> EngineCounters:
            return like.combined(like, -1)

        delta = {
            name: self.per_engine.get(name, zero(engine)).combined(engine, -1)
            for name, engine in earlier.per_engine.items()
        }
        new = {name: engine for name, engine in self.per_engine.items() if name not in delta}
        return Counters(
            model_name=self.model_name,
            per_engine=delta | new,
            running=self.running,
            waiting=self.waiting,
        )


@dataclass(frozen=True, kw_only=True)
class RequestRecord:
    """One request as the client saw it.

    ``t_first`` is the first chunk that carries tokens of any kind, ``t_answer`` the first that carries
    answer text (they differ for reasoning models), ``t_last`` the last chunk with tokens; ``n_first`` the
    tokens in the first chunk, ``chunk_times``/``chunk_tokens`` one entry per chunk with tokens (tokens
    None where the server does not tell). ``output_tokens`` comes from ``usage`` and is None without it.
    The per-step arrays hold drafted steps only and are None where the server sends none.
    """

    prompt_id: str
    category: str
    language: str
    turn: int = 0
    sampling: dict[str, Any] = field(default_factory=dict)
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    sent: float = 0.0
    t_first: float | None = None
    t_answer: float | None = None
    t_last: float | None = None
    n_first: int | None = None
    chunk_times: tuple[float, ...] = ()
    chunk_tokens: tuple[int | None, ...] = ()
    finish_reason: str | None = None
    text: str = ""
    reasoning: str = ""
    prompt_token_ids: tuple[int, ...] | None = None
    output_token_ids: tuple[int, ...] | None = None
    per_step_accepted: tuple[int, ...] | None = None
    per_step_drafted: tuple[int, ...] | None = None
    error: str | None = None

    @property
    def decode_seconds(self) -> float | None:
        """t_last − t_first, the time over which tokens after the first chunk came; None without any."""
        if self.t_first is None or self.t_last is None or not self.decode_tokens:
            return None
        return self.t_last - self.t_first

    @property
    def decode_tokens(self) -> int | None:
        """Output tokens after the first chunk, N − n_first."""
        if self.output_tokens is None or self.n_first is None:
            return None
        return self.output_tokens - self.n_first

    @property
    def tpot(self) -> float | None:
        """Seconds per output token after the first chunk; None where N = n_first."""
        return self.decode_seconds / self.decode_tokens if self.decode_seconds is not None else None


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where a measurement comes from. ``argv`` holds no secrets."""

    labkit_version: str
    engine_kind: str
    model: str
    engine_version: str | None
    device: str
    method_effective: str | None
    k_effective: int | None
    speculative_config: dict[str, Any] | None
    argv: tuple[str, ...]
    workload_hash: str
    started_at: float
    engine_uptime: float | None
    cpu_fixes: str | None = None


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One measured cell: what was asked, what came back, and what is wrong with it. ``others_cores``: cores
    that other processes of this machine kept busy meanwhile."""

    cell: Cell
    records: tuple[RequestRecord, ...]
    counters: Counters | None
    provenance: Provenance
    wall_seconds: float
    others_cores: float = 0.0
    flags: tuple[Flag, ...] = ()

    @property
    def id(self) -> str:
        return self.cell.id

    def flag(self, name: str) -> Flag | None:
        return next((flag for flag in self.flags if flag.name == name), None)

    @property
    def discarded(self) -> bool:
        """A reset or a broken method makes the counters, or the whole cell, useless."""
        return any(flag.name in {"reset", "method_mismatch"} for flag in self.flags)
