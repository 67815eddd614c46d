"""What audits and task guards found, as tables, in the summary and on the panel's card."""

from dataclasses import replace

import numpy as np
import pytest

from labkit.audited import Audited
from labkit.config import Drafter
from labkit.view import audits, figures, findings, present, tables
from labkit.view.board_card import card_html
from labkit.view.lab import Lab
from labkit.view.selection import Selection
from tests.view.audited_run import audited

FAULTY = ("recovered_from_p",)


@pytest.fixture
def run(sweep, store):
    """Two drafters; "draft" passes at T = 0 and loses at T = 0.8, "ngram" was not audited."""
    made = store(sweep())
    made.save_audit(audited(temperature=0.0))
    made.save_audit(audited(faults=FAULTY))
    return made


def test_what_was_checked_of_each_drafter_and_temperature(run):
    table = audits.losslessness(run)
    assert list(table) == ["drafter", "k", "temperature", "checked", "verdict", "n", "finding"]
    shown = table[table["checked"] != "valid answers"]
    assert shown[["drafter", "temperature", "verdict"]].values.tolist() == [
        ["draft", 0.0, "no fault found"], ["draft", 0.8, "fault"],
        ["ngram", 0.0, "not audited"], ["ngram", 0.8, "not audited"],
    ]  # fmt: skip
    assert shown["checked"].dropna().tolist() == ["greedy text", "distribution of tokens"]
    assert shown["n"].iloc[0] == 40
    assert shown["finding"].iloc[1].startswith("recovered: the token that replaces a rejected draft")
    assert "tells whether it changes the text" in shown["finding"].iloc[2]
    guards = table[table["checked"] == "valid answers"]
    assert guards[["drafter", "temperature", "verdict", "n"]].values.tolist() == [
        [drafter, temperature, "no drop", 12] for drafter in ("draft", "ngram") for temperature in (0.0, 0.8)
    ]  # fmt: skip
    assert guards["finding"].iloc[0].startswith("K = 2, 1 at once: python 0% with it, 0% without")
    assert "no drop" in repr(present.show(table))
    assert "nan" not in repr(present.show(table))


def test_a_drop_of_valid_answers_has_a_row_of_its_own_and_bars_the_setting(sweep, store):
    """All SQL valid without speculation, none with ngram at K = 4 and T = 0."""

    def answers(m):
        drop = (m.cell.spec.name, m.cell.spec.k, m.cell.sampling.temperature) == ("ngram", 4, 0.0)
        records = (replace(r, category="sql", text="SELECT" if drop else "SELECT 1;") for r in m.records)
        return replace(m, records=tuple(records))

    run = store([answers(m) for m in sweep(prompts=20)])
    table = audits.losslessness(run)
    (drop,) = table[table["verdict"] == "a drop"].to_dict("records")
    assert (drop["drafter"], drop["k"], drop["temperature"], drop["n"]) == ("ngram", 4, 0.0, 20)
    assert drop["finding"] == "K = 4, 1 at once: sql 0% with it, 100% without"
    _, barred = audits.allowed(tables.speedups(run.measurements()), run)
    assert barred == [
        "ngram K=4 at T = 0 is left out: its answers are valid sql less often (100% without speculation, 0% with it, "
        "20 prompts)."
    ]


def test_what_would_have_been_found_is_said_where_nothing_was(store, sweep):
    run = store(sweep())
    run.save_audit(audited())
    said = audits.losslessness(run).set_index("verdict").loc["no fault found", "finding"]
    steps = audits.audit_tests(run).set_index("test").loc["steps with drafts"]
    assert said == f"a temperature {steps['visible'] - 1:.0%} too high would have been found"


def test_what_could_not_be_checked_stands_beside_the_verdict(store, sweep):
    run, passed = store(sweep()), audited()
    run.save_audit(replace(passed, found=passed.found | {"unavailable": ["names only"]}))
    assert audits.losslessness(run)["finding"].str.endswith("; names only").any()


def test_an_audit_that_could_not_be_made(store, sweep):
    run = store(sweep())
    found = {"verdict": "refused", "why": ["cannot audit: all 8 requests failed"], "temperature": 0.8}
    run.save_audit(Audited(drafter="draft", k=2, temperature=0.8, engine="vllm", at=0.0, found=found))
    row = audits.losslessness(run).set_index("verdict").loc["refused"]
    assert row["finding"] == "cannot audit: all 8 requests failed"
    assert audits.audit_tests(run).empty
    assert audits.partings(run).empty


def test_tests_of_the_tested_and_of_the_control(run):
    tests = audits.audit_tests(run)
    found = audited(faults=FAULTY).found
    assert tests["test"].tolist() == [test["test"] for test in found["tests"]]
    assert tests["fault"].sum() == sum(test["fault"] for test in found["tests"]) > 0
    assert tests.loc[0, ["low", "ratio", "high"]].tolist() == found["tests"][0]["ratio"]
    assert tests["p"].between(0, 1).all()
    control = audits.audit_tests(run, control=True)
    assert control["test"].tolist() == ["all tokens", "category code", "category prose"]
    assert not control["fault"].any()


def test_partings_of_greedy_text(run):
    table = audits.partings(run)
    assert table[["arm", "prompts", "parted", "beyond_near_tie"]].values.tolist() == [
        ["speculation", 40, 3, 0], ["baseline again", 40, 1, 0], ["baseline in other batches", 40, 0, 0],
    ]  # fmt: skip
    assert (table["low"] <= table["rate"]).all()
    assert (table["rate"] <= table["high"]).all()


def test_without_audits_the_tables_have_their_columns(store, sweep):
    run = store(sweep(drafters=()), drafters=())
    assert tables.losslessness(run).empty
    assert "ratio" in tables.audit_tests(run)
    assert "parted" in tables.partings(run)
    drawn = figures.audit_ratios(tables.audit_tests(run), findings.audit_note(tables.audit_tests(run), "prompts"))
    assert drawn.layout.title.text.startswith("Nothing was audited above T = 0")


# --- what they leave of the speedups


def test_a_fault_leaves_a_setting_out_of_the_verdict(run):
    table, barred = audits.allowed(tables.speedups(run.measurements()), run)
    assert set(zip(table["drafter"], table["temperature"], strict=True)) == {
        ("draft", 0.0), ("ngram", 0.0), ("ngram", 0.8),
    }  # fmt: skip
    assert len(barred) == 2
    assert barred[0].startswith("draft K=2 at T = 0.8 is left out: an audit at T = 0.8 found that it changes the text")


def test_the_summary_never_switches_a_faulty_drafter_on(sweep, store):
    gains = {("ngram", 2): 1.2, ("ngram", 4): 1.4, ("draft", 2): 3.0, ("draft", 4): 3.0}
    run = store(sweep(gains=gains))
    assert present.summary(run).data["best"].startswith("draft")
    for temperature in (0.8, 1.0):
        run.save_audit(audited(temperature=temperature, faults=FAULTY))
    said = present.summary(run).data["verdict"]
    assert any("At T = 0.8 with 1 user: switch on ngram K=4" in line for line in said)
    assert any("draft K=2 at T = 0.8 is left out" in line for line in said)
    assert any("At T = 0 with 1 user: switch on draft" in line for line in said)


def test_a_table_without_rows_is_left_as_it_is(store):
    empty = tables.speedups([])
    left, barred = audits.allowed(empty, store([]))
    assert list(left) == list(empty)
    assert barred == []


# --- drawn


def test_the_figure_holds_the_tables_numbers(run):
    table = audits.audit_tests(run)
    drawn = figures.audit_ratios(table, "note")
    dots = next(trace for trace in drawn.data if trace.name == "draft")
    known = table.dropna(subset=["ratio"]).query("test != 'outside'")
    assert np.array(dots.x) == pytest.approx(known["ratio"].to_numpy())
    assert np.array(dots.error_x.array) == pytest.approx((known["high"] - known["ratio"]).to_numpy())
    ticks = next(trace for trace in drawn.data if trace.name == "draft, would have been found")
    assert ticks.marker.symbol == "line-ns-open"
    assert drawn.layout.title.text.startswith("draft K=2 at T = 0.8 is not lossless: recovered token (p = ")


def test_the_title_of_a_figure_without_a_fault(store, sweep):
    run = store(sweep())
    run.save_audit(audited())
    table = audits.audit_tests(run)
    whole = table.set_index("test").loc["all tokens"]
    assert findings.audit_title(table) == (
        f"No test finds a fault; a temperature {whole['visible'] - 1:.0%} too high would have been found in all"
    )
    assert findings.audit_note(table, "six") == (
        f"n = {whole['tokens']:,} to {whole['tokens']:,} tokens an audit, intervals 95 % · six"
    )


# --- the panel


@pytest.mark.parametrize(
    ("drafter", "temperature", "words"),
    [
        ("draft", 0.8, ["found a fault: recovered: the token", "Do not switch it on: an audit at T = 0.8"]),
        ("draft", 0.0, ["The audit at T = 0 (K = 2, 2400 tokens) found no fault."]),
        ("ngram", 0.8, ["Not audited: &#x27;labkit audit RUN&#x27;"]),
    ],
)
def test_the_card_says_what_audits_say(run, drafter, temperature, words):
    lab = Lab(run)
    at = Selection(drafter=drafter, k=2, temperature=temperature, concurrency=1)
    answer = lab.answer(at)
    card = card_html(answer, lab.plan.engine, lab.spec(at))
    assert len(answer.lossless) == len(words)
    for part in words:
        assert part in card


def test_the_panel_does_not_begin_with_a_faulty_drafter(sweep, store):
    gains = {("ngram", 2): 1.2, ("ngram", 4): 1.4, ("draft", 2): 3.0, ("draft", 4): 3.0}
    run = store(sweep(gains=gains, temperatures=(0.8,)), temperatures=(0.8,))
    assert Lab(run).default().drafter == "draft"
    run.save_audit(audited(faults=FAULTY))
    assert Lab(run).default().drafter == "ngram"


def test_text_from_outside_is_escaped(sweep, store):
    evil = Drafter(method="ngram", name="<img src=x>")
    run = store(sweep(drafters=(evil,)), drafters=(evil,))
    found = {"verdict": "fault", "why": ["<script>x</script>"]}
    run.save_audit(Audited(drafter=evil.name, k=2, temperature=0.8, engine="e", at=0.0, found=found))
    lab = Lab(run)
    at = Selection(drafter=evil.name, k=2, temperature=0.8, concurrency=1)
    for html in (
        card_html(lab.answer(at), lab.plan.engine, lab.spec(at)),
        present.show(audits.losslessness(run))._repr_mimebundle_()["text/html"],
        present.summary(run)._repr_mimebundle_()["text/html"],
    ):
        assert "<script>" not in html
        assert "&lt;script&gt;" in html
