"""The hypotheses of one audit, fixed before the first token, and the evidence against each.

| test | tokens | what is bet against |
|---|---|---|
| all tokens | every one | temperature and ranks, as in :mod:`labkit.analysis.lossless_bets` |
| not drafted; steps with drafts; position 1 … K; bonus token | by place, accepted and recovered together | the same |
| first of a step, drafted or not | where the server does not tell which | the same |
| category … | by the prompt's category | the same |
| acceptance; recovered token | verified against a known draft | see :mod:`labkit.analysis.lossless_drafts` |
| outside | beyond top_k and top_p, or the 20 likeliest | more often than in the control, or than the bounds |

*Conventions*: a test without tokens stays in the family with e = 1, so that the correction does not depend on the data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labkit.analysis.lossless_bets import WEIGHTS, token_factors
from labkit.analysis.lossless_drafts import (
    ACCEPTANCE_TILTS,
    RECOVERED_WEIGHTS,
    acceptance_factors,
    mistaken,
    recovered,
    recovered_factors,
    verified,
)
from labkit.analysis.lossless_pit import Tokens
from labkit.analysis.lossless_steps import BONUS, NOT_DRAFTED, UNCLEAR
from labkit.analysis.sequential import coin_factors, corrected, largest_log_e

__all__ = [
    "ALL", "ACCEPTANCE", "RECOVERED", "OUTSIDE", "BONUS_TOKEN", "UNDRAFTED", "DRAFTED",
    "Family", "position", "generator",
]  # fmt: skip

ALL, ACCEPTANCE, RECOVERED, OUTSIDE = "all tokens", "acceptance", "recovered token", "outside"
UNDRAFTED, DRAFTED, EITHER = "not drafted", "steps with drafts", "first of a step, drafted or not"
BONUS_TOKEN = "bonus token"
#: Odds of "the token outside is the tested engine's and not the control's", and log odds of the tail, that are bet on.
_ODDS = (3.0, 10.0, 100.0)
_TAIL_TILTS = (0.1, 0.2, 0.4, 0.8, 1.6)
_SEED = 20_11


def position(j: int) -> str:
    return f"position {j}"


def generator(part: int) -> np.random.Generator:
    """The randomisation of the rank-PIT: the same sequence at every look, so that one process is watched."""
    return np.random.default_rng([_SEED, part])


@dataclass(frozen=True, kw_only=True)
class Family:
    """``k``: K of the engine under test (0: a baseline); ``drafts``: the drafter's choices are known; ``control``:
    there is a control to compare tokens outside with."""

    k: int
    categories: tuple[str, ...]
    drafts: bool = False
    control: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        places = (UNDRAFTED, EITHER, DRAFTED, *map(position, range(1, self.k + 1)), BONUS_TOKEN) if self.k else ()
        known = (ACCEPTANCE, RECOVERED) if self.drafts else ()
        return (ALL, *places, *self._categories, *known, *((OUTSIDE,) if self.control else ()))

    @property
    def _categories(self) -> tuple[str, ...]:
        return tuple(f"category {name}" for name in self.categories) if len(self.categories) > 1 else ()

    def groups(self, tokens: Tokens) -> dict[str, np.ndarray]:
        """Masks over ``tokens`` of the tests that bet on tokens themselves."""
        masks = {ALL: np.ones(len(tokens), dtype=bool)}
        if self.k:
            masks |= {UNDRAFTED: tokens.place == NOT_DRAFTED, EITHER: tokens.place == UNCLEAR}
            masks[DRAFTED] = (tokens.place > 0) | (tokens.place == BONUS) | (tokens.place == UNCLEAR)
            masks |= {position(j): tokens.place == j for j in range(1, self.k + 1)}
            masks[BONUS_TOKEN] = tokens.place == BONUS
        return masks | {name: tokens.category == name.removeprefix("category ") for name in self._categories}

    def log_evidence(self, tokens: Tokens, control: Tokens | None) -> dict[str, float]:
        """The largest log e of every test so far."""
        inside = tokens.where(tokens.inside)
        factors = token_factors(inside.logp, inside.column, generator(0))
        found = {name: largest_log_e(factors[mask], WEIGHTS) for name, mask in self.groups(inside).items()}
        if self.drafts and not mistaken(tokens):
            checked = verified(tokens)
            found[ACCEPTANCE] = largest_log_e(acceptance_factors(checked), _even(len(ACCEPTANCE_TILTS)))
            law = recovered_factors(recovered(checked), generator(1))
            found[RECOVERED] = largest_log_e(law, RECOVERED_WEIGHTS)
        if self.control and control is not None:
            outside = _tail_factors(tokens) if tokens.tail.any() else _outside_factors(tokens, control)
            found[OUTSIDE] = largest_log_e(outside, _even(outside.shape[1]))
        return {name: found.get(name, 0.0) for name in self.names}

    def p_values(self, tokens: Tokens, control: Tokens | None) -> dict[str, float]:
        """Holm-corrected, valid at whichever token one stops."""
        return corrected(self.log_evidence(tokens, control))


def _even(bets: int) -> np.ndarray:
    return np.full(bets, 1 / bets)


def _outside_factors(tokens: Tokens, control: Tokens) -> np.ndarray:
    """Log factors [texts, odds] of "as often as in the control". Were the rates equal (and small), a token outside
    would be the tested engine's with probability n / (n + n_control), n the tokens of that text in either; the bets
    multiply these odds (the conditional comparison of two Poisson rates: Przyborowski and Wilenski 1940)."""
    texts = int(max(tokens.text.max(), control.text.max())) + 1
    n, n_control = (np.bincount(t.text, minlength=texts) for t in (tokens, control))
    hits, hits_control = (np.bincount(t.text[t.outside], minlength=texts) for t in (tokens, control))
    ours = (n / np.maximum(n + n_control, 1))[:, None]
    odds = np.array(_ODDS)[None, :]
    scale = np.log1p(ours * (odds - 1))
    both = ((n > 0) & (n_control > 0))[:, None]
    return np.where(both, hits[:, None] * np.log(odds) - (hits + hits_control)[:, None] * scale, 0.0)


def _tail_factors(tokens: Tokens) -> np.ndarray:
    """Log factors [n, 2 × tilts] of "no oftener than the upper bound of the tail" and "no rarer than the lower"."""
    low, high = tokens.tail.T
    rarer = [-tilt for tilt in _TAIL_TILTS]
    return np.concatenate(
        [coin_factors(tokens.outside, high, _TAIL_TILTS), coin_factors(tokens.outside, low, rarer)], axis=1
    )
