"""How much a figure changed between two sets of launches, and how sure that is.

A figure of a launch is a ratio of sums over prompts, or the difference of two such ratios on a log scale. Its change
is the mean over the launches after minus the mean over those before. Two things blur it:

- *which prompts were asked*: bootstrapped, the same draw for both runs and every launch;
- *how a launch happened to run*: launches are clusters. Their variance is taken from how launches of one run scatter
  around their mean, pooled over cells of the same load, less what the chance of single requests explains of it (which
  the bootstrap of prompts holds already). Drawing three clusters from three would be far too narrow, and three launches
  of one cell alone leave two degrees of freedom. What the cells of a block do in step, since they were measured in one
  hour of the machine, is known no better from all of them than from one, and is a part of its own.

The interval is change ± t · standard error, where t is the mean of Student's quantiles for the parts of the variance,
weighted by these (Cochran 1964, "Approximate significance levels of the Behrens–Fisher test"). That is a little wide;
the degrees of freedom of Satterthwaite (1946) are too many just where a part happened to come out small.

*Conventions*: a figure maps weights [replicates, prompts] to values [replicates, launches].
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite, nan, sqrt

import numpy as np
from scipy import optimize, special

from labkit.analysis.bootstrap import MIN_UNITS, Interval, draw_weights
from labkit.analysis.pairs import Blocks

__all__ = [
    "Change", "Figure", "LaunchNoise", "Values", "change", "change_of", "holm", "judged", "launch_noise",
    "noticed_from", "ratio_of_sums", "weightings",
]  # fmt: skip

Figure = Callable[[np.ndarray], np.ndarray]
#: Values [replicates, launches] before and after.
Values = tuple[np.ndarray, np.ndarray]
#: With fewer degrees of freedom the scatter of launches does not tell: its t quantiles would hide everything.
MIN_FREEDOM = 4
#: A standard error below it is none.
EXACT = 1e-12
#: log₁₀ of the smallest p that is told apart; SciPy's quantiles fail far below it.
LEAST = -100


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change before it is judged. ``blocks`` of the launches before and of those after; their ``deviations`` from
    the mean of their run, in that order; ``chance``: the part of their sum of squares that single requests explain."""

    before: float
    after: float
    prompts: int
    blocks: Blocks
    prompt_variance: float
    deviations: tuple[float, ...]
    chance: float

    @property
    def mid(self) -> float:
        return self.after - self.before

    @property
    def launches(self) -> tuple[int, int]:
        return len(self.blocks[0]), len(self.blocks[1])

    @property
    def scatter(self) -> float:
        """Sum of squared deviations, of :attr:`freedom` degrees of freedom."""
        return sum(d**2 for d in self.deviations)

    @property
    def freedom(self) -> int:
        return sum(n - 1 for n in self.launches)

    @property
    def places(self) -> list[tuple[int, int]]:
        """Run (0 or 1) and block of each deviation."""
        return [(run, block) for run, blocks in enumerate(self.blocks) for block in blocks]


@dataclass(frozen=True, kw_only=True)
class LaunchNoise:
    """Variance of a figure between launches of the same thing. ``scatter``: the same with the chance of single requests
    in it; ``parts``: shares of the scatter, each with the degrees of freedom it is known to, none where the variance
    was not measured but assumed."""

    variance: float
    scatter: float
    parts: tuple[tuple[float, float], ...] = ()

    @property
    def measured(self) -> bool:
        return bool(self.parts)


def ratio_of_sums(top: np.ndarray, bottom: np.ndarray) -> Figure:
    """Σ top / Σ bottom of each launch, from arrays [launches, prompts]; NaN where nothing is below."""

    def figure(weights: np.ndarray) -> np.ndarray:
        below = weights @ bottom.T
        return np.divide(weights @ top.T, below, out=np.full_like(below, nan), where=below > 0)

    return figure


def change(before: Figure, after: Figure, prompts: Sequence[str], blocks: Blocks, *, seed: int = 0) -> Change:
    """Change between two figures over the same ``prompts``, one entry for each column of their weights (the turns of a
    conversation share one)."""
    values, drawn = ((before(weights), after(weights)) for weights in weightings(prompts, seed=seed))
    return change_of(values, drawn, prompts, blocks)


def weightings(prompts: Sequence[str], *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Weights of ``prompts``, one column for each entry: [1, prompts] that are all 1, and [replicates, prompts] of the
    bootstrap, in which entries of one prompt share their draw."""
    unique = list(dict.fromkeys(prompts))
    return np.ones((1, len(prompts))), _weights(len(unique), seed)[:, [unique.index(prompt) for prompt in prompts]]


def change_of(values: Values, drawn: Values, prompts: Sequence[str], blocks: Blocks) -> Change:
    """The same from values [1, launches] before and after with all ``prompts``, and ``drawn`` ones [replicates,
    launches] with those of each replicate (:func:`weightings`)."""
    return Change(
        before=float(values[0].mean()),
        after=float(values[1].mean()),
        prompts=len(set(prompts)),
        blocks=blocks,
        prompt_variance=float(_variance((drawn[1].mean(axis=1) - drawn[0].mean(axis=1))[:, None]).sum()),
        deviations=tuple(float(d) for v in values for d in _deviations(v)[0]),
        chance=float(sum(_variance(_deviations(v)).sum() for v in drawn)),
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


def launch_noise(changes: Sequence[Change], *, assumed: float, in_step: bool = True) -> LaunchNoise:
    """The variance between launches, pooled over ``changes`` of one kind and load. Where too few launches were repeated
    to tell, it is the square of ``assumed``, a standard deviation. ``in_step``: whether launches of a block may move
    together, as times do and acceptance does not; then more is believed where more was seen, however few they are."""
    known = [c for c in changes if isfinite(c.scatter) and isfinite(c.chance)]
    freedom = sum(c.freedom for c in known)
    independent = _freedom_of_blocks(known) if in_step else freedom
    scatter, chance = (sum(part) / max(1, freedom) for part in ((c.scatter for c in known), (c.chance for c in known)))
    variance = max(0.0, scatter - chance)
    if independent < MIN_FREEDOM and (variance <= assumed**2 or not in_step):
        return LaunchNoise(variance=assumed**2, scatter=assumed**2)
    if independent == freedom or independent < MIN_FREEDOM:  # nothing beside the blocks, or too few to see what is
        return LaunchNoise(variance=variance, scatter=scatter, parts=((1.0, independent),))
    alike = _alike(known) / (freedom * scatter) if scatter else 0.0
    parts = ((alike, independent), (1 - alike, freedom - independent))
    return LaunchNoise(variance=variance, scatter=scatter, parts=parts)


def _alike(changes: Sequence[Change]) -> float:
    """The part of the scatter that the cells of a block have in common, a sum of squares."""
    deviations: dict[tuple[int, int], list[float]] = defaultdict(list)
    for c in changes:
        for place, deviation in zip(c.places, c.deviations, strict=True):
            deviations[place].append(deviation)
    return sum(sum(each) ** 2 / len(each) for each in deviations.values())


def _freedom_of_blocks(changes: Sequence[Change]) -> int:
    """Of what the cells of a block have in common: the blocks of a run that some cell tells from each other, less one.
    Cells that were launched in one block each, or in blocks of their own, tell nothing of it."""
    joined: list[set[tuple[int, int]]] = []
    for c in changes:
        for run in (0, 1):
            own = {place for place in c.places if place[0] == run}
            joined = [*(g for g in joined if not g & own), own.union(*(g for g in joined if g & own))]
    return sum(len(group) - 1 for group in joined)


def judged(found: Change, noise: LaunchNoise, *, confidence: float) -> tuple[Interval, float]:
    """Interval of the change at ``confidence`` and its two-sided p; both NaN with too few prompts."""
    mid = found.mid
    if found.prompts < MIN_UNITS or not isfinite(mid) or not isfinite(found.prompt_variance):
        return Interval(mid=mid, low=nan, high=nan), nan
    error, parts = _error(found, noise)
    if error < EXACT:  # nothing varies: the change is what it is
        return Interval(mid=mid, low=mid, high=mid), float(abs(mid) < EXACT)
    reach = _quantile((1 - confidence) / 2, parts) * error
    return Interval(mid=mid, low=mid - reach, high=mid + reach), _two_sided(abs(mid) / error, parts)


def noticed_from(found: Change, noise: LaunchNoise, *, level: float) -> float:
    """The change whose one-sided p is ``level``, in the unit of the figure; NaN with too few prompts."""
    if found.prompts < MIN_UNITS or not isfinite(found.prompt_variance):
        return nan
    error, parts = _error(found, noise)
    return _quantile(level, parts) * error if error > EXACT else 0.0


def _error(found: Change, noise: LaunchNoise) -> tuple[float, list[tuple[float, float]]]:
    """Standard error of a change, and its parts, each a share of the variance and its degrees of freedom."""
    per_launch = sum(1 / n for n in found.launches)
    error = sqrt(found.prompt_variance + noise.variance * per_launch)
    if error < EXACT:
        return error, []
    # what is known of the launches is their scatter: less of it is theirs, but it is not known the better for that
    launches = [(share * noise.scatter * per_launch / error**2, freedom) for share, freedom in noise.parts]
    return error, [(found.prompt_variance / error**2, found.prompts - 1), *launches]


def _quantile(tail: float, parts: Sequence[tuple[float, float]]) -> float:
    """The weighted mean of t quantiles, of which the normal one has what the weights leave; at most the largest, where
    they are more than one."""
    normal = -special.ndtri(tail)
    excess = [(weight, -special.stdtrit(freedom, tail) - normal) for weight, freedom in parts if weight > 0]
    return float(normal + min(sum(weight * each for weight, each in excess), max((e for _, e in excess), default=0.0)))


def _two_sided(distance: float, parts: Sequence[tuple[float, float]]) -> float:
    """The p at whose quantile ``distance``, in standard errors, lies; 10**:data:`LEAST` for all beyond that."""

    def beyond(exponent: float) -> float:
        return _quantile(10**exponent / 2, parts) - distance

    return float(10 ** optimize.brentq(beyond, LEAST, 0)) if beyond(LEAST) > 0 else 10.0**LEAST


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
