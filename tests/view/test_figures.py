"""Figures hold the numbers of their tables, in the picture language, whatever the table lacks."""

from dataclasses import replace

import numpy as np
import pytest

from labkit.config import Drafter
from labkit.view import figures, findings, style, tables

NOTE = "n = 6 prompts × 1 block · w"


def speedups(measured):
    return tables.speedups(measured)


def by_category(measured):
    return tables.speedups(measured, by="category")


def cold_steps(measured):
    """Of one temperature and concurrency, as ``step_timeline`` asks."""
    table = tables.steps(measured)
    return table[table["temperature"] == 0]


#: Figure → the table it draws, and its title.
FIGURES = {
    figures.speedup_by_k: (speedups, findings.speedup_title),
    figures.acceptance_by_position: (tables.positions, findings.acceptance_title),
    figures.speedup_by_category: (by_category, findings.category_title),
    figures.step_timeline: (cold_steps, findings.timeline_title),
}
EVERY = pytest.mark.parametrize("figure", FIGURES, ids=lambda f: f.__name__)
MEASURED = pytest.mark.parametrize("figure", list(FIGURES)[:3], ids=lambda f: f.__name__)


def drawn(figure, measured, note=NOTE):
    """The table of ``measured`` and the figure of it; serialising it proves that plotly takes every value."""
    table = FIGURES[figure][0](measured)
    made = figure(table, note)
    assert "NaN" not in made.to_json()
    return table, made


def dots(made):
    """Scatter traces that carry an interval."""
    return [t for t in made.data if t.type == "scatter" and t.error_y.array is not None]


def rows(table, trace, drafter, k=None):
    """What ``trace`` should show: the rows of ``drafter`` (at ``k``) at the temperature of its panel."""
    temperature = {"x": 0.0, "x2": 0.8}[trace.xaxis or "x"]
    own = table[(table["drafter"] == drafter) & (table["temperature"] == temperature)]
    return own if k is None else own[own["k"] == k]


# --- builds from anything


@EVERY
@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="one block"),
        pytest.param({"blocks": 3, "jitter": 0.2}, id="three blocks"),
        pytest.param({"temperatures": (0.0,)}, id="one panel"),
        pytest.param({"concurrencies": (1, 8)}, id="four panels"),
        pytest.param({"prompts": 4}, id="too few prompts: no bounds"),
        pytest.param({"drafters": ()}, id="baseline only"),
    ],
)
def test_every_figure_builds(sweep, figure, options):
    _, made = drawn(figure, sweep(**options))
    assert made.layout.template == style.TEMPLATE
    assert NOTE in made.layout.title.text


@EVERY
def test_an_empty_run_is_an_empty_figure_that_says_so(figure):
    _, made = drawn(figure, [])
    assert not made.data
    assert made.layout.title.text.startswith("No")


@EVERY
def test_unknown_numbers_are_not_drawn_as_known(sweep, figure):
    """Whatever may be unknown is; a joint rate is known wherever its row is."""
    table = FIGURES[figure][0](sweep())
    fallible = {"speedup", "low", "high", "with_looping", "conditional", "step_ms", "tokens_per_step", "tpot_ms"}
    made = figure(table.assign(**dict.fromkeys(fallible & set(table), float("nan"))), NOTE)
    assert "NaN" not in made.to_json()
    unknown = [t for t in made.data if "at least" not in (t.name or "")]
    assert all(np.isnan(np.asarray(t.y, dtype=float)).all() for t in unknown if t.type == "scatter")
    assert not [t for t in made.data if t.type == "bar"]


@EVERY
def test_a_figure_leaves_its_table_alone(sweep, figure):
    table = FIGURES[figure][0](sweep())
    before = table.copy(deep=True)
    figure(table, NOTE)
    assert table.equals(before)


# --- titles


@EVERY
def test_titles_are_computed_and_carry_n(sweep, figure):
    measured = sweep(blocks=3, jitter=0.1)
    note = findings.sample_note(tables.speedups(measured), "six prompts")
    table, made = drawn(figure, measured, note)
    expected = table[table["k"] == 4] if figure is figures.acceptance_by_position else table
    title, below = made.layout.title.text.split("<br>")
    assert title == FIGURES[figure][1](expected)
    assert "n = 6 prompts × 3 blocks · six prompts" in below


@MEASURED
def test_axes_name_their_quantity_and_panels_their_place(sweep, figure):
    _, made = drawn(figure, sweep())
    assert made.layout.yaxis.title.text
    assert [a.text for a in made.layout.annotations][:2] == ["T = 0, 1 user", "T = 0.8, 1 user"]


# --- numbers


def test_speedup_by_k_holds_the_table(sweep):
    table, made = drawn(figures.speedup_by_k, sweep(jitter=0.2))
    assert len(made.data) == 4, "two drafters in two panels"
    for trace in made.data:
        own = rows(table, trace, trace.name)
        assert np.floor(trace.x).tolist() == own["k"].tolist() == [2, 4]
        assert list(trace.y) == own["speedup"].tolist()
        assert np.allclose(trace.error_y.array, own["high"] - own["speedup"])
        assert np.allclose(trace.error_y.arrayminus, own["speedup"] - own["low"])


def test_acceptance_by_position_holds_the_table_at_the_largest_k(sweep):
    table, made = drawn(figures.acceptance_by_position, sweep())
    assert len(made.data) == 8
    for trace in made.data:
        drafter, what = trace.name.split(", ")
        own = rows(table, trace, drafter, 4)
        column = {"at least this many": "joint", "given the one before": "conditional"}[what]
        assert np.floor(trace.x).tolist() == [1, 2, 3, 4]
        assert list(trace.y) == own[column].tolist()


def test_speedup_by_category_holds_the_table(sweep):
    table, made = drawn(figures.speedup_by_category, sweep(jitter=0.2, prompts=12))
    assert len(made.data) == 8
    assert made.layout.xaxis.ticktext == ("code", "sql")
    for trace in made.data:
        drafter, k = trace.name.split(" K=")
        own = rows(table, trace, drafter, int(k))
        assert np.round(trace.x).tolist() == [0, 1]
        assert list(trace.y) == own["speedup"].tolist()
        assert np.allclose(trace.error_y.array, own["high"] - own["speedup"])


def test_step_timeline_adds_up(sweep):
    """Five tokens: 5 baseline steps of 40 ms; ngram K = 4 three of 47.6 ms at 5/3 tokens each."""
    _, made = drawn(figures.step_timeline, sweep())
    lanes = {}
    for bar in made.data:
        lanes.setdefault(bar.y[0], []).append((bar.base[0], bar.x[0]))
    assert set(lanes) == {"no speculation", "ngram K=4", "draft K=2"}, "each drafter at its fastest K"
    assert [x for _, x in lanes["no speculation"]] == pytest.approx([40] * 5)
    assert [x for _, x in lanes["ngram K=4"]] == pytest.approx([40 / 1.4 * 5 / 3] * 3)
    for bars in lanes.values():
        ends = np.cumsum([x for _, x in bars])
        assert [base for base, _ in bars] == pytest.approx([0, *ends[:-1]]), "a step starts where the last one ended"
    ends = {name: sum(x for _, x in bars) for name, bars in lanes.items()}
    assert ends == pytest.approx({"no speculation": 200, "ngram K=4": 200 / 1.4, "draft K=2": 200 / 1.1})
    assert {a.text for a in made.layout.annotations} == {"200 ms", "143 ms", "182 ms"}


# --- picture language


@MEASURED
def test_measured_is_a_filled_dot_with_its_interval(sweep, figure):
    _, made = drawn(figure, sweep(jitter=0.2, prompts=12))
    assert dots(made)
    for trace in dots(made):
        assert trace.mode == "markers"
        assert "open" not in (trace.marker.symbol or "circle")
        assert trace.error_y.arrayminus is not None
        assert (np.asarray(trace.error_y.array) >= 0).all()
    assert all("line" not in (t.mode or "") for t in made.data if t.type == "scatter"), "lines are for replays"


def test_rates_that_are_no_joint_rate_are_drawn_otherwise(sweep):
    _, made = drawn(figures.acceptance_by_position, sweep())
    given = [t for t in made.data if "given" in t.name]
    assert {t.marker.symbol for t in given} == {"diamond-open"}
    assert {t.mode for t in given} == {"markers"}


@pytest.mark.parametrize("figure", [figures.speedup_by_k, figures.speedup_by_category], ids=lambda f: f.__name__)
def test_no_gain_is_shaded_down_to_the_lowest_bound(sweep, figure):
    table, made = drawn(figure, sweep(jitter=0.2, prompts=12))
    shades = [s for s in made.layout.shapes if s.fillcolor == style.NO_GAIN]
    assert len(shades) == 2, "one a panel"
    assert all(s.y1 == 1 and s.y0 < table["low"].min() for s in shades)
    assert len([s for s in made.layout.shapes if s.type == "line" and s.y0 == s.y1 == 1]) == 2


def colours_of(made):
    """The colours in which each drafter is drawn."""
    found = {}
    for trace in made.data:
        name = trace.y[0] if trace.type == "bar" else trace.name
        found.setdefault(name.split(",")[0].split(" K=")[0], set()).add(trace.marker.color)
    return found


def undrafted(measurement):
    silent = {"per_step_accepted": (), "per_step_drafted": ()}
    return replace(measurement, records=tuple(replace(r, **silent) for r in measurement.records))


@pytest.mark.parametrize(
    "extra",
    [
        pytest.param([], id="ngram and draft"),
        pytest.param([Drafter(method="medusa", model="x/a-medusa")], id="and one that never drafted"),
    ],
)
def test_a_drafter_has_one_colour_in_every_figure(sweep, extra):
    drafters = [Drafter(method="ngram"), Drafter(method="draft_model", model="demo/draft"), *extra]
    measured = [m if m.cell.spec.method != "medusa" else undrafted(m) for m in sweep(drafters=drafters)]
    found = [colours_of(drawn(figure, measured)[1]) for figure in FIGURES]
    for drafter in ("ngram", "draft"):
        assert len(set.union(*(colours[drafter] for colours in found))) == 1
    assert found[0]["ngram"] != found[0]["draft"]
    assert found[-1]["no speculation"] == {style.BASELINE}


@MEASURED
def test_the_legend_names_each_mark_once(sweep, figure):
    _, made = drawn(figure, sweep())
    names = [t.name for t in made.data if t.showlegend]
    assert len(names) == len(set(names)) == len({t.name for t in made.data})


@MEASURED
@pytest.mark.parametrize("missing", ["ngram", "draft"])
def test_a_drafter_without_a_figure_in_one_panel(sweep, figure, missing):
    """It was not measured at T = 0: panels stay in order, and the legend still names it."""
    measured = [m for m in sweep() if m.cell.spec.name != missing or m.cell.sampling.temperature]
    _, made = drawn(figure, measured)
    assert {t.name for t in made.data if t.showlegend} == {t.name for t in made.data}
    assert [a.text for a in made.layout.annotations][:2] == ["T = 0, 1 user", "T = 0.8, 1 user"]


# --- text of others


@EVERY
def test_a_name_that_looks_like_markup_is_text(sweep, figure):
    """plotly draws ``<b>`` as bold, drops other tags, and makes links."""
    evil = Drafter(method="ngram", name="<a href='x'>n</a>")
    measured = [replace(m, records=tuple(replace(r, category=f"<b>{r.category}") for r in m.records))
                for m in sweep(drafters=(evil,))]  # fmt: skip
    _, made = drawn(figure, measured, note="<i>n = 6")
    shown = [f"{t.name} {t.hovertemplate} {t.y}" for t in made.data] + [f"{made.layout.title} {made.layout.xaxis}"]
    assert not [text for text in shown if "<a " in text or "<b>" in text or "<i>" in text]
    assert "&lt;a href='x'&gt;n&lt;/a&gt;" in "".join(shown)
    assert "&lt;i&gt;n = 6" in made.layout.title.text


def test_a_band_has_no_line_in_the_legend(sweep):
    made = figures.every_k(tables.outlook(sweep(gains={("ngram", 2): 1.2, ("ngram", 4): 1.4})), NOTE)
    bands = [t for t in made.data if t.fill == "toself"]
    assert bands
    assert not any(t.showlegend for t in bands)
