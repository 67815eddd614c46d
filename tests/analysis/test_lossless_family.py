"""The tests of an audit: which tokens each takes, and bets on tokens outside that are fair."""

import numpy as np
import pytest
from scipy.stats import binom

from labkit.analysis import lossless_family
from labkit.analysis.lossless_family import ALL, BONUS_TOKEN, DRAFTED, OUTSIDE, UNDRAFTED, Family, generator
from labkit.analysis.lossless_pit import Tokens, tail_bounds, tokens_of
from labkit.engine.simulated.model import Speculation
from tests.analysis.simulated_audit import CATEGORIES, tabled, text

SPEC = Speculation(method="draft_model", model="d", k=2)


def tokens(n=20, spec=SPEC, **asked):
    return tokens_of([text(tabled(0), i, seed=5, spec=spec, **asked) for i in range(n)])


def with_outside(found: Tokens, numbers) -> Tokens:
    outside = np.zeros(len(found), dtype=bool)
    outside[np.array(numbers, dtype=int)] = True
    return Tokens(**dict(vars(found)) | {"outside": outside, "column": np.where(outside, -1, found.column)})


def test_groups_cover_every_token_once_by_place():
    found = tokens()
    masks = Family(k=2, categories=CATEGORIES).groups(found)
    by_place = np.sum([masks[name] for name in (UNDRAFTED, "position 1", "position 2", BONUS_TOKEN)], axis=0)
    assert (by_place == 1).all()
    assert (masks[DRAFTED] == ~masks[UNDRAFTED]).all()
    assert (masks["category code"] ^ masks["category prose"]).all()
    assert masks[ALL].all()


@pytest.mark.parametrize(("n", "n_control", "hits"), [(50, 50, 1), (80, 20, 3)])
def test_bets_on_tokens_outside_are_fair(n, n_control, hits):
    """Of a text's tokens outside each is the tested engine's with chance n / (n + n_control): the mean factor is 1."""
    base = tokens(1)
    both = [base.where(np.resize(np.arange(len(base)), size)) for size in (n, n_control)]
    means = np.zeros(3)
    for ours in range(hits + 1):
        tested, control = with_outside(both[0], range(ours)), with_outside(both[1], range(hits - ours))
        factor = np.exp(lossless_family._outside_factors(tested, control))[0]
        means += binom.pmf(ours, hits, n / (n + n_control)) * factor
    assert means == pytest.approx(1)


def test_tokens_outside_as_often_as_in_the_control_are_nothing():
    tested, control = tokens(), tokens(spec=None)
    every = range(0, 1500, 100)
    family = Family(k=2, categories=CATEGORIES)
    assert family.p_values(with_outside(tested, every), with_outside(control, every))[OUTSIDE] == 1
    assert family.p_values(with_outside(tested, every), control)[OUTSIDE] < 0.005


def test_the_tail_is_compared_with_its_bounds():
    """A tail of .05 where between .04 and .06 may be; one of .2 is too much, none at all in 2,000 tokens too little."""
    found = tokens(40, top_k=0)
    family, n, rng = Family(k=2, categories=CATEGORIES), len(found), np.random.default_rng(0)

    def p(share):
        tail = np.tile([0.04, 0.06], (n, 1))
        moved = with_outside(found, np.flatnonzero(rng.random(n) < share))
        return family.p_values(Tokens(**dict(vars(moved)) | {"tail": tail}), found)[OUTSIDE]

    assert n > 2000
    assert p(0.05) == 1
    assert p(0.2) < 0.005
    assert p(0.0) < 0.005
    assert (tail_bounds(text(tabled(0), 1, seed=5, spec=None).best_logprobs, temperature=1.0) > 0).any()


def test_every_look_sees_the_same_process():
    """The randomisation of a token does not depend on how many come after it: evidence never falls."""
    family, found = Family(k=2, categories=CATEGORIES, drafts=True), tokens(40, faults=("temperature",))
    looks = [family.log_evidence(found.where(found.text < n), None) for n in (10, 20, 40)]
    for name in family.names:
        evidence = [look[name] for look in looks]
        assert evidence == sorted(evidence)
    assert generator(0).random() == generator(0).random() != generator(1).random()
