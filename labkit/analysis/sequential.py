"""Evidence that may be looked at after every token: products of bets, valid whenever one stops.

A *bet* pays a factor f_t ≥ 0 for what is seen at t, with E[f_t | past] ≤ 1 where nothing is wrong (H0). The product
e_t of such factors, and any mixture of several products with weights fixed before, is a non-negative supermartingale
that begins at 1, so P(e_t ≥ 1/a for some t) ≤ a under H0 (Ville 1939; Ramdas, Grünwald, Vovk and Shafer 2023,
"Game-Theoretic Statistics and Safe Anytime-Valid Inference"). Hence 1 / max_t e_t is a p-value at every stopping time,
and Holm's procedure (1979) on such p-values keeps the family-wise error at every stopping time. All of it is exact:
no sample is too small.

*Conventions*: ``log_factors`` [n, bets] are natural logarithms of f_t, rows in an order fixed before the data;
``weights`` [bets] sum to 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

__all__ = ["largest_log_e", "corrected", "coin_factors", "smallest_visible"]

#: Chance of being found that "the smallest visible" effect has.
POWER = 0.9


def largest_log_e(log_factors: np.ndarray, weights: np.ndarray) -> float:
    """max over t of log e_t, e_t = Σ_b weights_b · Π_(s ≤ t) f_s,b; 0 before anything was seen."""
    if not len(log_factors):
        return 0.0
    return max(0.0, float(logsumexp(log_factors.cumsum(axis=0), axis=1, b=weights).max()))


def corrected(log_e: Mapping[str, float]) -> dict[str, float]:
    """Holm's step-down p-values of a family whose members were fixed before the data: with p_(1) ≤ … ≤ p_(m),
    max over j ≤ i of (m - j + 1) · p_(j), at most 1."""
    order = sorted(log_e, key=lambda name: -log_e[name])
    found, largest = {}, 0.0
    for i, name in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - i) * float(np.exp(-log_e[name]))))
        found[name] = largest
    return {name: found[name] for name in log_e}


def coin_factors(happened: np.ndarray, p: np.ndarray, tilts: Sequence[float]) -> np.ndarray:
    """Log factors [n, tilts] of events with probabilities ``p`` under H0, against odds multiplied by exp(tilt):
    p'/p where it happened, (1 - p')/(1 - p) where not. For tilts > 0 E[f] ≤ 1 holds for any true probability ≤ p too,
    for tilts < 0 for any ≥ p."""
    p = np.clip(p, 1e-9, 1 - 1e-9)[:, None]
    tilts = np.asarray(tilts)[None, :]
    return happened[:, None] * tilts - np.log1p(p * np.expm1(tilts))


def smallest_visible(information: float, bets: Sequence[float], *, log_wanted: float) -> float:
    """The smallest effect δ > 0 that is found with chance POWER.

    Betting on δ_b against a true δ, log e is about normal with mean δ_b·δ·I - δ_b²·I/2 and standard deviation δ_b·√I,
    I the ``information`` (sum over tokens of the variance of the score). It reaches ``log_wanted`` with chance POWER
    from δ = (log_wanted + δ_b²·I/2 + z·δ_b·√I) / (δ_b·I) on; the best bet counts. Infinite without information.
    """
    if information <= 0:
        return float("inf")
    bet = np.array([b for b in bets if b > 0])
    drift = log_wanted + bet**2 * information / 2 + norm.ppf(POWER) * bet * np.sqrt(information)
    return float((drift / (bet * information)).min())
