"""Two arms that met the same prompts: does something happen at more prompts in one than in the other?

*Conventions*: an arm is the ids of the prompts where it happened; ``n`` prompts in all.
"""

from __future__ import annotations

from collections.abc import Collection

from scipy.stats import binom

from labkit.analysis.bootstrap import Interval
from labkit.analysis.lossless_effect import CONFIDENCE, share

__all__ = ["paired_p", "paired_difference"]


def paired_p(tested: Collection[str], control: Collection[str]) -> float:
    """P(at least so many of the prompts that part in one arm only are the tested arm's), each with chance 1/2
    (McNemar 1947, exact)."""
    only, all_ = len(set(tested) - set(control)), len(set(tested) ^ set(control))
    return float(binom.sf(only - 1, all_, 0.5))


def paired_difference(tested: Collection[str], control: Collection[str], n: int) -> Interval:
    """(only tested - only control) / n, its interval exact: each share lies in its Clopper-Pearson interval with
    confidence 1 - 0.05/2, both at once with at least 0.95 (Bonferroni)."""
    only, other = len(set(tested) - set(control)), len(set(control) - set(tested))
    ours, theirs = (share(count, n, confidence=1 - (1 - CONFIDENCE) / 2) for count in (only, other))
    return Interval(low=ours.low - theirs.high, mid=(only - other) / n, high=ours.high - theirs.low)
