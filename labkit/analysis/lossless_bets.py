"""Bets against "this token came from p": a temperature that is off, and ranks that are not uniform.

*Temperature*: the likelihood ratio of p_τ(x) ∝ p(x)^(T/τ) against p, for τ/T = e^δ, δ in :data:`HEATS`. Its slope at
δ = 0 is surprisal minus entropy, -log p(x) - H(p), a martingale whose standard score :func:`surprisal` gives.
*Ranks*: the density 1 + θ·√2·cos(πju) of the rank-PIT u for j = 1 … 4 and several θ; E = 1 for uniform u.

*Conventions*: as in :mod:`labkit.analysis.sequential`; rows ``logp`` and ``column`` as in
:mod:`labkit.analysis.lossless_pit`, every token inside.
"""

from __future__ import annotations

import numpy as np

from labkit.analysis.lossless_pit import rank_pit

__all__ = ["HEATS", "WEIGHTS", "token_factors", "heated", "surprisal", "surprisal_variance"]

#: log(τ/T) that are bet on.
HEATS = tuple(sign * size for size in (0.025, 0.05, 0.1, 0.2, 0.4, 0.8) for sign in (1, -1))
_WAVES = [(j, sign * size) for j in (1, 2, 3, 4) for size in (0.06, 0.14, 0.3) for sign in (1, -1)]

#: Half of the stake is on temperatures, half on ranks.
WEIGHTS = np.concatenate([np.full(len(HEATS), 0.5 / len(HEATS)), np.full(len(_WAVES), 0.5 / len(_WAVES))])


def token_factors(logp: np.ndarray, column: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Log factors [n, len(WEIGHTS)]."""
    chosen = logp[np.arange(len(column)), column]
    heat = [heated(logp, column, delta) - chosen for delta in HEATS]
    u = rank_pit(logp, column, rng)
    ranks = [np.log1p(theta * np.sqrt(2) * np.cos(np.pi * j * u)) for j, theta in _WAVES]
    return np.stack([*heat, *ranks], axis=1)


def heated(logp: np.ndarray, column: np.ndarray, delta: float) -> np.ndarray:
    """log p_τ of the tokens, τ = T·e^δ."""
    power = np.exp(-delta)
    scale = np.log(np.exp(power * logp).sum(axis=1))  # some log p is above -3, so the sum is far from 0
    return power * logp[np.arange(len(column)), column] - scale


def surprisal_variance(logp: np.ndarray) -> np.ndarray:
    """Var of -log p(x), x from p, per row [n]: the information about δ that a token holds."""
    surprise = np.where(np.isfinite(logp), -logp, 0.0)
    p = np.exp(logp)
    return np.maximum((p * surprise**2).sum(axis=1) - (p * surprise).sum(axis=1) ** 2, 0.0)


def surprisal(logp: np.ndarray, column: np.ndarray) -> float:
    """Σ(surprisal - entropy) / √ΣVar: about standard normal if lossless (martingale central limit theorem), above 0
    where the text is hotter than it should be. NaN without any freedom of choice."""
    entropy = -(np.exp(logp) * np.where(np.isfinite(logp), logp, 0.0)).sum(axis=1)
    excess = -logp[np.arange(len(column)), column] - entropy
    variance = surprisal_variance(logp).sum()
    return float(excess.sum() / np.sqrt(variance)) if variance > 0 else float("nan")
