"""A target and a drafter whose probabilities are known exactly.

The target is a Markov model whose preferences drift with the position:

    p_T(x | previous token, position) = softmax((A[previous] + B[position mod 251]) / T)[x]

with seeded normal tables A and B.  Only 16 tokens may well follow a token, so that at T = 1 the 20 likeliest
hold more than 99.5 % of the mass and the entropy is about 1.8 nats; the end of text comes now and then.  The
drafter q has tables of the same form: ``agreement`` · target's + (1 - ``agreement``) · independent ones.  Both
know which 16 may follow, so at agreement 0 it is their choices among these that are independent.

*Conventions*: a position is the absolute index of a token in prompt + output, so scoring a sequence gives
the p it was generated with.  Rows of probabilities have shape (positions, VOCAB) and sum to 1.  T = 0 is the
row that is 1 at the argmax.  Logarithms are natural.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labkit.config import Simulation
from labkit.engine.simulated.text import EOS, VOCAB

__all__ = ["ONE_HOT", "PERIOD", "Model"]

PERIOD = 251
ONE_HOT = np.eye(VOCAB)

_GREEDY_BELOW = 1e-5  # vLLM takes smaller temperatures for 0
_SUCCESSORS, _UNLIKELY = 16, -9.0
_A_SCALE, _B_SCALE = 1.4, 1.1
_EOS_LOGIT, _EOS_SCALE = -4.0, 1.3


class Model:
    """Target p and drafter q of one ``simulation`` (its ``seed`` and ``agreement``)."""

    def __init__(self, simulation: Simulation) -> None:
        self.seed = simulation.seed
        rng = np.random.default_rng(simulation.seed)
        may_follow = np.full((VOCAB, VOCAB), _UNLIKELY)
        np.put_along_axis(may_follow, rng.random((VOCAB, EOS)).argsort(axis=1)[:, :_SUCCESSORS], 0.0, axis=1)
        may_follow[:, EOS] = _EOS_LOGIT
        (a, b), (noise_a, noise_b), share = _normal(rng), _normal(rng), simulation.agreement
        self._p = may_follow + a, b
        self._q = may_follow + share * a + (1 - share) * noise_a, share * b + (1 - share) * noise_b
        #: The drafter's argmax, by previous token and by position mod 251.
        self.draft_argmax = (self._q[0][:, None] + self._q[1][None]).argmax(axis=-1)

    def p(
        self, previous: Sequence[int], start: int, *, temperature: float, top_p: float = 1.0, top_k: int = 0
    ) -> np.ndarray:
        """Rows p for the positions ``start``, ``start + 1``, …, each after its ``previous`` token.

        They are restricted first to the ``top_k`` likeliest tokens (0: all), then to the smallest set that
        holds ``top_p``, as vLLM does.
        """
        logits = _logits(self._p, previous, start)
        if temperature < _GREEDY_BELOW:
            return ONE_HOT[logits.argmax(axis=-1)]
        return _softmax(_top_p(_top_k(logits / temperature, top_k), top_p))

    def q(self, previous: Sequence[int], start: int, *, temperature: float) -> np.ndarray:
        """Rows of the drafter, as :meth:`p`; vLLM's drafter ignores top_k and top_p."""
        logits = _logits(self._q, previous, start)
        return ONE_HOT[logits.argmax(axis=-1)] if temperature < _GREEDY_BELOW else _softmax(logits / temperature)

    def score(self, ids: Sequence[int]) -> np.ndarray:
        """Raw log p at T = 1, shape (len(ids) - 1, VOCAB): what vLLM returns as ``prompt_logprobs``.
        Row i is about token i + 1; the first token has no predecessor and no row."""
        logits = _logits(self._p, ids[:-1], 1)
        logits -= logits.max(axis=-1, keepdims=True)
        return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def _normal(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    a, b = rng.normal(0, _A_SCALE, (VOCAB, VOCAB)), rng.normal(0, _B_SCALE, (PERIOD, VOCAB))
    a[:, EOS], b[:, EOS] = rng.normal(0, _EOS_SCALE, VOCAB), rng.normal(0, _EOS_SCALE, PERIOD)
    return a, b


def _logits(tables: tuple[np.ndarray, np.ndarray], previous: Sequence[int], start: int) -> np.ndarray:
    a, b = tables
    return a[np.asarray(previous, dtype=np.intp)] + b[np.arange(start, start + len(previous)) % PERIOD]


def _softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def _top_k(logits: np.ndarray, top_k: int) -> np.ndarray:
    if not 0 < top_k < VOCAB:
        return logits
    smallest = np.partition(logits, -top_k, axis=-1)[:, -top_k, None]
    return np.where(logits < smallest, -np.inf, logits)


def _top_p(logits: np.ndarray, top_p: float) -> np.ndarray:
    """Drops the tail whose mass, added up from the least likely token, stays within 1 - ``top_p``."""
    if top_p >= 1:
        return logits
    order = logits.argsort(axis=-1)
    tail = np.take_along_axis(_softmax(logits), order, axis=-1).cumsum(axis=-1) <= 1 - top_p
    tail[:, -1] = False
    dropped = np.empty_like(tail)
    np.put_along_axis(dropped, order, tail, axis=-1)
    return np.where(dropped, -np.inf, logits)
