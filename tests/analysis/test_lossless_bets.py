"""Every bet on a token is fair under its law, and the score is the customary one."""

import numpy as np
import pytest

from labkit.analysis.lossless_bets import HEATS, WEIGHTS, heated, surprisal, surprisal_variance, token_factors

P = np.array([0.5, 0.25, 0.15, 0.1, 0.0])
with np.errstate(divide="ignore"):
    LOGP = np.log(P)[None, :]


def rows(columns):
    return np.repeat(LOGP, len(columns), axis=0), np.asarray(columns)


def test_bets_on_temperatures_are_fair():
    logp, column = rows(range(4))
    factors = np.exp(token_factors(logp, column, np.random.default_rng(0)))[:, : len(HEATS)]
    assert P[:4] @ factors == pytest.approx(np.ones(len(HEATS)))


def test_bets_on_ranks_are_fair():
    rng = np.random.default_rng(0)
    logp, column = rows(rng.choice(4, p=P[:4], size=200_000))
    factors = np.exp(token_factors(logp, column, rng))[:, len(HEATS) :]
    assert factors.mean(axis=0) == pytest.approx(np.ones(factors.shape[1]), abs=0.005)
    assert (factors > 0.5).all()


def test_the_stake_is_whole():
    assert WEIGHTS.sum() == pytest.approx(1)
    assert WEIGHTS[: len(HEATS)].sum() == pytest.approx(0.5)


def test_a_law_at_another_temperature():
    logp, column = rows(range(4))
    hot = P[:4] ** (1 / 1.5)
    assert np.exp(heated(logp, column, np.log(1.5))) == pytest.approx(hot / hot.sum())
    assert np.exp(heated(logp, column, 0.0)) == pytest.approx(P[:4])


def test_surprisal_minus_entropy():
    logp, column = rows([0, 3])
    surprise = -np.log(P[:4])
    entropy = P[:4] @ surprise
    variance = P[:4] @ surprise**2 - entropy**2
    assert surprisal_variance(logp) == pytest.approx([variance] * 2)
    assert surprisal(logp, column) == pytest.approx((surprise[[0, 3]] - entropy).sum() / np.sqrt(2 * variance))


def test_tokens_without_a_choice_say_nothing():
    with np.errstate(divide="ignore"):
        certain = np.log(np.array([[1.0, 0.0]]))
    assert surprisal_variance(certain) == pytest.approx([0])
    assert np.isnan(surprisal(certain, np.array([0])))
    assert token_factors(certain, np.array([0]), np.random.default_rng(0))[:, : len(HEATS)] == pytest.approx(0)
