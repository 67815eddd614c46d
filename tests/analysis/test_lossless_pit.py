"""The law each token should follow, against the simulated model, which has it in closed form."""

import numpy as np
import pytest
from scipy.stats import kstest

from labkit.analysis.lossless_pit import NEAR_TIE, Tokens, rank_pit, restricted, tail_bounds, tokens_of
from labkit.engine.simulated.model import Speculation
from labkit.measure.scored_text import WIDTH
from tests.analysis.simulated_audit import tabled, text

MODEL = tabled(0)
PREVIOUS, AT = [3, 17, 40, 90, 11], 60
ROWS = np.array([MODEL.best[p, (AT + i) % 251] for i, p in enumerate(PREVIOUS)])
IDS = np.array([MODEL.best_ids[p, (AT + i) % 251] for i, p in enumerate(PREVIOUS)])


@pytest.mark.parametrize("temperature", [0.3, 0.8, 1.0, 1.7])
@pytest.mark.parametrize(("top_k", "top_p"), [(20, 1.0), (5, 1.0), (20, 0.9), (10, 0.5), (1, 1.0)])
def test_the_law_is_the_engines(temperature, top_k, top_p):
    wanted = np.take_along_axis(MODEL.p(PREVIOUS, AT, temperature=temperature, top_k=top_k, top_p=top_p), IDS, axis=1)
    assert np.exp(restricted(ROWS, temperature=temperature, top_k=top_k, top_p=top_p)) == pytest.approx(wanted)


def test_without_top_k_it_is_the_law_given_the_20_likeliest():
    p = np.take_along_axis(MODEL.p(PREVIOUS, AT, temperature=0.8), IDS, axis=1)
    assert np.exp(restricted(ROWS, temperature=0.8, top_k=0, top_p=1.0)) == pytest.approx(p / p.sum(axis=1)[:, None])


@pytest.mark.parametrize("temperature", [0.5, 0.8, 1.0, 1.3, 2.0])
def test_the_tail_lies_within_its_bounds(temperature):
    inside = np.take_along_axis(MODEL.p(PREVIOUS, AT, temperature=temperature), IDS, axis=1)
    low, high = tail_bounds(ROWS, temperature=temperature).T
    tail = 1 - inside.sum(axis=1)
    assert (low <= tail * (1 + 1e-9)).all()
    assert (tail <= high * (1 + 1e-9)).all()
    if temperature == 1:
        assert low == pytest.approx(high)


def test_ranks_of_a_known_law():
    """p = .5, .3, .2: a token of the second column falls between .5 and .8."""
    logp = np.log(np.tile([[0.5, 0.3, 0.2]], (1000, 1)))
    u = rank_pit(logp, np.ones(1000, dtype=int), np.random.default_rng(0))
    assert 0.5 < u.min() < 0.51
    assert 0.79 < u.max() < 0.8


@pytest.mark.parametrize("spec", [None, Speculation(method="draft_model", model="d", k=2)], ids=["baseline", "K=2"])
def test_ranks_of_the_engine_are_uniform_and_accepted_tokens_alone_are_not(spec):
    found = tokens_of([text(MODEL, i, seed=1, spec=spec) for i in range(60)])
    assert found.inside.all()
    assert not found.outside.any()
    u = rank_pit(found.logp, found.column, np.random.default_rng(0))
    assert kstest(u, "uniform").pvalue > 0.01
    if spec:
        assert kstest(u[found.place == 1], "uniform").pvalue > 0.01
        assert kstest(u[found.accepted], "uniform").pvalue < 1e-9


def test_texts_of_several_filters_stand_one_after_the_other():
    texts = [text(MODEL, i, seed=1, spec=None) for i in range(4)]
    found = tokens_of(texts)
    assert len(found) == sum(map(len, texts))
    assert found.text.tolist() == [i for i, one in enumerate(texts) for _ in range(len(one))]
    assert [np.isfinite(found.logp[found.text == i]).sum(axis=1).max() for i in range(4)] == [20, 20, 20, 5]
    part = found.where(found.text == 3)
    assert isinstance(part, Tokens)
    assert part.chosen == pytest.approx(part.logp[range(len(part)), part.column])
    with pytest.raises(ValueError, match="at least one text"):
        tokens_of([])


def test_outside_is_beyond_a_near_tie():
    """Of a filter of 5 the sixth is outside unless it is as likely as the fifth but for rounding."""
    one = text(MODEL, 3, seed=1, spec=None)
    moved = dict(vars(one)) | {"token_ids": one.best_ids[:, 5], "logprob": one.best_logprobs[:, 5]}
    found = tokens_of([type(one)(**moved)])
    gap = one.best_logprobs[:, 4] - one.best_logprobs[:, 5]
    assert (gap <= NEAR_TIE).any()
    assert found.outside.tolist() == (gap > NEAR_TIE).tolist()
    assert not found.inside.any()
    assert found.logp.shape[1] == WIDTH
