"""Run lengths and replays that can be worked out by hand."""

import numpy as np
import pytest
import torch

from labkit.training.evaluate import Agreement, _replay, _run_lengths, agreement
from labkit.training.features import Features


class Known(torch.nn.Module):
    """Has at each base as many right drafts as its table says: ``runs[first token of the text][base]``."""

    def __init__(self, runs):
        super().__init__()
        self.runs = runs

    def matches(self, batch, depths):
        found = torch.ones(*batch.tokens.shape, depths, dtype=torch.bool)  # wrong if it is read where it must not be
        for row, tokens in enumerate(batch.tokens.tolist()):
            for base, run in ((b, r) for b, r in self.runs[tokens[0]].items() if b < len(tokens)):
                found[row, base] = torch.arange(depths) < run
        return found


def features_of(*texts):
    """``texts``: (prompt length, answer length, greedy); text i begins with token i."""
    lengths = [prompt + answer for prompt, answer, _ in texts]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(int)
    tokens = np.concatenate([np.full(n, i, np.int32) for i, n in enumerate(lengths)] or [np.zeros(0, np.int32)])
    return Features(
        tokens=tokens,
        hidden=np.zeros((len(tokens), 1, 2), np.float16),
        starts=starts,
        answers=np.array([s + t[0] for s, t in zip(starts, texts, strict=False)], int),
        greedy=np.array([t[2] for t in texts], bool),
        layers=(1,),
        key="",
    )


@pytest.mark.parametrize(
    ("matches", "runs"),
    [
        ([[1, 1], [1, 1], [1, 1]], [2, 2, 1]),  # at most as many as the text still has
        ([[0, 1], [1, 0], [0, 0]], [0, 1, 0]),  # what comes after a wrong one does not count
        ([[1, 1]], [1]),
    ],
)
def test_run_lengths(matches, runs):
    assert _run_lengths(np.array(matches, bool)).tolist() == runs


def test_run_lengths_of_nothing():
    assert _run_lengths(np.zeros((0, 4), bool)).tolist() == []


@pytest.mark.parametrize(
    ("runs", "k", "length"),
    [
        ([[0, 0, 0]], 3, 1.0),  # three steps, nothing accepted
        ([[4, 4, 4, 4, 4]], 4, 5.0),  # one step
        ([[4, 4, 4, 3, 2, 1]], 1, 2.0),  # three steps of two tokens
        ([[2, 0, 1, 2, 1]], 2, 1 + 4 / 2),  # places 0 and 3, two accepted at each
        ([[2, 0, 1, 0], [0, 0]], 2, 1 + 2 / 4),  # places 0 and 3 of one text, 0 and 1 of the other
        ([[]], 2, 1.0),
        ([], 2, 1.0),
    ],
)
def test_replay(runs, k, length):
    assert _replay([np.array(run, int) for run in runs], k) == pytest.approx(length)


def test_figures_of_one_text_by_hand():
    """A prompt of 3 and an answer of 7: bases 2 … 7, of which the last has one token left to guess."""
    model = Known({0: {2: 2, 3: 0, 4: 1, 5: 3, 6: 1, 7: 1}})
    found = agreement(model, features_of((3, 7, True)), depths=3)
    assert found == Agreement(
        tokens=6,
        joint=(5 / 6, 2 / 5, 1 / 4),  # of the places with so many tokens left
        conditional=(5 / 6, 2 / 4, 1 / 2),
        mean_acceptance_length={
            1: pytest.approx(1 + 3 / 3),  # places 0, 2, 4: one accepted at each
            2: pytest.approx(1 + 4 / 2),  # places 0 and 3: two at each
            3: pytest.approx(1 + 5 / 2),  # places 0 and 3: two, then three
        },
    )
    assert not model.training


def test_a_draft_that_is_always_right_gives_all_it_can():
    """An answer of 9: 8 tokens to guess after the first; the end of the text is no rejection."""
    always = Known({0: dict.fromkeys(range(20), 9)})
    found = agreement(always, features_of((3, 9, True)), depths=3)
    assert found.conditional == found.joint == (1.0, 1.0, 1.0)
    assert found.mean_acceptance_length[3] == pytest.approx(4)  # 8 places: two steps of 4


def test_a_draft_that_is_never_right():
    never = Known({0: dict.fromkeys(range(20), 0)})
    found = agreement(never, features_of((3, 9, True)), depths=2)
    assert found.joint == found.conditional == (0.0, 0.0)
    assert found.mean_acceptance_length == {1: 1.0, 2: 1.0}


def test_only_greedy_texts_of_those_asked_for_count():
    tables = {i: dict.fromkeys(range(20), i % 2 * 9) for i in range(4)}  # texts 1 and 3 are guessed, 0 and 2 not
    features = features_of((2, 5, True), (2, 6, True), (2, 7, True), (4, 8, False))
    assert agreement(Known(tables), features, depths=1).tokens == 4 + 5 + 6
    assert agreement(Known(tables), features, depths=1).joint == (5 / 15,)
    only = agreement(Known(tables), features, depths=1, texts=np.array([1, 3]))
    assert (only.tokens, only.joint) == (5, (1.0,))


@pytest.mark.parametrize("texts", [np.array([1]), np.zeros(0, int)])
def test_no_greedy_text(texts):
    features = features_of((2, 5, True), (2, 6, False))
    nothing = Agreement(tokens=0, joint=(), conditional=(), mean_acceptance_length={})
    assert agreement(Known({}), features, depths=2, texts=texts) == nothing


def test_an_answer_of_one_token_has_nothing_to_draft():
    assert agreement(Known({0: {}}), features_of((3, 1, True)), depths=2).tokens == 0
