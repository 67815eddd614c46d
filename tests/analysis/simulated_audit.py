"""Audits of the simulated engine without a server: its own sampler, its own planted faults, scores from its own model.

The model is looked up in tables instead of computed, so that hundreds of audits take minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from labkit.analysis.lossless import Audit, audit
from labkit.analysis.lossless_family import Family
from labkit.config import Simulation
from labkit.engine.simulated.model import VOCAB, Generation, Model, Request, Speculation
from labkit.engine.simulated.tables import PERIOD
from labkit.measure.audit import narrowed
from labkit.measure.scored_text import WIDTH, Block, ScoredText

CATEGORIES = ("code", "prose")
MAX_TOKENS = 100


class Tabled(Model):
    """The same model, its probabilities kept for every (previous token, position mod 251)."""

    def __init__(self, seed: int, agreement: float = 0.7) -> None:
        super().__init__(Simulation(seed=seed, agreement=agreement))
        self._kept: dict[tuple[float, float, int], np.ndarray] = {}
        raw = [self.score([token] * (PERIOD + 1)) for token in range(VOCAB)]  # row i: position i + 1
        raw = np.roll(np.stack(raw), 1, axis=1)
        self.raw = raw
        self.best_ids = np.argsort(-raw, axis=-1, kind="stable")[..., :WIDTH]
        self.best = np.take_along_axis(raw, self.best_ids, axis=-1)

    def p(self, previous, start, *, temperature, top_p=1.0, top_k=0):
        key = (temperature, top_p, top_k)
        if key not in self._kept:
            rows = [super(Tabled, self).p([token] * PERIOD, 0, temperature=temperature, top_p=top_p, top_k=top_k)
                    for token in range(VOCAB)]  # fmt: skip
            self._kept[key] = np.stack(rows)
        return self._kept[key][np.asarray(previous, dtype=np.intp), np.arange(start, start + len(previous)) % PERIOD]


@cache
def tabled(seed: int, agreement: float = 0.7) -> Tabled:
    return Tabled(seed, agreement)


def text(
    model: Tabled, number: int, *, seed: int, spec: Speculation | None, faults=(), known=True,
    temperature=1.0, top_k=20, top_p=1.0, scored_at=None,
) -> ScoredText:  # fmt: skip
    """The ``number``-th text of an audit, scored. ``scored_at``: the temperature it is believed to have."""
    prompt = list(np.random.default_rng([seed, number]).integers(0, 95, size=8 + number % 5))
    top_k = narrowed(top_k, number)
    asked = Request(
        prompt=prompt, temperature=temperature, top_k=top_k, top_p=top_p, max_tokens=MAX_TOKENS,
        seed=2 * seed + (spec is None),
    )  # fmt: skip
    generation = Generation(model, asked, spec, faults)
    chunks = tuple(len(step.tokens) for step in generation)
    output, begin = np.array(generation.output), len(prompt)
    previous, at = np.array([prompt[-1], *output[:-1]]), np.arange(begin, begin + len(output)) % PERIOD
    return ScoredText(
        prompt_id=f"p{number}", category=CATEGORIES[number % 2], temperature=scored_at or temperature, top_k=top_k,
        top_p=top_p, token_ids=output, logprob=model.raw[previous, at, output], best_ids=model.best_ids[previous, at],
        best_logprobs=model.best[previous, at], accepted=tuple(generation.accepted) if spec else None,
        drafted=tuple(generation.drafted) if spec else None, chunk_tokens=chunks,
        every_step=spec is not None and not spec.lookup,
        draft_ids=model.draft_argmax[previous, at] if known else None,
    )  # fmt: skip


def blocks(model: Tabled, *, tokens: int, seed: int, spec: Speculation, every: int, **asked) -> Iterator[Block]:
    """Blocks of about ``every`` tokens until the tested texts hold ``tokens`` of them, the control as many texts."""
    number = total = 0
    while total < tokens:
        tested, control, size = [], [], 0
        while size < every and total + size < tokens:
            tested.append(text(model, number, seed=seed, spec=spec, **asked))
            control.append(text(model, number, seed=seed, spec=None, **{**asked, "faults": ()}))
            size, number = size + len(tested[-1]), number + 1
        total += size
        yield Block(tested, control)


def simulated_audit(
    *,
    seed: int,
    tokens: int = 10_000,
    k: int = 2,
    faults=(),
    every: int = 2_500,
    known=True,
    lookup: tuple[int, int] | None = None,
    model_seed: int | None = None,
    **sampling,
) -> Audit:
    """One audit, watched every ``every`` tokens, of K greedy drafts, or with ``lookup`` of prompt lookup, whose drafts
    are not known."""
    model, known = tabled(seed % 4 if model_seed is None else model_seed), known and not lookup
    spec = Speculation(method="ngram" if lookup else "draft_model", model=None, k=k, lookup=lookup)
    watched = blocks(model, tokens=tokens, seed=seed, spec=spec, every=every, faults=faults, known=known, **sampling)
    return audit(watched, family=Family(k=k, categories=CATEGORIES, drafts=known), budget=tokens)
