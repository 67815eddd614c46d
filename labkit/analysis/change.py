"""How much a figure changed between two sets of launches, and how sure that is.

A figure of a launch is a ratio of sums over prompts, or the difference of two such ratios on a log scale. Its change
is the mean over the launches after minus the mean over those before. Two things blur it:

- *which prompts were asked*: bootstrapped, the same draw for both runs and every launch;
- *how a launch happened to run*: launches are clusters. Their variance is taken from how launches of one run scatter
  around their mean, pooled over cells of the same load, less what the chance of single requests explains of it (which
  the bootstrap of prompts holds already). Drawing three clusters from three would be far too narrow, and three launches
  of one cell alone leave two degrees of freedom. Launches of different cells are taken for independent.

The interval is change ± t · standard error with the degrees of freedom of Satterthwaite (1946).

*Conventions*: a figure maps weights [replicates, prompts] to values [replicates, launches].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, isfinite, nan, sqrt

import numpy as np
from scipy import stats

from labkit.analysis.bootstrap import MIN_UNITS, Interval, draw_weights

__all__ = ["Figure", "Change", "LaunchNoise", "change", "launch_noise", "ratio_of_sums", "judged", "holm"]

Figure = Callable[[np.ndarray], np.ndarray]
#: With fewer degrees of freedom the scatter of launches is not used: its t quantiles would hide everything.
MIN_FREEDOM = 4


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change before it is judged. ``scatter``: sum of squared deviations of launches from the mean of their run,
    ``chance`` the part of it that single requests explain, ``freedom`` its degrees of freedom."""

    before: float
    after: float
    prompts: int
    launches: tuple[int, int]
    prompt_variance: float
    scatter: float
    chance: float
    freedom: int

    @property
    def mid(self) -> float:
        return self.after - self.before


@dataclass(frozen=True, kw_only=True)
class LaunchNoise:
    """Variance of a figure between launches of the same thing. ``scatter``: the same with the chance of single requests
    in it, known to ``freedom`` degrees; infinite where the variance was not measured but assumed."""

    variance: float
    scatter: float
    freedom: float

    @property
    def measured(self) -> bool:
        return isfinite(self.freedom)


def ratio_of_sums(top: np.ndarray, bottom: np.ndarray) -> Figure:
    """Σ top / Σ bottom of each launch, from arrays [launches, prompts]; NaN where nothing is below."""

    def figure(weights: np.ndarray) -> np.ndarray:
        below = weights @ bottom.T
        return np.divide(weights @ top.T, below, out=np.full_like(below, nan), where=below > 0)

    return figure


def change(before: Figure, after: Figure, prompts: Sequence[str], *, seed: int = 0) -> Change:
    """Change between two figures over the same ``prompts``, one entry for each column of their weights (the turns of a
    conversation share one)."""
    unique = list(dict.fromkeys(prompts))
    weights = _weights(len(unique), seed)[:, [unique.index(prompt) for prompt in prompts]]
    values = [figure(np.ones((1, len(prompts)))) for figure in (before, after)]
    drawn = [figure(weights) for figure in (before, after)]
    return Change(
        before=float(values[0].mean()),
        after=float(values[1].mean()),
        prompts=len(unique),
        launches=(values[0].size, values[1].size),
        prompt_variance=float(_variance((drawn[1].mean(axis=1) - drawn[0].mean(axis=1))[:, None]).sum()),
        scatter=float(sum((_deviations(v) ** 2).sum() for v in values)),
        chance=float(sum(_variance(_deviations(v)).sum() for v in drawn)),
        freedom=sum(v.size - 1 for v in values),
    )


@lru_cache(maxsize=4)
def _weights(units: int, seed: int) -> np.ndarray:
    """The same draw for every figure of a cell."""
    return draw_weights(units, seed=seed)


def _deviations(values: np.ndarray) -> np.ndarray:
    return values - values.mean(axis=1, keepdims=True)


def _variance(replicates: np.ndarray) -> np.ndarray:
    """Variance of each column over the replicates in which all are defined."""
    usable = replicates[np.isfinite(replicates).all(axis=1)]
    return usable.var(axis=0, ddof=1) if len(usable) > 1 else np.full(replicates.shape[1], nan)


def launch_noise(changes: Sequence[Change], *, assumed: float) -> LaunchNoise:
    """The variance between launches, pooled over ``changes`` of one kind and load; the square of ``assumed``, a
    standard deviation, where too few launches were repeated to tell."""
    known = [c for c in changes if isfinite(c.scatter) and isfinite(c.chance)]
    freedom = sum(c.freedom for c in known)
    if freedom < MIN_FREEDOM:
        return LaunchNoise(variance=assumed**2, scatter=assumed**2, freedom=inf)
    scatter, chance = (sum(values) / freedom for values in ((c.scatter for c in known), (c.chance for c in known)))
    return LaunchNoise(variance=max(0.0, scatter - chance), scatter=scatter, freedom=freedom)


def judged(found: Change, noise: LaunchNoise, *, confidence: float) -> tuple[Interval, float]:
    """Interval of the change at ``confidence`` and its two-sided p; both NaN with too few prompts."""
    mid = found.mid
    if found.prompts < MIN_UNITS or not isfinite(mid) or not isfinite(found.prompt_variance):
        return Interval(mid=mid, low=nan, high=nan), nan
    per_launch = sum(1 / n for n in found.launches)
    error = sqrt(found.prompt_variance + noise.variance * per_launch)
    if error < 1e-12:  # nothing varies: the change is what it is
        return Interval(mid=mid, low=mid, high=mid), float(abs(mid) < 1e-12)
    parts = found.prompt_variance**2 / (found.prompts - 1) + (noise.scatter * per_launch) ** 2 / noise.freedom
    fewest = min(found.prompts - 1, noise.freedom)  # runs that share their chance would go below it
    freedom = max(fewest, error**4 / parts) if parts else inf
    reach = float(stats.t.ppf((1 + confidence) / 2, freedom)) * error
    return Interval(mid=mid, low=mid - reach, high=mid + reach), float(2 * stats.t.sf(abs(mid) / error, freedom))


def holm(ps: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Each p adjusted for all of them (Holm 1979, with weights): some are below α with a chance of α at most where
    nothing changed at all, and each has a part in that chance in proportion to its weight. NaN stays and does not
    count."""
    order = sorted((p / w, i) for i, (p, w) in enumerate(zip(ps, weights, strict=True)) if isfinite(p))
    adjusted, highest, left = [nan] * len(ps), 0.0, sum(weights[i] for _, i in order)
    for ratio, i in order:
        highest = max(highest, min(1.0, left * ratio))
        adjusted[i] = highest
        left -= weights[i]
    return adjusted
