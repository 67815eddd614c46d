"""What can be tested where the draft at every verified place is known: acceptance, and the tokens that replace a draft.

For a greedy drafter (vLLM's default) and for prompt lookup the draft d follows from the text before it, so given the
past it is accepted with probability p(d), and a rejected one is replaced from p(x)/(1 - p(d)), x ≠ d (Leviathan et al.
2023, Algorithm 1, with q = 1 at d). Both are laws given the past, so both can be bet against. Without d neither can:
accepted tokens alone and recovered tokens alone are chosen by their own value. For drafts that are sampled this module
has nothing.

*Conventions*: ``tokens`` may be any; rows without a known draft that may be drawn, or outside, are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from labkit.analysis.lossless_bets import WEIGHTS, heated, token_factors
from labkit.analysis.lossless_pit import Tokens
from labkit.analysis.sequential import coin_factors

__all__ = [
    "ACCEPTANCE_TILTS", "RECOVERED_WEIGHTS", "Recovered", "verified", "draft_logp", "acceptance_factors",
    "mistaken", "recovered", "recovered_factors", "likeliest_cause",
]  # fmt: skip

#: Log odds of acceptance that are bet on.
ACCEPTANCE_TILTS = tuple(sign * size for size in (0.05, 0.1, 0.2, 0.4, 0.8, 1.6) for sign in (1, -1))
#: A recovered token is never the draft it replaces. So many may be all the same, because the draft is known from
#: another engine, which rounds otherwise.
MISTAKEN = 0.01
_SAME_SHARES = (0.03, 0.1, 0.3)
#: Half of the stake is on "the token is the rejected draft", half on the law of the others.
RECOVERED_WEIGHTS = np.concatenate([np.full(len(_SAME_SHARES), 0.5 / len(_SAME_SHARES)), 0.5 * WEIGHTS])


def verified(tokens: Tokens) -> Tokens:
    """The tokens that were verified against a draft that is known and may be drawn."""
    return tokens.where((tokens.place > 0) & (tokens.draft >= 0) & tokens.inside)


def draft_logp(tokens: Tokens) -> np.ndarray:
    return tokens.logp[np.arange(len(tokens)), tokens.draft]


def mistaken(tokens: Tokens) -> bool:
    """Whether the drafts are not known well enough: more than MISTAKEN of the accepted tokens are not the draft they
    are said to be."""
    accepted = tokens.where(tokens.accepted & tokens.inside & (tokens.draft >= 0))
    return bool(len(accepted)) and float((accepted.column != accepted.draft).mean()) > MISTAKEN


def acceptance_factors(tokens: Tokens) -> np.ndarray:
    """Log factors [n, ACCEPTANCE_TILTS] of Σ(1[accepted] - p(d)); ``tokens`` are :func:`verified`."""
    return coin_factors(tokens.accepted, np.exp(draft_logp(tokens)), ACCEPTANCE_TILTS)


@dataclass(frozen=True, kw_only=True, eq=False)
class Recovered:
    """Tokens that replaced a rejected draft: ``same``: it is that draft; else ``column`` [n] in rows ``logp`` of
    p(x)/(1 - p(d)). Rows where nothing but the draft may be drawn are left out."""

    logp: np.ndarray
    column: np.ndarray
    same: np.ndarray


def recovered(tokens: Tokens) -> Recovered:
    left = tokens.where(~tokens.accepted)
    logp = left.logp.copy()
    logp[np.arange(len(left)), left.draft] = -np.inf
    possible = np.isfinite(logp).any(axis=1)
    logp = logp[possible] - logsumexp(logp[possible], axis=1, keepdims=True)
    return Recovered(logp=logp, column=left.column[possible], same=(left.column == left.draft)[possible])


def recovered_factors(found: Recovered, rng: np.random.Generator) -> np.ndarray:
    """Log factors [n, RECOVERED_WEIGHTS]."""
    same = np.stack([
        np.where(found.same, np.log(share / MISTAKEN), np.log((1 - share) / (1 - MISTAKEN))) for share in _SAME_SHARES
    ], axis=1)  # fmt: skip
    law = np.zeros((len(found.same), len(WEIGHTS)))
    other = ~found.same
    law[other] = token_factors(found.logp[other], found.column[other], rng)
    return np.concatenate([same, law], axis=1)


def likeliest_cause(tokens: Tokens) -> tuple[dict[str, float], dict[str, float]]:
    """Which single cause explains the :func:`verified` tokens best: log likelihood of each above that of no fault, and
    the factor at which it is reached.

    "temperature": drafts are verified and replaced at another temperature, tokens come from p_τ; "acceptance": drafts
    are accepted with probability min(1, c·p(d)), replaced rightly; "recovered": accepted rightly, replaced at another
    temperature. Tokens that are the draft they replace are left out: no cause of these three has them.
    """
    kept = tokens.where(tokens.accepted | (tokens.column != tokens.draft))
    deltas, accepted, log_d = np.linspace(-0.8, 0.8, 65), kept.accepted, draft_logp(kept)
    rest = recovered(kept)
    p_d = np.clip(np.exp(log_d), 1e-9, 1 - 1e-6)
    chosen = kept.chosen
    alike = rest.logp[np.arange(len(rest.column)), rest.column].sum()

    def accepting(factor: float) -> float:
        p = np.clip(factor * p_d, 1e-9, 1 - 1e-6)
        return float(np.where(accepted, np.log(p / p_d), np.log((1 - p) / (1 - p_d))).sum())

    curves = {
        "temperature": [float((heated(kept.logp, kept.column, delta) - chosen).sum()) for delta in deltas],
        "acceptance": [accepting(np.exp(delta)) for delta in deltas],
        "recovered": [float(heated(rest.logp, rest.column, delta).sum() - alike) for delta in deltas],
    }
    best = {name: int(np.argmax(values)) for name, values in curves.items()}
    return (
        {name: curves[name][i] for name, i in best.items()},
        {name: float(np.exp(deltas[i])) for name, i in best.items()},
    )
