"""Acceptance: rate, mean acceptance length, tokens per step, joint and conditional rates.

*Conventions*: accepted excludes the bonus token; ``mean_acceptance_length`` includes it. Position i is
0-based in arrays, 1-based in words. Rates lie in [0, 1] and are NaN where nothing was drafted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from labkit.analysis.bootstrap import Interval, draw_weights, interval_of
from labkit.records import EngineCounters, RequestRecord

__all__ = [
    "Acceptance", "from_counters", "from_steps", "from_records", "length_interval",
    "request_weighted_length", "joint_intervals", "decode_steps", "tokens_per_step", "iid_length",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """Counts of drafted steps and what follows from them.

    ``reached[i]`` steps accepted at least i drafts and drafted at least i + 1: the denominators of the
    conditional rates. None from counters that do not determine them.
    """

    steps: int
    drafted: int
    accepted: int
    per_pos: tuple[int, ...]
    reached: tuple[int, ...] | None = None

    @property
    def rate(self) -> float:
        """Accepted / drafted. Falls as K grows: never rank K by it."""
        return self.accepted / self.drafted if self.drafted else float("nan")

    @property
    def accepted_per_draft(self) -> float:
        """Accepted / steps, 0…K, without the bonus token."""
        return self.accepted / self.steps if self.steps else float("nan")

    @property
    def mean_acceptance_length(self) -> float:
        """1 + accepted / steps, 1…K + 1, with the bonus token."""
        return 1 + self.accepted_per_draft

    @property
    def joint(self) -> tuple[float, ...]:
        """p_i = P(at least i drafts accepted in a step)."""
        return tuple(count / self.steps if self.steps else float("nan") for count in self.per_pos)

    @property
    def conditional(self) -> tuple[float, ...]:
        """c_i = #(accepted ≥ i) / #(accepted ≥ i − 1 and drafted ≥ i); from counters p_i / p_(i−1)."""
        below = (self.steps, *self.per_pos[:-1]) if self.reached is None else self.reached
        return tuple(n / d if d else float("nan") for n, d in zip(self.per_pos, below, strict=True))

    @property
    def censored(self) -> bool:
        """Whether the conditional rates are lower bounds: from counters, unless every step drafted K."""
        return self.reached is None and self.drafted != len(self.per_pos) * self.steps


def from_counters(counts: EngineCounters) -> Acceptance | None:
    """Acceptance of a counter delta; None where a series is missing, nothing was drafted, or a count went
    backwards."""
    needed = (counts.drafts, counts.draft_tokens, counts.accepted_tokens, counts.accepted_per_pos)
    if None in needed or not counts.drafts or any(value < 0 for value in counts.values()):
        return None
    return Acceptance(
        steps=counts.drafts,
        drafted=counts.draft_tokens,
        accepted=counts.accepted_tokens,
        per_pos=counts.accepted_per_pos,
    )


def from_steps(accepted: Sequence[int], drafted: Sequence[int]) -> Acceptance:
    """Exact acceptance of drafted steps, one entry per step in both arrays.

    Raises:
        ValueError: the lengths differ, or a step accepted more than it drafted.
    """
    a, d = np.asarray(accepted, dtype=int), np.asarray(drafted, dtype=int)
    if a.shape != d.shape:
        raise ValueError(f"accepted and drafted need one entry per step each; got {a.size} and {d.size}")
    if np.any(a > d) or np.any(a < 0):
        raise ValueError("a step accepts between 0 and as many tokens as it drafted")
    positions = range(1, int(d.max(initial=0)) + 1)
    return Acceptance(
        steps=a.size,
        drafted=int(d.sum()),
        accepted=int(a.sum()),
        per_pos=tuple(int((a >= i).sum()) for i in positions),
        reached=tuple(int(((a >= i - 1) & (d >= i)).sum()) for i in positions),
    )


def from_records(records: Sequence[RequestRecord]) -> Acceptance | None:
    """Token-weighted acceptance over requests (all steps pooled); None without per-step arrays."""
    known = [r for r in records if r.per_step_accepted is not None]
    if not known:
        return None
    return from_steps(
        [count for r in known for count in r.per_step_accepted], [count for r in known for count in r.per_step_drafted]
    )


def length_interval(records: Sequence[RequestRecord], *, confidence: float = 0.95) -> Interval:
    """Interval of the token-weighted mean acceptance length. Prompts are resampled, each with all its turns
    and repetitions: at T = 0 a repetition tells nothing new."""
    (accepted, steps), prompts = _per_prompt(records, lambda r: (sum(r.per_step_accepted), len(r.per_step_accepted)))
    if not prompts:
        return Interval(mid=float("nan"), low=float("nan"), high=float("nan"))
    weights = draw_weights(prompts)
    replicates = 1 + weights @ accepted / (weights @ steps)
    return interval_of(1 + accepted.sum() / steps.sum(), replicates, units=prompts, confidence=confidence)


def _per_prompt(
    records: Sequence[RequestRecord], counts: Callable[[RequestRecord], tuple[int, ...]]
) -> tuple[np.ndarray, int]:
    """``counts`` of the records that drafted, summed per prompt: [count, prompt], and how many prompts."""
    sums: dict[str, np.ndarray] = {}
    for record in records:
        if record.per_step_accepted:
            sums[record.prompt_id] = sums.get(record.prompt_id, 0) + np.array(counts(record), dtype=float)
    return (np.stack(list(sums.values()), axis=1) if sums else np.zeros((2, 0))), len(sums)


def request_weighted_length(records: Sequence[RequestRecord]) -> float:
    """Mean over requests of each one's own acceptance length."""
    lengths = [1 + np.mean(r.per_step_accepted) for r in records if r.per_step_accepted]
    return float(np.mean(lengths)) if lengths else float("nan")


def joint_intervals(records: Sequence[RequestRecord], k: int, *, confidence: float = 0.95) -> list[Interval]:
    """Joint rates p_1…p_k with intervals, prompts resampled as in :func:`length_interval`."""

    def reached(record: RequestRecord) -> tuple[int, ...]:
        return len(record.per_step_accepted), *(sum(a >= i for a in record.per_step_accepted) for i in range(1, k + 1))

    (steps, *rows), prompts = _per_prompt(records, reached)
    if not prompts:
        return []
    weights = draw_weights(prompts)
    return [
        interval_of(row.sum() / steps.sum(), weights @ row / (weights @ steps), units=prompts, confidence=confidence)
        for row in rows
    ]


def decode_steps(record: RequestRecord) -> int | None:
    """All decode steps of a request, drafted or not. The first token comes from prefill; a step without drafts
    yields one token; the last drafted step may reach beyond the output's end, by as much as it accepted. How far is
    seen where the last chunk holds several tokens, and from the number of chunks, which is one more than the steps
    where the server sends each step's tokens apart; else so many undrafted steps go uncounted."""
    if record.output_tokens is None or record.per_step_accepted is None:
        return None
    accepted, chunks = record.per_step_accepted, record.chunk_tokens
    whole = len(accepted) + max(0, record.output_tokens - 1 - sum(accepted) - len(accepted))
    if not accepted:
        return whole
    cut = max(0, sum(accepted) + len(accepted) - (record.output_tokens - 1))  # at least so much lies beyond the end
    seen = max(0, accepted[-1] + 1 - chunks[-1]) if chunks and (chunks[-1] or 0) > 1 else cut
    return min(whole + accepted[-1] - cut, max(whole + seen - cut, len(chunks) - 1))


def tokens_per_step(records: Sequence[RequestRecord]) -> float:
    """Output tokens after the first, over all decode steps; NaN without per-step arrays. ``ngram`` and
    ``suffix`` draft on some steps only: speed follows this, not the acceptance length."""
    pairs = [(r.output_tokens - 1, steps) for r in records if (steps := decode_steps(r))]
    return sum(t for t, _ in pairs) / sum(s for _, s in pairs) if pairs else float("nan")


def iid_length(alpha: float, k: int) -> float:
    """Acceptance length if every position were accepted with the same ``alpha``: (1 − α^(K+1)) / (1 − α)
    (Leviathan et al. 2023, equation 1). A comparison only: measured rates differ by position."""
    return float(k + 1) if alpha == 1 else (1 - alpha ** (k + 1)) / (1 - alpha)
