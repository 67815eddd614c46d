"""How large a deviation is, against deviations made to measure."""

import numpy as np
import pytest
from scipy.stats import kstest

from labkit.analysis.bootstrap import Interval
from labkit.analysis.lossless_effect import heat, ks_p, share, variation, variation_at_least


def drawn(ratio, n, seed=0):
    """Rows of a law and tokens drawn from it at ``ratio`` times its temperature."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 2, size=(n, 8))
    hot = np.exp(logits / ratio)
    column = (hot.cumsum(axis=1) < rng.random(n)[:, None] * hot.sum(axis=1, keepdims=True)).sum(axis=1)
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)), column


@pytest.mark.parametrize("ratio", [0.5, 0.9, 1.0, 1.1, 2.0])
def test_the_temperature_is_found(ratio):
    covered = []
    for seed in range(40):
        found = heat(*drawn(ratio, 400, seed))
        assert found.low < found.mid < found.high
        covered.append(found.low <= ratio <= found.high)
    assert np.mean(covered) >= 0.85
    assert heat(*drawn(ratio, 20_000)).mid == pytest.approx(ratio, rel=0.03)


def test_greedy_text_is_cold_and_certain_text_says_nothing():
    logp, _ = drawn(1.0, 50)
    assert heat(logp, logp.argmax(axis=1)).mid < 0.2
    nearly = heat(np.log([[1 - 1e-12, 1e-12]]), np.array([0]))
    assert nearly.low < 1e-10 < 1e10 < nearly.high
    found = heat(np.zeros((5, 1)), np.zeros(5, dtype=int))
    assert np.isnan([found.low, found.mid, found.high]).all()
    assert np.isnan(variation(np.zeros((5, 1)), found).mid)


def test_total_variation_of_a_temperature():
    """p = .8, .2 at twice T: 2/3, 1/3; they differ by .8 - 2/3."""
    logp = np.log([[0.8, 0.2]])
    found = variation(logp, Interval(low=0.9, mid=2.0, high=2.0))
    assert found.mid == pytest.approx(0.8 - 2 / 3)
    assert (found.low, found.high) == (0.0, pytest.approx(0.8 - 2 / 3))
    apart = variation(logp, Interval(low=1.5, mid=2.0, high=3.0))
    assert 0 < apart.low < apart.mid < apart.high


def test_a_bound_that_needs_no_cause():
    """Half of the mass is moved by .5 on average: u uniform on (0, 1/2) differs from uniform by 1/2."""
    u = np.random.default_rng(0).random(5000) / 2
    assert 0.45 < variation_at_least(u) < 0.5
    assert variation_at_least(np.random.default_rng(0).random(5000)) == 0
    assert variation_at_least(np.array([])) == 0


def test_the_ks_value_is_the_customary_one():
    u = np.random.default_rng(2).random(3000) ** 1.03
    assert ks_p(u) == pytest.approx(kstest(u, "uniform", method="asymp").pvalue, rel=1e-6)
    assert np.isnan(ks_p(np.array([])))


def test_exact_interval_of_a_share():
    """Clopper and Pearson for 0 of 10 and 5 of 10, from their tables."""
    none, half, empty = share(0, 10), share(5, 10), share(0, 0)
    assert (none.low, none.high) == (0, pytest.approx(0.3085, abs=1e-4))
    assert (half.low, half.mid, half.high) == pytest.approx((0.1871, 0.5, 0.8129), abs=1e-4)
    assert share(10, 10).high == 1
    assert (empty.low, empty.high) == (0, 1)
