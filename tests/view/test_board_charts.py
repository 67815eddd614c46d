"""Charts of the board: where the mark stands, and a chart as a figure of its own."""

import plotly.graph_objects as go
import pytest

from labkit.view.board_charts import charts, whole
from labkit.view.lab import Lab
from labkit.view.selection import Selection
from labkit.view.style import colours

AT = Selection(drafter="ngram", k=4, temperature=0.0, concurrency=1)


@pytest.fixture(scope="module")
def lab(sweep, store):
    return Lab(store(sweep()))


def drawn(lab, **changes):
    answer = lab.answer(Selection(**AT.__dict__ | changes))
    return answer, charts(answer, largest_k=8)


def test_the_mark_is_at_the_chosen_setting(lab):
    answer, made = drawn(lab)
    colour = colours(answer.drafters)["ngram"]
    assert made[0]["mark"] == {"x": 4, "y": answer.chosen["speedup"], "colour": colour}
    assert made[2]["mark"] == {"x": 4, "y": answer.chosen["tokens_per_step"], "colour": colour}
    assert made[4]["mark"] == {"x": 0.0, "y": answer.chosen["speedup"], "colour": colour}
    assert made[1]["mark"] is None


def test_where_nothing_is_known_the_mark_has_no_height(sweep, store):
    lab = Lab(store([m for m in sweep() if m.cell.spec.k or m.cell.concurrency == 4]))
    _, made = drawn(lab, concurrency=1)
    assert made[0]["mark"]["x"] == 4
    assert made[0]["mark"]["y"] is None
    assert len(whole(made[0])["layout"]["shapes"]) == len(made[0]["layout"]["shapes"]) + 1, "the line alone"


def test_a_move_of_k_leaves_what_does_not_depend_on_it_as_it_is(lab):
    """What a page compares to know that it need not draw a chart anew."""
    (_, four), (_, two) = drawn(lab), drawn(lab, k=2)
    for i in (0, 2):
        assert (four[i]["data"], four[i]["layout"]) == (two[i]["data"], two[i]["layout"])
        assert four[i]["mark"] != two[i]["mark"]
        assert four[i]["title"] != two[i]["title"]
    assert four[1]["data"] != two[1]["data"]


def test_a_whole_chart_says_title_and_mark_itself(lab):
    for chart in drawn(lab)[1]:
        if "html" in chart:
            continue
        before = repr(chart)
        figure = go.Figure(whole(chart))
        assert figure.layout.title.text == chart["title"]
        added = len(figure.layout.shapes) - len(chart["layout"].get("shapes", []))
        assert added == (2 if chart["mark"] else 0)
        assert repr(chart) == before, "the chart itself stays as it is"
