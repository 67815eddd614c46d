"""Claimed and measured: the nearest own cell, what may be compared and why not."""

from dataclasses import replace

import pytest

from labkit.config import read
from labkit.references import Claim, Reference, load_references
from labkit.view import tables
from labkit.view.claims import claims_table, step_arithmetic
from labkit.view.present import show

SAME = {"method": "ngram", "k": 4, "temperature": 0.8, "concurrency": 1, "target": "demo-target"}


def reference(figure="speedup", **changes):
    claim = {"id": "a", "says": "it is", "figure": figure, "value": [2, 3], "given": SAME} | changes
    data = {"source": {"name": "X", "title": "X 2020", "url": "https://x", "first_hand": True}, "claims": [claim]}
    return read(Reference, data, where="test")


@pytest.fixture(scope="module")
def measured(sweep):
    return sweep(blocks=1)


def only(measured, **claim):
    return claims_table(measured, [reference(**claim)]).iloc[0]


def test_equal_conditions_compare(measured):
    row = only(measured)
    assert (row["measured"], row["comparable"], row["why"]) == (pytest.approx(1.4), "yes", "")
    assert (row["cell"], row["claimed"], row["source"]) == ("ngram K=4, T = 0.8, concurrency 1", "2–3", "X")
    assert (row["low"], row["high"]) == (pytest.approx(1.4), pytest.approx(1.4))


@pytest.mark.parametrize(
    ("given", "comparable", "why"),
    [
        ({"k": 5}, "partly", "K = 4, not 5"),
        ({"temperature": 1.0}, "partly", "T = 0.8, not 1"),
        ({"concurrency": 64}, "partly", "users = 1, not 64"),
        ({"target": "72B"}, "partly", "another target (demo-target, not 72B) on another machine"),
        ({"categories": ["code", "prose"]}, "partly", "other prompts (code, not code, prose)"),
        ({"categories": ["code"]}, "yes", ""),
        ({"k": None, "concurrency": None}, "partly", "the source leaves K and users open"),
        ({"method": "eagle3"}, "no", "no eagle3 was measured here"),
    ],
    ids=str,
)
def test_what_differs_is_named(measured, given, comparable, why):
    row = only(measured, given=SAME | given)
    assert (row["comparable"], row["why"]) == (comparable, why)


def test_a_ratio_crosses_machines_an_absolute_speed_does_not(measured):
    far = {"given": SAME | {"target": "72B"}}
    assert only(measured, figure="tokens_per_step", **far)["comparable"] == "partly"
    assert only(measured, figure="tokens_per_second", **far)["comparable"] == "no"
    assert only(measured, figure="tokens_per_second")["comparable"] == "yes"


def test_own_figures(measured):
    """TPOT 40 ms without speculation, 40 / 1.4 with it."""
    found = {f: only(measured, figure=f)["measured"] for f in ("tokens_per_second", "baseline_tokens_per_second")}
    assert found == {"tokens_per_second": pytest.approx(35), "baseline_tokens_per_second": pytest.approx(25)}
    accepted = [
        r.per_step_accepted for m in measured if (m.cell.spec.name, m.cell.spec.k) == ("ngram", 4) for r in m.records
    ]
    rate = sum(map(sum, accepted)) / (4 * sum(map(len, accepted)))
    assert only(measured, figure="acceptance_rate")["measured"] == pytest.approx(rate)
    assert only(measured, figure="baseline_tokens_per_second")["cell"] == "baseline, T = 0.8, concurrency 1"


def test_the_time_for_a_thousand_characters_counts_characters(measured):
    written = [replace(m, records=tuple(replace(r, text="x" * 82) for r in m.records)) for m in measured]
    row = only(written, figure="baseline_seconds_per_1000_characters")
    assert row["measured"] == pytest.approx(1000 * 0.040 * 41 / 82)
    assert only(measured, figure="seconds_per_1000_characters")["comparable"] == "no", "there is no text"


def test_greedy_agreement_is_told_at_t_0_only(measured):
    def other(m):
        return (
            replace(m, records=(replace(m.records[0], output_token_ids=(1,)), *m.records[1:])) if m.cell.spec.k else m
        )

    apart = [other(m) for m in measured]
    assert only(apart, figure="greedy_agreement", given=SAME | {"temperature": 0})["measured"] == pytest.approx(5 / 6)
    assert only(apart, figure="greedy_agreement")["comparable"] == "no"


def test_of_equally_near_cells_the_fastest_counts(measured):
    """Who claims shows a good setting."""
    row = only(measured, given={"method": "draft_model"})
    assert row["cell"].startswith("draft K=2, T = 0")


def test_looping_outputs_are_left_out(measured):
    def loop(m):
        return replace(m, records=(replace(m.records[0], output_token_ids=tuple(range(8)) * 10), *m.records[1:]))

    row = only([loop(m) for m in measured], figure="acceptance_rate")
    assert row["measured"] == pytest.approx(only(measured, figure="acceptance_rate")["measured"])


def test_claims_without_a_counterpart_stay_claims(measured):
    row = only(measured, figure="other", remark="mind this", first_hand=False)
    assert (row["comparable"], row["cell"]) == ("no", "")
    assert row["why"] == "mind this; not read in the source itself"


def test_four_of_five_accepted_are_five_tokens():
    """The article's picture: 200 ms against 60 ms is 3.3×, not 2.7×."""
    (picture,) = [c for r in load_references() for c in r.claims if c.id == "picture"]
    assert step_arithmetic(picture) == (
        "accepting 4 of 5 drafts yields 5 tokens, not 4: the target adds one of its own; so 200 against 60 ms is 3.3×, "
        "not 2.7×"
    )
    assert step_arithmetic(Claim(id="a", says="", figure="other", value=(1, 1))) == ""


def test_what_ships_stands_beside_any_run(measured):
    table = tables.claims(measured)
    assert len(table) == sum(len(r.claims) for r in load_references())
    assert set(table["comparable"]) == {"partly", "no"}
    assert table.loc[table["claim"].str.contains("4 of 5"), "claimed"].tolist() == ["4 (really 5)"]
    assert table.attrs["sources"]["Leviathan et al. 2023"].endswith("https://arxiv.org/abs/2211.17192")
    assert "3.3×" in repr(show(table))


def test_a_run_without_drafters_has_no_counterparts(sweep):
    table = tables.claims(sweep(drafters=()))
    assert set(table["comparable"]) == {"no"}
    assert table["measured"].isna().all()
