"""The picture language: grey baseline, one colour a drafter, template and title on every figure."""

import itertools
import re

import plotly.graph_objects as go
import pytest

from labkit.config import Drafter
from labkit.view import figures, style, tables

METHODS = [
    ("ngram", "ngram"), ("draft", "draft_model"), ("head", "eagle3"), ("tree", "suffix"), ("e1", "eagle"), ("m", "mtp")
]  # fmt: skip


def test_the_baseline_is_grey_and_nobody_else_is():
    chosen = style.colours([("baseline", None), *METHODS])
    assert chosen["baseline"] == style.BASELINE
    red, green, blue = re.findall("..", style.BASELINE.removeprefix("#"))
    assert red == green == blue
    assert list(chosen.values()).count(style.BASELINE) == 1


def test_without_drafters_only_the_baseline_has_a_colour():
    assert style.colours([]) == {"baseline": style.BASELINE}


def test_drafters_of_all_methods_differ():
    chosen = style.colours(METHODS)
    assert len(set(chosen.values())) == len(METHODS) + 1


def test_two_drafters_of_one_method_differ():
    chosen = style.colours([("a", "draft_model"), ("b", "draft_model"), ("ngram", "ngram")])
    assert len(set(chosen.values())) == 4


def test_more_drafters_than_colours_still_have_one():
    many = [(f"d{i:02}", "medusa") for i in range(12)]
    chosen = style.colours(many)
    assert {name for name, _ in many} < set(chosen)
    assert style.BASELINE not in [chosen[name] for name, _ in many]


@pytest.mark.parametrize("order", list(itertools.permutations(METHODS[:3])))
def test_the_order_of_rows_does_not_matter(order):
    assert style.colours([*order, *order]) == style.colours(METHODS[:3])


@pytest.mark.parametrize(
    "others",
    [
        pytest.param([("draft", "draft_model"), ("head", "eagle3")], id="other methods"),
        pytest.param([("a-medusa", "medusa")], id="a method without a colour of its own"),
    ],
)
def test_a_drafter_keeps_its_colour_whoever_is_beside_it(others):
    """Tables of one run hold different drafters: one that never drafted is in no table of positions."""
    assert style.colours([("ngram", "ngram"), *others])["ngram"] == style.colours([("ngram", "ngram")])["ngram"]


def test_of_two_drafters_of_one_method_each_keeps_its_colour(sweep):
    """A table remembers the drafters of its run, also where rows of one are left out."""
    drafters = [Drafter(method="draft_model", model=f"x/{name}") for name in ("a", "b")]
    table = tables.speedups(sweep(drafters=drafters))
    whole, part = (figures.speedup_by_k(rows) for rows in (table, table[table["drafter"] == "b"]))
    assert [t.marker.color for t in part.data] == [t.marker.color for t in whole.data if t.name == "b"]


def test_a_titled_figure_has_template_title_note_and_height():
    figure = style.titled(go.Figure(), "ngram is faster", "n = 6 prompts", height=300)
    assert figure.layout.template == style.TEMPLATE
    title, note = figure.layout.title.text.split("<br>")
    assert title == "ngram is faster"
    assert re.sub("<[^>]*>", "", note) == "n = 6 prompts"
    assert figure.layout.height == 300
