"""Claimed and measured: the nearest own cell, what may be compared and why not."""

from dataclasses import replace
from math import isnan

import pytest

from labkit.analysis.claims import set_beside, step_arithmetic
from labkit.config import read
from labkit.references import Claim, Reference, load_references

SAME = {"method": "ngram", "k": 4, "temperature": 0.8, "concurrency": 1, "target": "demo-target"}


def reference(figure="speedup", **changes):
    claim = {"id": "a", "says": "it is", "figure": figure, "value": [2, 3], "given": SAME} | changes
    return read(Reference, {"source": {"name": "X", "title": "X 2020"}, "claims": [claim]}, where="test")


@pytest.fixture(scope="module")
def measured(sweep):
    return sweep(blocks=1)


def only(measured, **claim):
    (standing,) = set_beside([reference(**claim)], measured)
    return standing


def mid(measured, **claim):
    return only(measured, **claim).own.mid


def test_equal_conditions_compare(measured):
    found = only(measured)
    assert (found.comparable, found.why, found.cell) == ("yes", (), "ngram K=4, T = 0.8, concurrency 1")
    assert (found.own.low, found.own.mid, found.own.high) == (pytest.approx(1.4),) * 3


@pytest.mark.parametrize(
    ("given", "comparable", "why"),
    [
        ({"k": 5}, "partly", "K = 4, not 5"),
        ({"temperature": 1.0}, "partly", "T = 0.8, not 1"),
        ({"concurrency": 64}, "partly", "users = 1, not 64"),
        ({"target": "72B"}, "partly", "another target (demo-target, not 72B) on another machine"),
        ({"categories": ["code", "prose"]}, "partly", "other prompts (code, not code, prose)"),
        ({"k": None, "concurrency": None}, "partly", "the source leaves K and users open"),
        ({"method": "eagle3"}, "no", "no eagle3 was measured here"),
    ],
    ids=str,
)
def test_what_differs_is_named(measured, given, comparable, why):
    found = only(measured, given=SAME | given)
    assert (found.comparable, found.why) == (comparable, (why,))


def test_equal_kinds_of_prompt_compare(measured):
    assert only(measured, given=SAME | {"categories": ["code"]}).comparable == "yes"


def test_a_ratio_crosses_machines_an_absolute_speed_does_not(measured):
    far = {"given": SAME | {"target": "72B"}}
    assert only(measured, figure="tokens_per_step", **far).comparable == "partly"
    assert only(measured, figure="tokens_per_second", **far).comparable == "no"
    assert only(measured, figure="tokens_per_second").comparable == "yes"


def test_the_acceptance_rate_compares_at_its_own_k_only(measured):
    """It falls as K grows, whatever the draft."""
    assert only(measured, figure="acceptance_rate", given=SAME | {"target": "72B"}).comparable == "partly"
    assert only(measured, figure="acceptance_rate", given=SAME | {"k": 5}).comparable == "no"


def test_own_figures(measured):
    """TPOT 40 ms without speculation, 40 / 1.4 with it."""
    assert mid(measured, figure="tokens_per_second") == pytest.approx(35)
    assert mid(measured, figure="baseline_tokens_per_second") == pytest.approx(25)
    accepted = [
        r.per_step_accepted for m in measured if (m.cell.spec.name, m.cell.spec.k) == ("ngram", 4) for r in m.records
    ]
    rate = sum(map(sum, accepted)) / (4 * sum(map(len, accepted)))
    assert mid(measured, figure="acceptance_rate") == pytest.approx(rate)
    assert only(measured, figure="baseline_tokens_per_second").cell == "baseline, T = 0.8, concurrency 1"


def test_the_time_for_a_thousand_characters_counts_characters(measured):
    written = [replace(m, records=tuple(replace(r, text="x" * 82) for r in m.records)) for m in measured]
    assert mid(written, figure="baseline_seconds_per_1000_characters") == pytest.approx(1000 * 0.040 * 41 / 82)
    silent = only(measured, figure="seconds_per_1000_characters")
    assert (silent.comparable, silent.cell) == ("no", "")
    assert isnan(silent.own.mid)


def test_greedy_agreement_is_told_at_t_0_only(measured):
    def other(m):
        first = replace(m.records[0], output_token_ids=(1,))
        return replace(m, records=(first, *m.records[1:])) if m.cell.spec.k else m

    apart = [other(m) for m in measured]
    assert mid(apart, figure="greedy_agreement", given=SAME | {"temperature": 0}) == pytest.approx(5 / 6)
    assert only(apart, figure="greedy_agreement").comparable == "no"


def test_of_equally_near_cells_the_fastest_counts(measured):
    """Who claims shows a good setting."""
    assert only(measured, given={"method": "draft_model"}).cell.startswith("draft K=2, T = 0")


def test_looping_outputs_are_left_out(measured):
    def loop(m):
        return replace(m, records=(replace(m.records[0], output_token_ids=tuple(range(8)) * 10), *m.records[1:]))

    looping = [loop(m) for m in measured]
    assert mid(looping, figure="acceptance_rate") == pytest.approx(mid(measured, figure="acceptance_rate"))
    dropped = [replace(m, records=m.records[1:]) for m in measured]
    assert mid(looping, figure="tokens_per_step") == pytest.approx(mid(dropped, figure="tokens_per_step"))


def test_claims_without_a_counterpart_stay_claims(measured):
    found = only(measured, figure="other", remark="mind this")
    assert (found.comparable, found.cell, found.why) == ("no", "", ("mind this",))


def test_four_of_five_accepted_are_five_tokens():
    """The article's picture: 200 ms against 60 ms is 3.3×, not 2.7×."""
    (picture,) = [c for r in load_references() for c in r.claims if c.id == "picture"]
    assert step_arithmetic(picture) == (
        "accepting 4 of 5 drafts yields 5 tokens, not 4: the target adds one of its own; so 200 against 60 ms is 3.3×, "
        "not 2.7×"
    )
    assert step_arithmetic(Claim(id="a", says="", figure="other", value=(1, 1))) == ""


def test_a_run_without_drafters_has_no_counterparts(sweep):
    found = set_beside(load_references(), sweep(drafters=()))
    assert {standing.comparable for standing in found} == {"no"}
    assert all(isnan(standing.own.mid) for standing in found)
