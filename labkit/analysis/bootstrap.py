"""Bootstrap intervals of ratios of sums.

*Conventions*: rows of ``weights`` are replicates; a replicate's weight of a unit is how often it was
drawn. Every interval is the percentile interval of Efron and Tibshirani (1993), chapter 13.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from labkit.errors import ConfigError

__all__ = ["Interval", "draw_weights", "interval_of", "MIN_UNITS"]

REPLICATES = 2000
#: Fewer units than this give no interval: a bootstrap of so few is far too narrow.
MIN_UNITS = 5


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A figure with its interval; low and high are NaN where too few units allow none."""

    mid: float
    low: float
    high: float


@lru_cache(maxsize=16)  # drawing takes longer than all that is done with the weights
def draw_weights(units: int, *, replicates: int = REPLICATES, seed: int = 0) -> np.ndarray:
    """Multinomial weights [replicates, units]; each row sums to ``units``. Read-only: the next caller gets the same."""
    drawn = np.random.default_rng(seed).multinomial(units, np.full(units, 1 / units), size=replicates).astype(float)
    drawn.flags.writeable = False
    return drawn


def interval_of(mid: float, replicates: np.ndarray, *, units: int, confidence: float) -> Interval:
    """Percentile interval at ``confidence`` around the figure ``mid`` from ``units`` resampled units;
    undefined replicates are left out.

    Raises:
        ConfigError: ``confidence`` is not between 0 and 1.
    """
    if not 0 < confidence < 1:
        raise ConfigError(f"confidence must lie between 0 and 1, 0.95 say; got {confidence}")
    usable = replicates[np.isfinite(replicates)]
    if units < MIN_UNITS or not usable.size:
        return Interval(mid=float(mid), low=float("nan"), high=float("nan"))
    tail = (1 - confidence) / 2
    low, high = np.quantile(usable, [tail, 1 - tail])
    return Interval(mid=float(mid), low=float(low), high=float(high))
