"""The grid of a page without a kernel against the panel's own answers, its cap, and its HTML."""

import json
import random
import re
from dataclasses import replace
from html import escape
from math import prod

import pytest

import labkit
from labkit.config import Drafter
from labkit.view import static_board
from labkit.view.board_charts import charts
from labkit.view.board_html import board_html
from labkit.view.lab import Lab
from labkit.view.packed import unpack
from labkit.view.selection import ALL, Selection
from labkit.view.static_board import BOARD_MIME, StaticBoard, board_axes
from tests.view.test_page import Elements

LOADS = {"temperatures": (0.0, 0.5, 0.8), "concurrencies": (1, 4)}


@pytest.fixture(scope="module")
def recorded():
    return Lab(labkit.recorded("drafters"))


@pytest.fixture(scope="module")
def lab(sweep, store):
    """Two drafters, three temperatures, two loads."""
    return Lab(store(sweep(jitter=0.2, **LOADS), **LOADS))


@pytest.fixture(scope="module")
def board(lab):
    return StaticBoard(lab, lab.default())


@pytest.fixture(scope="module")
def data(board):
    return board.data()


class Page:
    """The script's inputs as the script reads them: controls to a place of the grid, a place to what is drawn."""

    def __init__(self, data):
        self.axes = data["axes"]
        self.trees, self.roots = unpack(data["packed"])

    def at(self, **values):
        place = 0
        for axis in self.axes:
            place = place * len(axis["values"]) + list(axis["values"]).index(values[axis["name"]])
        drawn, card = self.roots[place]
        return [self.trees[chart] for chart in drawn], "".join(self.trees[part] for part in card)


def same(there, here):
    """Equal, numbers to four digits."""
    if isinstance(here, dict):
        return there.keys() == here.keys() and all(same(there[key], here[key]) for key in here)
    if isinstance(here, list | tuple):
        return len(there) == len(here) and all(map(same, there, here))
    if isinstance(here, float):
        return there == pytest.approx(here, rel=1e-4, abs=1e-9, nan_ok=True) if here == here else there is None
    return there == here


# --- the same numbers as the panel


@pytest.mark.parametrize("which", ["lab", "recorded"])
def test_random_points_of_the_grid_are_the_panels_answers(request, which):
    asked = request.getfixturevalue(which)
    made = StaticBoard(asked, asked.default())
    page, draw = Page(made.data()), random.Random(7)
    for _ in range(150):
        values = {axis.name: draw.choice(axis.values) for axis in made.axes}
        at = Selection(**values, interpolate=True)
        answer = asked.answer(at)
        drawn, card = page.at(**values)
        assert same(drawn, charts(answer, largest_k=asked.options.largest_k)), values
        assert all(escape(line) in card for line in answer.missing)
        if answer.chosen and answer.chosen["speedup"] == answer.chosen["speedup"]:
            assert f"{answer.chosen['speedup']:.2f}×" in card


def test_figures_of_the_rows_are_in_the_drawn_data(lab, data):
    """Not only drawn by the same code: the speedups are those of the rows."""
    answer = lab.answer(Selection(drafter="ngram", k=2, temperature=0.8, concurrency=4))
    drawn, _ = Page(data).at(drafter="ngram", k=2, temperature=0.8, concurrency=4, category=ALL)
    dots = next(t for t in drawn[0]["data"] if "ngram, measured" in t.get("hovertemplate", ""))
    rows = [row for row in answer.rows if row["drafter"] == "ngram" and row["kind"] == "measured"]
    assert dots["x"] == [row["k"] for row in rows] == [2, 4]
    assert dots["y"] == pytest.approx([row["speedup"] for row in rows], rel=1e-4)
    assert dots["error_y"]["array"] == pytest.approx([row["high"] - row["speedup"] for row in rows], rel=1e-4)


def test_between_the_measured_temperatures_it_is_interpolated(lab, data):
    drawn, card = Page(data).at(drafter="ngram", k=2, temperature=0.3, concurrency=1, category=ALL)
    wanted = lab.answer(Selection(drafter="ngram", k=2, temperature=0.3, concurrency=1, interpolate=True)).chosen
    assert wanted["kind"] == "interpolated"
    assert f"{wanted['speedup']:.2f}× no interval" in card or "(interpolated" in card
    assert any("interpolated" in trace.get("hovertemplate", "") for trace in drawn[0]["data"])


def test_it_begins_where_the_panel_stands(lab, monkeypatch):
    monkeypatch.setattr(static_board, "LARGEST", 100)
    start = Selection(drafter="draft", k=4, temperature=0.8, concurrency=4, category="sql", confidence=0.9)
    data = StaticBoard(lab, start).data()
    values = {a["name"]: a["values"][i] for a, i in zip(data["axes"], data["start"], strict=True)}
    assert values == {"drafter": "draft", "k": 4, "temperature": 0.8, "concurrency": 4, "category": "sql"}
    assert data["notes"][0] == "90% intervals"
    assert data["notes"][-1] == "Left out to keep this page small: kinds of prompt other than 'sql'."
    assert StaticBoard(lab, replace(start, language="en")).data()["notes"][0] == "90% intervals; prompts in en only"


# --- the cap


def test_nothing_is_left_out_of_a_small_grid(lab):
    axes, left_out = board_axes(lab, lab.default(), "en", largest=5000)
    assert {axis.name: axis.values for axis in axes} == {
        "drafter": ("ngram", "draft"), "k": tuple(range(1, 9)), "concurrency": (1, 4), "category": (ALL, "code", "sql"),
        "temperature": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8),
    }  # fmt: skip
    assert left_out == []
    assert dict(zip(axes[2].values, axes[2].texts, strict=True))[0.5] == "0.5"
    assert axes[2].texts[1] == "0.1 (interpolated)"


@pytest.mark.parametrize(
    ("largest", "points", "left"),
    [
        (863, 2 * 8 * 3 * 2 * 3, 1), (287, 2 * 8 * 3 * 2, 2), (95, 2 * 4 * 3 * 2, 3), (12, 2 * 1 * 2 * 2, 4),
        (1, 2, 5),
    ],
)  # fmt: skip
def test_a_large_grid_is_thinned_and_says_so(lab, largest, points, left):
    start = lab.default()
    axes, left_out = board_axes(lab, start, "en", largest=largest)
    assert prod(len(axis.values) for axis in axes) == points, "the drafters stay, whatever is asked"
    assert len(left_out) == left
    assert left_out[0] == "Left out to keep this page small: temperatures between the measured ones."
    for axis in axes:
        assert getattr(start, axis.name) in axis.values, "where it begins is kept"


def test_a_board_of_many_points_is_small(board, data):
    assert len(list(board.selections())) == 2 * 8 * 9 * 2 * 3
    assert len(data["packed"]) < 200 * len(list(board.selections()))


def test_a_grid_that_is_too_large_packed_is_thinned_further(lab, monkeypatch):
    monkeypatch.setattr(static_board, "ROOM", 10_000)
    data = StaticBoard(lab, lab.default()).data()
    assert len(data["packed"]) <= 10_000
    assert len(data["notes"]) > 1
    assert len(Page(data).roots) == prod(len(axis["values"]) for axis in data["axes"])


def test_a_grid_that_cannot_be_thinned_stays(lab, monkeypatch):
    monkeypatch.setattr(static_board, "ROOM", 10)
    data = StaticBoard(lab, lab.default()).data()
    assert [len(axis["values"]) for axis in data["axes"]] == [2, 1, 1, 1, 1], "the drafters stay"


def test_a_table_of_a_large_run_holds_all_prompts_together(lab, board, monkeypatch):
    monkeypatch.setattr(static_board, "_ROWS", 1)
    kinds = {line.split(",")[0] for line in board._table().splitlines()[1:]}
    assert kinds == {ALL}


# --- what a notebook stores, and its HTML


def test_the_bundle_has_a_card_for_other_viewers_and_the_table(lab, board, monkeypatch):
    monkeypatch.setenv("LABKIT_HEADLESS", "1")
    bundle = board._repr_mimebundle_()
    assert bundle["text/html"].startswith("<div class='labkit-card'><h3>ngram K=4, T = 0, 1 user: ")
    assert bundle["text/plain"].startswith("ngram K=4, T = 0, 1 user: ")
    head, *lines = bundle[static_board.TABLE_MIME]["csv"].splitlines()
    assert head.startswith("category,drafter,method,k,temperature,concurrency,kind,source,speedup,low,high")
    wanted = [row for kind in (ALL, "code", "sql") for row in lab.known(replace(lab.default(), category=kind))]
    assert len(lines) == len(wanted)
    assert float(lines[0].split(",")[8]) == wanted[0]["speedup"], "all digits"
    assert set(bundle) == {"text/plain", "text/html", BOARD_MIME, static_board.TABLE_MIME}


def test_where_a_notebook_is_open_it_is_a_card(board, monkeypatch):
    monkeypatch.delenv("LABKIT_HEADLESS", raising=False)
    bundle = board._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert "The controls are in the exported report" in bundle["text/html"]


def test_a_run_with_nothing_to_compare_says_so(sweep, store):
    alone = labkit.figures.board(store(sweep(drafters=()), drafters=()))
    assert "holds the baseline only" in repr(alone)
    assert BOARD_MIME not in alone._repr_mimebundle_()
    assert isinstance(labkit.figures.board(labkit.recorded("drafters")), StaticBoard)


def test_every_control_is_there_and_stands_at_the_start(data):
    html = board_html(data)
    page = Elements(html)
    assert page.tags.count("select") == 2
    assert re.findall(r'<option value="(\d)" selected>([^<]*)<', html) == [("0", "ngram (ngram)"), ("0", "all")]
    sliders = re.findall(r'type="range" min="0" max="(\d+)" step="1" value="(\d+)"><output>([^<]*)<', html)
    assert sliders == [("7", "3", "4"), ("8", "0", "0"), ("1", "0", "1")]
    assert page.tags.count("script") == 1
    _, card = Page(data).at(drafter="ngram", k=4, temperature=0.0, concurrency=1, category=ALL)
    assert card in html, "readable without a script"
    assert f'<div class="charts">{"<div></div>" * 5}</div>' in html, "places of the charts, so that nothing moves"


def test_a_control_without_a_choice_is_off(recorded):
    html = board_html(StaticBoard(recorded, recorded.default()).data())
    assert len(re.findall(r"<input[^>]* disabled>", html)) == 2, "one temperature, one load"


def test_text_from_outside_is_escaped(sweep, store):
    evil = Drafter(method="ngram", name="</script><img src=x onerror=alert(1)>")
    lab = Lab(store(sweep(drafters=(evil,)), drafters=(evil,)))
    data = StaticBoard(lab, lab.default()).data()
    html = board_html(data)
    assert "img" not in Elements(html).tags
    assert Elements(html).tags.count("script") == 1
    trees, roots = unpack(data["packed"])
    drawn = [trees[place] for charts, _ in roots for place in charts]
    names = {t["name"] for chart in drawn for t in chart.get("data", []) if "name" in t}
    assert any("&lt;img" in name for name in names), "in a chart tags would be markup"
    assert not [name for name in names if "<" in name]
    assert not [chart for chart in drawn if "<img" in chart.get("html", "")]
    assert any("&lt;img" in chart.get("html", "") for chart in drawn)


def test_where_nothing_is_known_a_chart_says_so_and_holds_no_number(sweep, store):
    """Prompts that were not usable, a baseline that is missing: JSON has no NaN."""
    lost = {"temperatures": (0.0, 0.8)}
    measured = [m for m in sweep(**lost) if m.cell.spec.k or not m.cell.sampling.temperature]
    lab = Lab(store(measured, **lost))
    at = Selection(drafter="ngram", k=2, temperature=0.8, concurrency=1)
    drawn = charts(lab.answer(at), largest_k=8)
    assert drawn[3] == {"title": "time for 5 tokens (ms): –", "html": ""}
    json.dumps(drawn, allow_nan=False)


def test_a_secret_is_not_packed(sweep, store, monkeypatch):
    monkeypatch.setenv("DEMO_TOKEN", "planted-7731")
    named = Drafter(method="ngram", name="planted-7731")
    lab = Lab(store(sweep(drafters=(named,)), drafters=(named,)))
    trees, _ = unpack(StaticBoard(lab, lab.default()).data()["packed"])
    assert "planted-7731" not in repr(trees)
    assert "[removed: the value of DEMO_TOKEN]" in repr(trees)
