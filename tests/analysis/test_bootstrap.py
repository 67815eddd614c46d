"""Weights and percentile intervals."""

import numpy as np
import pytest

from labkit.analysis.bootstrap import MIN_UNITS, draw_weights, interval_of

HUNDRED = np.arange(101.0)


def test_a_replicate_draws_as_many_units_as_there_are():
    weights = draw_weights(7, replicates=500)
    assert weights.shape == (500, 7)
    assert (weights.sum(axis=1) == 7).all()
    assert (weights == weights.round()).all()
    assert weights.min() == 0, "a resample with every unit exactly once each time is none"


def test_units_are_drawn_alike():
    """Mean 1 and variance 1 − 1/n of each unit's weight; both within 5 standard errors."""
    weights = draw_weights(10, replicates=4000, seed=3)
    assert weights.mean(axis=0) == pytest.approx(np.ones(10), abs=5 * (0.9 / 4000) ** 0.5)
    assert weights.var(axis=0) == pytest.approx(np.full(10, 0.9), abs=0.13)


def test_the_seed_decides():
    assert np.array_equal(draw_weights(6, seed=1), draw_weights(6, seed=1))
    assert not np.array_equal(draw_weights(6, seed=1), draw_weights(6, seed=2))


def test_weights_are_drawn_once_and_nobody_writes_into_them():
    assert draw_weights(6, seed=1) is draw_weights(6, seed=1)
    with pytest.raises(ValueError, match="read-only"):
        draw_weights(6, seed=1)[0, 0] = 7


@pytest.mark.parametrize(("confidence", "low", "high"), [(0.95, 2.5, 97.5), (0.8, 10, 90), (0.5, 25, 75)])
def test_bounds_are_percentiles(confidence, low, high):
    found = interval_of(50, HUNDRED, units=20, confidence=confidence)
    assert (found.mid, found.low, found.high) == pytest.approx((50, low, high))


@pytest.mark.parametrize(("units", "bounded"), [(1, False), (MIN_UNITS - 1, False), (MIN_UNITS, True)])
def test_too_few_units_have_a_figure_and_no_bounds(units, bounded):
    found = interval_of(50, HUNDRED, units=units, confidence=0.95)
    assert found.mid == 50
    assert np.isfinite([found.low, found.high]).tolist() == [bounded, bounded]


@pytest.mark.parametrize("replicates", [[], [np.nan] * 9, [np.inf, -np.inf]])
def test_no_usable_replicate_no_bounds(replicates):
    found = interval_of(1.5, np.array(replicates), units=20, confidence=0.95)
    assert found.mid == 1.5
    assert np.isnan([found.low, found.high]).all()


def test_undefined_replicates_are_left_out():
    holed = np.concatenate([HUNDRED, [np.nan, np.inf, np.nan]])
    assert interval_of(50, holed, units=20, confidence=0.95) == interval_of(50, HUNDRED, units=20, confidence=0.95)


def test_identical_replicates_give_a_point():
    found = interval_of(2.0, np.full(100, 2.0), units=20, confidence=0.95)
    assert (found.low, found.mid, found.high) == (2, 2, 2)
