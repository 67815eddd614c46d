"""Places in the step, against steps written by hand and against the simulated engine, which knows them."""

import numpy as np
import pytest

from labkit.analysis.lossless_steps import BONUS, NOT_DRAFTED, UNCLEAR, UNKNOWN, places
from labkit.engine.simulated.model import Generation, Request, Speculation
from labkit.measure.scored_text import ScoredText
from tests.analysis.simulated_audit import tabled


def text(n, accepted, drafted, chunks=(), proposed=None, every_step=False):
    nothing = np.zeros(n)
    return ScoredText(
        prompt_id="p", category="c", temperature=1.0, top_k=20, top_p=1.0, token_ids=nothing, logprob=nothing,
        best_ids=nothing, best_logprobs=nothing, accepted=accepted, drafted=drafted, chunk_tokens=chunks,
        every_step=every_step, proposed=None if proposed is None else np.array(proposed),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("n", "accepted", "drafted", "place", "kept"),
    [
        (1, (), (), [0], []),
        (4, (), (), [0, 0, 0, 0], []),
        (6, (2, 0, 0), (2, 2, 2), [0, 1, 2, BONUS, 1, 1], [1, 2]),
        (5, (1, 1), (2, 2), [0, 1, 2, 1, 2], [1, 3]),
        (3, (2,), (2,), [0, 1, 2], [1, 2]),  # cut before the bonus token
        (2, (2,), (2,), [0, 1], [1]),
        (4, (0, 1), (2, 1), [0, 1, 1, BONUS], [2]),  # a shorter proposal
        (3, (1, 0), (2, 2), [0, 1, 2], [1]),  # a step after the end
    ],
)
def test_every_step_has_drafts(n, accepted, drafted, place, kept):
    found = places(text(n, accepted, drafted, every_step=True))
    assert found.place.tolist() == place
    assert np.flatnonzero(found.accepted).tolist() == kept


@pytest.mark.parametrize(
    ("chunks", "accepted", "drafted", "place"),
    [
        ((1, 1, 3, 1), (2,), (2,), [0, UNCLEAR, UNCLEAR, 2, BONUS, UNCLEAR]),
        ((1, 1, 3, 1), (0, 2, 0), (2, 3, 2), [0, UNCLEAR, UNCLEAR, 2, 3, UNCLEAR]),
        ((1, 1, 2), (2,), (2,), [0, UNCLEAR, UNCLEAR, 2]),  # the last step cut by the end
        ((1, 1, 1), (2,), (2,), [0, UNCLEAR, UNCLEAR]),
        ((1, 1, 1), (), (), [0, UNCLEAR, UNCLEAR]),
        ((1,), (), (), [0]),
    ],
)
def test_some_steps_have_none(chunks, accepted, drafted, place):
    """The first token of every step is unclear, of those that surely had drafts too: they are accepted ones."""
    assert places(text(sum(chunks), accepted, drafted, chunks)).place.tolist() == place


def test_proposals_tell_what_chunks_do_not():
    found = places(text(6, (0, 2), (2, 2), proposed=[0, 0, 2, 2, 0, 0]))
    assert found.place.tolist() == [0, 0, 1, 1, 2, BONUS]


@pytest.mark.parametrize(
    "asked",
    [
        text(3, None, None),
        text(6, (2,), (2,)),  # no chunks
        text(6, (2,), (2,), every_step=True),  # a step too few
        text(6, (1, 1), (2, 2), (1, 3, 2), every_step=True),  # chunks that split a step
        text(6, (2,), (2,), (1, 2, 2, 1)),  # no chunk of three
        text(6, (2, 1, 1), (2, 2, 2), (1, 1, 3, 1)),  # a step too many
        text(6, (2,), (2,), (2, 3, 1)),  # the first chunk is two steps
        text(6, (2,), (2,), (1, None, 3, 1)),
        text(6, (2,), (2,), proposed=[0, 0, 3, 2, 0, 0]),  # another proposal
        text(6, (2, 0), (2, 2), proposed=[0, 0, 2, 2, 2, 0]),  # a step too many
    ],
)
def test_what_does_not_fit_is_unknown_and_says_so(asked):
    found = places(asked)
    assert set(found.place.tolist()) == {UNKNOWN}
    assert not found.accepted.any()
    assert "server" in found.reason


@pytest.mark.parametrize(
    "spec",
    [
        Speculation(method="draft_model", model="d", k=3),
        Speculation(method="eagle3", model="d", k=2, probabilistic=True),
        Speculation(method="ngram", k=3, lookup=(1, 3)),
    ],
    ids=lambda spec: spec.method,
)
def test_places_are_those_of_the_simulated_engine(spec):
    """With prompt lookup all that is told apart is right, and no first token is."""
    model, seen = tabled(0), set()
    for seed in range(20):
        asked = Request(prompt=[5, 6, 7, 8, 5, 6, 7], temperature=1.0, seed=seed, max_tokens=60)
        generation, true, first = Generation(model, asked, spec), [], []
        steps = list(generation)
        for step in steps:
            first += [j == 0 and len(true) > 0 for j in range(len(step.tokens))]
            for j, origin in enumerate(step.origins, start=1):
                true.append({"plain": NOT_DRAFTED, "bonus": BONUS}.get(origin, j))
        counts = (tuple(generation.accepted), tuple(generation.drafted), tuple(len(step.tokens) for step in steps))
        found = places(text(len(true), *counts, every_step=not spec.lookup))
        wanted = np.where(first, UNCLEAR, true) if spec.lookup else np.array(true)
        assert found.place.tolist() == wanted.tolist()
        seen |= set(found.place.tolist())
    assert {NOT_DRAFTED, BONUS, UNCLEAR if spec.lookup else 1, 2} <= seen
