"""Bets that may be watched: fair in expectation, rarely high without cause, and as strong as promised."""

import numpy as np
import pytest

from labkit.analysis.sequential import POWER, coin_factors, corrected, largest_log_e, smallest_visible

TILTS = (0.4, -0.4, 1.6, -1.6)
EVEN = np.full(len(TILTS), 1 / len(TILTS))


@pytest.mark.parametrize("p", [0.001, 0.3, 0.97])
def test_a_coin_bet_is_fair(p):
    happened, not_happened = np.exp(coin_factors(np.array([True, False]), np.array([p, p]), TILTS))
    assert p * happened + (1 - p) * not_happened == pytest.approx(np.ones(len(TILTS)))


def test_a_bet_on_more_loses_where_the_true_chance_is_smaller():
    happened, not_happened = np.exp(coin_factors(np.array([True, False]), np.array([0.3, 0.3]), TILTS))
    mean = 0.2 * happened + 0.8 * not_happened
    assert (mean[[0, 2]] < 1).all()
    assert (mean[[1, 3]] > 1).all()


def test_watching_a_fair_coin_rarely_looks_like_a_find():
    """Ville: the largest e of 300 tosses reaches 20 in at most 1 of 20 sequences, and in some."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, size=300)
    found = [largest_log_e(coin_factors(rng.random(300) < p, p, TILTS), EVEN) >= np.log(20) for _ in range(1000)]
    assert 0.005 < np.mean(found) < 0.05


def test_evidence_is_the_largest_of_the_mixture():
    """Wealths 2, 1 and 1/2, 4: the mean is 1.25, then 2.5; it counts though the last token takes it back to 0."""
    factors = np.log([[2.0, 0.5], [0.5, 8.0], [1e-9, 1e-9]])
    assert largest_log_e(factors, np.array([0.5, 0.5])) == pytest.approx(np.log(2.5))
    assert largest_log_e(factors[:0], np.array([0.5, 0.5])) == 0
    assert largest_log_e(-np.ones((3, 2)), np.array([0.5, 0.5])) == 0


def test_holm():
    p = {"a": 0.01, "b": 0.001, "c": 0.02, "d": 1.0}
    found = corrected({name: -np.log(value) for name, value in p.items()})
    assert found == pytest.approx({"a": 0.03, "b": 0.004, "c": 0.04, "d": 1.0})
    assert corrected({"a": -np.log(0.02), "b": -np.log(0.021)}) == pytest.approx({"a": 0.04, "b": 0.04})


def test_the_smallest_visible_effect_is_seen_as_often_as_promised():
    """Normal tokens with mean δ against mean 0, for which the formula is exact at the last token."""
    bets, wanted, n = (0.02, 0.05, 0.1), np.log(1000), 4000
    delta = smallest_visible(n, bets, log_wanted=wanted)
    rng = np.random.default_rng(1)
    sums = rng.normal(delta * n, np.sqrt(n), size=4000)
    best = max(np.mean(b * sums - b**2 * n / 2 >= wanted) for b in bets)
    assert best == pytest.approx(POWER, abs=0.02)
    assert smallest_visible(4 * n, bets, log_wanted=wanted) < 0.6 * delta
    assert smallest_visible(0, bets, log_wanted=wanted) == float("inf")
