"""The duration of a decode step, with drafts and without.

The time of a step with a running batch of B requests is

    t(B, K) = p(B)·(a + b·B) + s·(e + g·B + c·K + o(B, K)) + d·f·B·K

f: the share of a request's steps with a draft; s = 1 − (1 − f)^B: the share of steps in which any of the B drafts,
where they draft independently of each other, for one that drafts makes it a longer step for all. a: the step itself;
b: each request in it; of a drafter, e: a step with drafts; g: each request in such a step; c: each draft position;
d: each drafted and verified token. All are ≥ 0 (non-negative least squares on relative errors); a and b are shared by
all drafters.

No such line holds for every K and batch. p(B): what the baseline took over a + b·B where it was measured at that batch
(geometric mean over temperatures), elsewhere 1. o(B, K): what a step with drafts took beyond the line where the drafter
was measured at that batch (least squares over temperatures), between its K by linear interpolation, elsewhere 0. What
drafts add is never less than 0.

*Conventions*: seconds; B is the mean running batch; a drafter of None is the baseline.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labkit.errors import ConfigError

__all__ = ["CostCell", "Line", "SAME_BATCH", "Share", "same_batch", "terms"]

#: Of one request's steps, or several shares at once.
Share = float | np.ndarray
#: Batches that differ by less than this factor are one level: the users were as many.
SAME_BATCH = 1.25


@dataclass(frozen=True, kw_only=True)
class CostCell:
    """One measured cell. ``step_seconds`` is the mean duration of a decode step, drafted or not; ``drafted_share``
    the share of steps with a proposal."""

    drafter: str | None
    k: int
    batch: float
    step_seconds: float
    drafted_share: float = 1.0

    def __post_init__(self) -> None:
        if self.k < 0 or (self.drafter is None) != (self.k == 0):
            raise ConfigError(f"K = 0 is the baseline and has no drafter; got {self.drafter!r} with K = {self.k}")
        if not (self.step_seconds > 0 and self.batch > 0 and 0 <= self.drafted_share <= 1):
            raise ConfigError(f"a step lasts > 0 s, a batch is > 0, a share lies between 0 and 1; got {self}")

    @property
    def label(self) -> str:
        name = f"{self.drafter} K={self.k}" if self.drafter else "the baseline"
        return f"{name} at a running batch of {self.batch:.3g}"


@dataclass(frozen=True)
class Line:
    """The formula, with its ``cells`` for what was measured beyond the line."""

    coefficients: dict[str, float]
    cells: Sequence[CostCell]

    def seconds(self, drafter: str | None, k: int, batch: float, share: Share = 1.0) -> Share:
        """Mean duration of a step, seconds; for an array of shares [replicate] an array of the same shape."""
        plain = self._plain(batch)
        if not k:
            return plain
        beyond = _any_drafts(share, batch) * self._beyond(drafter, k, batch)
        return plain + np.maximum(self._sum(_drafts(drafter, k, batch, share)) + beyond, 0.0)

    def of(self, cell: CostCell) -> float:
        """What ``cell`` would take, whatever it took."""
        return float(self.seconds(cell.drafter, cell.k, cell.batch, cell.drafted_share))

    def _plain(self, batch: float) -> float:
        there = [cell for cell in self.cells if not cell.k and same_batch(cell.batch, batch)]
        off = [math.log(cell.step_seconds / self._sum(_plain_terms(cell.batch))) for cell in there]
        pace = math.exp(sum(off) / len(off)) if off else 1.0
        return pace * self._sum(_plain_terms(batch))

    def _beyond(self, drafter: str | None, k: int, batch: float) -> float:
        """Seconds of a step with drafts beyond the line."""
        there: dict[int, list[CostCell]] = defaultdict(list)
        for cell in self.cells:
            if cell.k and cell.drafter == drafter and same_batch(cell.batch, batch):
                there[cell.k].append(cell)
        ks = sorted(there)
        return float(np.interp(k, ks, [self._beyond_at(there[known]) for known in ks])) if ks else 0.0

    def _beyond_at(self, cells: Sequence[CostCell]) -> float:
        shares = [_any_drafts(cell.drafted_share, cell.batch) for cell in cells]
        rest = [cell.step_seconds - self._plain(cell.batch) - self._sum(_draft_terms(cell)) for cell in cells]
        weight = sum(share**2 for share in shares)
        return sum(share * left for share, left in zip(shares, rest, strict=True)) / weight if weight else 0.0

    def _sum(self, terms: dict[str, Any]) -> Any:
        return sum(self.coefficients.get(name, 0.0) * factor for name, factor in terms.items())


def _any_drafts(share: Share, batch: float) -> Share:
    """Share of steps in which any of a batch drafts, each on ``share`` of its steps."""
    return 1 - (1 - share) ** batch


def _plain_terms(batch: float) -> dict[str, float]:
    return {"a": 1.0, "b": batch}


def _drafts(drafter: str | None, k: int, batch: float, share: Share) -> dict[str, Any]:
    """Factor of each coefficient in what drafts add to the mean step; arrays for an array of shares."""
    some = _any_drafts(share, batch)
    factors = {"e": some, "g": some * batch, "c": some * k, "d": share * batch * k}
    return {f"{name}:{drafter}": factor for name, factor in factors.items()}


def _draft_terms(cell: CostCell) -> dict[str, float]:
    return _drafts(cell.drafter, cell.k, cell.batch, cell.drafted_share) if cell.k else {}


def terms(cell: CostCell) -> dict[str, float]:
    """Factor of each coefficient in the mean step time of ``cell``."""
    return _plain_terms(cell.batch) | _draft_terms(cell)


def same_batch(one: float, other: float) -> bool:
    """Whether the users were as many."""
    return max(one, other) < SAME_BATCH * min(one, other)
