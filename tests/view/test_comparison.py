"""Two runs as a table, in sentences, drawn, and as the verdict of a report."""

import json
import re
from dataclasses import replace

import pytest

from labkit.analysis.compare import compare
from labkit.config import Drafter
from labkit.view import figures, tables
from labkit.view.comparison import changes_of, headline, sentences
from labkit.view.present import SUMMARY_MIME, show, summary
from labkit.view.style import colours


@pytest.fixture(scope="module")
def before(sweep):
    return sweep(blocks=3, prompts=16, jitter=0.02)


@pytest.fixture(scope="module")
def after(sweep):
    """The draft at K = 4 takes 20 % longer, its third draft position is lost."""

    def worse(r):
        lost = tuple(min(a, 2) for a in r.per_step_accepted)
        return replace(r, t_last=r.t_first + 1.2 * r.decode_seconds, per_step_accepted=lost)

    return [
        replace(m, records=tuple(map(worse, m.records))) if (m.cell.spec.name, m.cell.spec.k) == ("draft", 4) else m
        for m in sweep(blocks=3, prompts=16, jitter=0.02, seed=1)
    ]


@pytest.fixture(scope="module")
def table(before, after):
    return tables.changes(before, after)


def test_a_row_for_each_figure_of_each_cell(table, before, after):
    found = compare(before, after)
    assert len(table) == len(found.figures)
    row = table.query("drafter == 'draft' and k == 4 and temperature == 0.8 and figure == 'tpot'").iloc[0]
    own = next(f for f in found.figures if f.after_key == ("draft", "draft_model", 4, 0.8, 1) and f.figure == "tpot")
    assert (row["change"], row["low"], row["high"], row["p"]) == (
        own.change.mid,
        own.change.low,
        own.change.high,
        own.p,
    )
    assert (row["before"], row["after"]) == pytest.approx((1000 * own.before, 1000 * own.after))
    assert (row["verdict"], row["launches"], row["prompts"]) == ("regression", "3 and 3", 16)


def test_rows_are_in_order_and_positions_whole(table):
    assert table[["temperature", "concurrency", "drafter", "k"]].equals(
        table[["temperature", "concurrency", "drafter", "k"]].sort_values(
            ["temperature", "concurrency", "drafter", "k"]
        )
    )
    assert {type(p) for p in table["position"]} == {int, type(None)}
    assert "–" in repr(show(table))


def test_the_sentences_say_what_changed_and_how_much(table):
    said = table.attrs["sentences"]
    assert said[0] == (
        "Regression: 10 of 54 figures are worse beyond chance "
        "(equal runs are called changed in 1 % of comparisons at most)."
    )
    assert re.match(
        r"Regression: draft K=4, T = 0, concurrency 1: time per token \+\d+\.\d % \[\+\d+\.\d %, \+\d+\.\d %\]\.",
        said[1],
    )
    assert said[7] == "… and 4 more in the table."
    assert len(said) == 8


def test_no_change_is_said_so(before):
    found = compare(before, before)
    assert headline(found) == "No change: none of 54 figures differs beyond chance"
    assert len(sentences(found)) == 1


def test_better_is_said_too(before, after):
    assert headline(compare(after, before)) == ("Improvement: 10 of 54 figures are better beyond chance, none is worse")


def test_a_moved_anchor_is_explained(before, sweep):
    def slow(r):
        return replace(r, t_last=r.t_first + 1.1 * r.decode_seconds)

    moved = [replace(m, records=tuple(map(slow, m.records))) for m in sweep(blocks=3, prompts=16, jitter=0.02, seed=1)]
    said = " ".join(sentences(compare(before, moved)))
    assert re.search(r"The baseline itself is (9|10)\.\d % slower \(baseline, T = 0, concurrency 1\)", said)


def test_single_launches_drift_and_lonely_cells_are_told(sweep):
    few = sentences(compare(sweep(blocks=1), sweep(blocks=1, temperatures=(0.0,))))
    assert few[1].startswith("Too few launches were repeated")
    assert few[2].startswith("Not compared: ")
    assert "baseline, T = 0.8, concurrency 1: only before" in few[2]
    assert few[3] == "A cell is noticed from 12 % slower on; more blocks, or engines that take turns, show less."
    assert len(few) == 4

    def late(m):
        return replace(m, records=tuple(replace(r, t_last=r.t_first + 1.3 * r.decode_seconds) for r in m.records))

    drifting = [late(m) if m.cell.block == 2 else m for m in sweep(blocks=3)]
    told = [line for line in sentences(compare(drifting, drifting)) if "drift" in line]
    assert told[0] == (
        "The anchor cell baseline, T = 0, concurrency 1 moved inside the run before: drift +30.0 % in time per token "
        "(40.00, 40.00, 52.00 by block)."
    )
    assert len(told) == 2


def test_the_drift_of_an_anchor_cell_is_said_in_words(sweep):
    """The acceptance length of the largest K: 3.05, 2.96, 2.84 in the three blocks."""
    accepted = {0: 205, 1: 196, 2: 184}

    def drifting(m):
        whole, rest = divmod(accepted[m.cell.block], 100)
        steps = (whole + 1,) * rest + (whole,) * (100 - rest)
        records = tuple(replace(r, per_step_accepted=steps, per_step_drafted=(4,) * 100) for r in m.records)
        return replace(m, records=records) if m.cell.spec.k else m

    run = [drifting(m) for m in sweep(blocks=3, temperatures=(0.0,))]
    said = " ".join(sentences(compare(run, run)))
    assert "drift −6.9 % in acceptance length (3.05, 2.96, 2.84 by block)" in said


def test_too_few_prompts_are_said_so(sweep):
    assert headline(compare(sweep(prompts=4), sweep(prompts=4))).startswith("Nothing could be judged")


def test_another_name_of_a_drafter_is_shown(sweep):
    drafters = [Drafter(method="draft_model", model=f"x/{name}") for name in ("old", "new")]
    runs = [sweep(drafters=(d,), gains={(d.name, k): g for k, g in ((2, gain), (4, gain))}, blocks=3, jitter=0.01)
            for d, gain in zip(drafters, (1.0, 1.5), strict=True)]  # fmt: skip
    assert "Improvement: old → new K=2, T = 0, concurrency 1: time per token −33" in " ".join(sentences(compare(*runs)))


# --- drawn


def test_the_figure_holds_the_numbers_of_the_table(table):
    made = figures.change_by_cell(table, "note")
    assert "NaN" not in made.to_json()
    assert made.layout.title.text.startswith("Regression: 10 of 54 figures are worse beyond chance<br>")
    tpot = [t for t in made.data if (t.xaxis or "x") == "x"]
    drawn = sorted(x for t in tpot for x in t.x)
    assert drawn == pytest.approx(sorted(100 * table.query("figure == 'tpot'")["change"]))
    assert {t.name: t.marker.color for t in tpot} == colours(table.attrs["drafters"]) | {"baseline": "#767676"}
    assert [a.text for a in made.layout.annotations] == [
        "time per token", "speedup", "acceptance length", "joint rate by position",
    ]  # fmt: skip


def test_every_cell_has_a_place_of_its_own(table):
    made = figures.change_by_cell(table)
    assert len(made.layout.yaxis.ticktext) == 10
    assert "draft K=4<br>T = 0.8, 1 user" in made.layout.yaxis.ticktext
    spread = {round(y % 1, 2) for t in made.data if t.xaxis == "x4" for y in t.y}
    assert len(spread) == 4, "a height for each draft position"


def test_worse_is_shaded_on_its_side(table):
    shapes = [s for s in figures.change_by_cell(table).layout.shapes if s.type == "rect"]
    assert [s.x1 > 0 for s in shapes] == [True, False, False, False]


def test_against_other_drafters_is_drawn_where_there_are_enough(sweep):
    drafters = [Drafter(method="draft_model", model=f"x/{name}") for name in ("one", "other", "third")]
    run = sweep(drafters=drafters, blocks=3, jitter=0.01)
    made = figures.change_by_cell(tables.changes(run, run))
    assert [a.text for a in made.layout.annotations][:3] == ["time per token", "against other drafters", "speedup"]
    shapes = [s for s in made.layout.shapes if s.type == "rect"]
    assert [s.x1 > 0 for s in shapes] == [True, True, False, False, False]


def test_a_run_against_itself_is_drawn(before):
    made = figures.change_by_cell(tables.changes(before, before))
    assert {x for t in made.data for x in t.x} == {0}


def test_figures_without_intervals_are_drawn(sweep):
    made = figures.change_by_cell(tables.changes(sweep(prompts=4), sweep(prompts=4)))
    assert "NaN" not in made.to_json()


# --- the verdict of a report


def test_a_summary_against_another_run(before, after, store):
    options = {"blocks": 3}
    runs = store(before, **options), store(after, seed=1, **options)
    made = summary(runs[1], against=runs[0])
    data = made._repr_mimebundle_()[SUMMARY_MIME]
    assert data["verdict"] == changes_of(compare(before, after)).attrs["sentences"]
    assert (data["run"], data["best"], data["speedup"]) == (runs[1].id, None, None)
    json.dumps(data)
