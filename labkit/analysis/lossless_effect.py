"""How large a deviation is: effective temperature, total variation, and what they could not have missed.

*Conventions*: intervals hold with confidence 0.95 for a sample size fixed before; after an early stop they look further
from the null than they should, since one stops when the evidence is high.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import beta as beta_law
from scipy.stats import kstwobign, norm

from labkit.analysis.bootstrap import Interval
from labkit.analysis.lossless_bets import surprisal_variance

__all__ = ["CONFIDENCE", "heat", "variation", "variation_at_least", "ks_p", "share"]

CONFIDENCE = 0.95
_Z = float(norm.ppf((1 + CONFIDENCE) / 2))
#: Of log(τ/T): beyond the first a text is greedy, or the flat draw of every token; the second is no bound at all.
_FURTHEST, _UNBOUNDED = 3.0, 50.0


def heat(logp: np.ndarray, column: np.ndarray) -> Interval:
    """τ/T of the temperature τ that fits best, by maximum likelihood with Wald's interval for its logarithm.

    With b = T/τ the likelihood Σ(b·l(x) - log Σ e^(b·l)) is concave; its slope Σ(l(x) - E_b l) is brought to 0 by
    Newton's steps in δ = -log b, where it grows by b·Var_b l. NaN where no token had a choice.
    """
    if surprisal_variance(logp).sum() <= 0:
        return Interval(mid=float("nan"), low=float("nan"), high=float("nan"))
    chosen, finite, delta = logp[np.arange(len(column)), column].sum(), np.where(np.isfinite(logp), logp, 0.0), 0.0
    for _ in range(30):
        p = _softmax(np.exp(-delta) * logp)
        mean = (p * finite).sum(axis=1)
        information = float(((p * finite**2).sum(axis=1) - mean**2).sum()) * np.exp(-2 * delta)
        step = float(mean.sum() - chosen) * np.exp(-delta) / information if information > 1e-12 else 0.0
        delta = float(np.clip(delta + np.clip(step, -0.5, 0.5), -_FURTHEST, _FURTHEST))
        if abs(step) < 1e-6:
            break
    error = min(_Z / np.sqrt(information), _UNBOUNDED) if information > 1e-12 else _UNBOUNDED
    low, mid, high = np.exp([delta - error, delta, delta + error]).tolist()
    return Interval(low=low, mid=mid, high=high)


def _softmax(scaled: np.ndarray) -> np.ndarray:
    weights = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def variation(logp: np.ndarray, ratio: Interval) -> Interval:
    """Mean over tokens of the total variation ½·Σ|p_τ - p| between what was found and what is right, were the
    deviation one of temperature; 0 at the low end where the interval of τ/T holds 1."""

    def distance(r: float) -> float:
        return float(0.5 * np.abs(_softmax(logp / r) - np.exp(logp)).sum(axis=1).mean())

    if not np.isfinite([ratio.low, ratio.mid, ratio.high]).all():
        return Interval(mid=float("nan"), low=float("nan"), high=float("nan"))
    ends = sorted(map(distance, (ratio.low, ratio.high)))
    return Interval(mid=distance(ratio.mid), low=0.0 if ratio.low <= 1 <= ratio.high else ends[0], high=ends[1])


def variation_at_least(u: np.ndarray) -> float:
    """A lower bound of the mean total variation per token whatever the deviation is: no event, u ≤ t included, differs
    in probability by more, so sup|F(t) - t| less its error √(log(2/0.05) / 2n) (Dvoretzky, Kiefer and Wolfowitz 1956,
    with Massart's constant)."""
    if not len(u):
        return 0.0
    return max(0.0, _distance(u) - float(np.sqrt(np.log(2 / (1 - CONFIDENCE)) / (2 * len(u)))))


def ks_p(u: np.ndarray) -> float:
    """Kolmogorov and Smirnov's p-value that u is uniform, by the limit law. To read beside the verdict, which does
    not rest on it: it is right for one look at a sample of fixed size."""
    return float(kstwobign.sf(_distance(u) * np.sqrt(len(u)))) if len(u) else float("nan")


def _distance(u: np.ndarray) -> float:
    ordered, n = np.sort(u), len(u)
    steps = np.arange(n + 1) / n
    return float(max((steps[1:] - ordered).max(), (ordered - steps[:-1]).max()))


def share(hits: int, n: int, *, confidence: float = CONFIDENCE) -> Interval:
    """hits / n with the exact interval of Clopper and Pearson (1934)."""
    if not n:
        return Interval(mid=float("nan"), low=0.0, high=1.0)
    tail = (1 - confidence) / 2
    low = beta_law.ppf(tail, hits, n - hits + 1) if hits else 0.0
    high = beta_law.ppf(1 - tail, hits + 1, n - hits) if hits < n else 1.0
    return Interval(mid=hits / n, low=float(low), high=float(high))
