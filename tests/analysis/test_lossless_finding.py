"""The numbers beside a verdict: what "would have been found with a chance of 90 %" is worth."""

import numpy as np
import pytest

from labkit.analysis.lossless_bets import WEIGHTS, surprisal_variance, token_factors
from labkit.analysis.lossless_finding import visible_heat
from labkit.analysis.sequential import largest_log_e


def drawn(ratio, n, seed):
    """Rows of a law and tokens drawn from it at ``ratio`` times its temperature."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 2, size=(n, 8))
    hot = np.exp(logits / ratio)
    column = (hot.cumsum(axis=1) < rng.random(n)[:, None] * hot.sum(axis=1, keepdims=True)).sum(axis=1)
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)), column


@pytest.mark.parametrize("n", [300, 2000])
def test_the_smallest_visible_temperature_is_found_as_often_as_it_says(n):
    wanted = np.log(15 / 0.005)
    ratio = visible_heat(surprisal_variance(drawn(1.0, n, 0)[0]).sum(), wanted)
    found = []
    for seed in range(200):
        factors = token_factors(*drawn(ratio, n, seed), np.random.default_rng(seed))
        found.append(largest_log_e(factors, WEIGHTS) >= wanted)
    assert 0.85 < np.mean(found) <= 1
