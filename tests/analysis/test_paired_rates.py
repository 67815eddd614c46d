"""Paired shares: McNemar's test, and an interval that is never too narrow."""

import numpy as np
import pytest
from scipy.stats import binomtest

from labkit.analysis.paired_rates import paired_difference, paired_p


@pytest.mark.parametrize(("tested", "control"), [(range(5), range(3, 6)), ((), range(4)), (range(9), ()), ((), ())])
def test_the_p_value_is_mcnemars(tested, control):
    ours, theirs = len(set(tested) - set(control)), len(set(control) - set(tested))
    wanted = binomtest(ours, ours + theirs, alternative="greater").pvalue if ours + theirs else 1
    names = [[f"p{i}" for i in numbers] for numbers in (tested, control)]
    assert paired_p(*names) == pytest.approx(wanted)


def test_the_interval_of_the_difference_is_never_too_narrow():
    """40 prompts, 30 % part in one arm, 10 % in the other: the true .2 is inside in at least 95 % of draws."""
    rng, inside = np.random.default_rng(0), []
    for _ in range(400):
        arms = [{f"p{i}" for i in np.flatnonzero(rng.random(40) < rate)} for rate in (0.3, 0.1)]
        found = paired_difference(*arms, 40)
        inside.append(found.low <= 0.2 <= found.high)
        assert found.low <= found.mid <= found.high
    assert np.mean(inside) >= 0.95
