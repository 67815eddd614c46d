"""The distribution each token should have come from, and where in it the token fell.

The baseline's scores give p at temperature T exactly over the tokens that may be drawn: with raw log-probabilities l,
p(x) ∝ exp(l(x)/T) over the ``top_k`` likeliest, then over the smallest set that holds ``top_p`` of that, vLLM's order.
Without top_k, p is exact *given that the token is among the 20 likeliest*, and what lies beyond has bounds. Either way
the randomised probability integral transform by rank, u = P(likelier than x) + V·p(x), V uniform, is uniform on (0, 1)
given the past if the engine is lossless (Rosenblatt 1952; Brockwell 2007 for the randomised form).

*Conventions*: rows are tokens of all texts one after the other; columns are the WIDTH likeliest, by rank. Tokens that
fell ``outside`` have no place in the row and take part in the test of outside tokens only. A token outside by less than
NEAR_TIE is neither: rounding swaps such neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from scipy.special import logsumexp

from labkit.analysis.lossless_steps import places
from labkit.measure.scored_text import WIDTH, ScoredText

__all__ = ["NEAR_TIE", "Tokens", "tokens_of", "restricted", "rank_pit", "tail_bounds"]

#: Raw log-probabilities closer than this may change order by rounding alone: bfloat16 tells logits of 16 to 32 apart
#: in steps of 1/8.
NEAR_TIE = 0.125
#: No vocabulary is larger. It bounds how thin a tail can be spread.
_LARGEST_VOCABULARY = 2**20


@dataclass(frozen=True, kw_only=True, eq=False)
class Tokens:
    """``logp`` [n, WIDTH]: log p over what may be drawn, -inf elsewhere. ``column``: the token's, -1 where it is
    outside or a near tie. ``draft``: the column of the draft that was verified there, -1 where none is known or it may
    not be drawn. ``tail`` [n, 2]: bounds of the probability beyond the WIDTH likeliest; 0 with top_k."""

    logp: np.ndarray
    column: np.ndarray
    outside: np.ndarray
    tail: np.ndarray
    place: np.ndarray
    accepted: np.ndarray
    draft: np.ndarray
    category: np.ndarray
    text: np.ndarray

    def __len__(self) -> int:
        return len(self.column)

    def where(self, mask: np.ndarray) -> Tokens:
        return Tokens(**{f.name: getattr(self, f.name)[mask] for f in fields(self)})

    @property
    def inside(self) -> np.ndarray:
        return self.column >= 0

    @property
    def chosen(self) -> np.ndarray:
        """log p of each token inside; of the others something that is not to be read."""
        return self.logp[np.arange(len(self)), self.column]


def tokens_of(texts: Sequence[ScoredText]) -> Tokens:
    """All tokens of ``texts``, in their order."""
    parts = [_tokens(text, number) for number, text in enumerate(texts)]
    if not parts:
        raise ValueError("an audit needs at least one text")
    return Tokens(**{f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Tokens)})


def _tokens(text: ScoredText, number: int) -> Tokens:
    logp = restricted(text.best_logprobs, temperature=text.temperature, top_k=text.top_k, top_p=text.top_p)
    allowed = np.isfinite(logp)
    column = _columns(text.best_ids, text.token_ids, allowed)
    last = np.where(allowed, text.best_logprobs, np.inf).min(axis=1)
    draft_ids = text.draft_ids if text.draft_ids is not None else np.full(len(text), -1)
    found, open_end = places(text), not text.top_k
    return Tokens(
        logp=logp,
        column=column,
        outside=(column < 0) & (open_end | (text.logprob < last - NEAR_TIE)),
        tail=tail_bounds(text.best_logprobs, temperature=text.temperature) if open_end else np.zeros((len(text), 2)),
        place=found.place,
        accepted=found.accepted,
        draft=_columns(text.best_ids, draft_ids, allowed),
        category=np.full(len(text), text.category, dtype=object),
        text=np.full(len(text), number),
    )


def _columns(best_ids: np.ndarray, ids: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    there = (best_ids == ids[:, None]) & allowed
    return np.where(there.any(axis=1), there.argmax(axis=1), -1)


def restricted(best_logprobs: np.ndarray, *, temperature: float, top_k: int, top_p: float) -> np.ndarray:
    """log p over the WIDTH likeliest tokens, -inf for those that top_k and top_p exclude.

    vLLM drops, after top_k, the tail whose mass added up from the least likely token stays within 1 - top_p.
    """
    scaled = best_logprobs / temperature
    if 0 < top_k < WIDTH:
        scaled = np.where(np.arange(WIDTH) < top_k, scaled, -np.inf)
    logp = scaled - logsumexp(scaled, axis=1, keepdims=True)
    if top_p < 1:
        tail = np.exp(logp)[:, ::-1].cumsum(axis=1)[:, ::-1] <= 1 - top_p
        tail[:, 0] = False
        logp = np.where(tail, -np.inf, logp)
        logp = logp - logsumexp(logp, axis=1, keepdims=True)
    return logp


def rank_pit(logp: np.ndarray, column: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """u [n] of tokens that fell into ``column`` [n] of rows ``logp`` [n, WIDTH]."""
    p, row = np.exp(logp), np.arange(len(column))
    up_to = np.minimum(p.cumsum(axis=1)[row, column], 1.0)
    return np.clip(up_to - rng.random(len(column)) * p[row, column], 0.0, 1.0)


def tail_bounds(best_logprobs: np.ndarray, *, temperature: float) -> np.ndarray:
    """Bounds [n, 2] of the probability at T of all tokens beyond the WIDTH likeliest.

    Their mass r at T = 1 is known, and each has at most the probability m of the last one listed. Σ p^(1/T) over them
    is largest, for T < 1, when they are as few as that allows, r·m^(1/T - 1), and smallest when r is spread evenly
    over the largest vocabulary V, V^(1 - 1/T)·r^(1/T); for T > 1 the other way round (Jensen). Exact at T = 1.
    """
    power = 1 / temperature
    r = np.clip(1 - np.exp(logsumexp(best_logprobs, axis=1)), 0.0, 1.0)
    few = r * np.exp(best_logprobs[:, -1] * (power - 1))
    many = r**power * float(_LARGEST_VOCABULARY) ** (1 - power)
    top = np.exp(logsumexp(best_logprobs * power, axis=1))
    return np.stack([s / (s + top) for s in (np.minimum(few, many), np.maximum(few, many))], axis=1)
