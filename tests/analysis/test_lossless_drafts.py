"""Acceptance and replacement against known drafts: fair where speculation is right, and each fault seen where it is."""

import numpy as np
import pytest

from labkit.analysis.lossless_drafts import (
    ACCEPTANCE_TILTS,
    RECOVERED_WEIGHTS,
    acceptance_factors,
    draft_logp,
    likeliest_cause,
    mistaken,
    recovered,
    recovered_factors,
    verified,
)
from labkit.analysis.lossless_pit import tokens_of
from labkit.analysis.sequential import largest_log_e
from labkit.engine.simulated.model import Speculation
from tests.analysis.simulated_audit import tabled, text

EVEN = np.full(len(ACCEPTANCE_TILTS), 1 / len(ACCEPTANCE_TILTS))


def checked(faults=(), texts=60, seed=3):
    spec = Speculation(method="draft_model", model="d", k=2)
    return verified(tokens_of([text(tabled(0), i, seed=seed, spec=spec, faults=faults) for i in range(texts)]))


def evidence(tokens):
    law = recovered_factors(recovered(tokens), np.random.default_rng(0))
    return largest_log_e(acceptance_factors(tokens), EVEN), largest_log_e(law, RECOVERED_WEIGHTS)


def test_drafts_of_a_lossless_engine():
    """Acceptances add up to p(d), tokens accepted are the draft, tokens recovered are not."""
    tokens = checked()
    p = np.exp(draft_logp(tokens))
    z = (tokens.accepted - p).sum() / np.sqrt((p * (1 - p)).sum())
    assert abs(z) < 3
    assert (tokens.column[tokens.accepted] == tokens.draft[tokens.accepted]).all()
    found = recovered(tokens)
    assert not found.same.any()
    assert np.exp(found.logp).sum(axis=1) == pytest.approx(1)
    assert max(evidence(tokens)) < np.log(50)
    assert RECOVERED_WEIGHTS.sum() == pytest.approx(1)
    assert not mistaken(tokens)


@pytest.mark.parametrize(
    ("fault", "acceptance", "replacement"),
    [("acceptance", True, False), ("recovered_from_p", False, True), ("bonus_temperature", False, False)],
)
def test_each_fault_is_seen_where_it_is(fault, acceptance, replacement):
    tokens = checked((fault,))
    assert [log_e > np.log(1000) for log_e in evidence(tokens)] == [acceptance, replacement]
    assert recovered(tokens).same.any() == (fault == "recovered_from_p")


@pytest.mark.parametrize(("fault", "factor"), [("temperature", 1.1), ("acceptance", 1.2)])
def test_the_likeliest_cause(fault, factor):
    gain, best = likeliest_cause(checked((fault,), texts=150))
    assert max(gain, key=gain.get) == fault
    assert best[fault] == pytest.approx(factor, abs=0.06)


def test_without_a_fault_no_cause_gains_much():
    gain, best = likeliest_cause(checked())
    assert 0 <= min(gain.values()) <= max(gain.values()) < 5
    assert best == pytest.approx(dict.fromkeys(gain, 1.0), abs=0.1)


def test_drafts_of_another_drafter_are_noticed():
    tokens = checked()
    wrong = dict(vars(tokens)) | {"draft": (tokens.draft + 1) % 5}
    assert mistaken(type(tokens)(**wrong))


def test_where_only_the_draft_may_be_drawn_nothing_is_recovered():
    """top_k = 1: a rejection there is impossible, and says nothing about what replaces it."""
    spec = Speculation(method="draft_model", model="d", k=2)
    tokens = verified(tokens_of([text(tabled(0), i, seed=3, spec=spec, top_k=1) for i in range(4)]))
    assert len(tokens)
    assert len(recovered(tokens).same) == 0
    assert evidence(tokens)[1] == 0
