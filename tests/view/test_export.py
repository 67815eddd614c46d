"""From an executed notebook to the body of a page, without a kernel: what is embedded, folded, refused."""

import base64
import json
import re
from html import unescape
from pathlib import Path

import nbformat
import pandas as pd
import pytest

import labkit
from labkit.errors import ReportError
from labkit.view.export import export
from labkit.view.lab import Lab
from labkit.view.page_checks import reaches_out
from labkit.view.present import DONE_MIME, SUMMARY_MIME, show
from labkit.view.static_board import StaticBoard
from labkit.view.style import PLOTLY_MIME
from tests.view.test_page import Elements
from tests.view.test_report import FIGURE, SUMMARY

HOSTILE = [
    "</script><script>window.broken = 1</script>", "<img src=x onerror='window.broken = 1'>", "x" * 1_000_000,
    "a\x00b\x1b[31mc\x07\x08", "\u202eoverride \u2066isolate", "שלום <b>", "</pre></td></table>", "{{7*7}} {% raw %}",
]  # fmt: skip
WIDGET = {"application/vnd.jupyter.widget-view+json": {"model_id": "7"}, "text/plain": "IntSlider(value=3)"}


def shown(*bundles, printed=""):
    """A code cell that was executed and shows ``bundles``."""
    outputs = [nbformat.v4.new_output("display_data", bundle) for bundle in bundles]
    outputs += [nbformat.v4.new_output("stream", name="stderr", text=printed)] if printed else []
    return nbformat.v4.new_code_cell("x", execution_count=1, outputs=outputs)


SUMMED = shown({SUMMARY_MIME: SUMMARY, "text/html": "<p>the verdict</p>"})
FINISHED = shown({DONE_MIME: {"run": "r"}, "text/html": "<p>done</p>"})


def exported(*cells, last=FINISHED):
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_markdown_cell("# Why?\n\n## How?"), *cells, SUMMED, last]
    notebook = nbformat.reads(nbformat.writes(notebook), as_version=4)  # as read from its file
    return export(notebook, Path("lab.ipynb"))


# --- whole or not at all


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_cell_that_never_ran_is_named(place):
    cells = [shown({"text/plain": str(i)}) for i in range(3)]
    cells[place].execution_count = None
    with pytest.raises(ReportError, match=rf"1 cells of lab\.ipynb never ran; the first is code cell {place + 1}"):
        exported(*cells)


def test_an_empty_cell_need_not_run():
    empty = nbformat.v4.new_code_cell("  ")
    assert "the verdict" in exported(empty).body


@pytest.mark.parametrize("last", [shown({"text/plain": "1"}), shown()])
def test_without_the_sentinel_in_the_last_cell_it_is_not_whole(last):
    with pytest.raises(ReportError, match=r"not whole: .*end with labkit\.finish\(run\)"):
        exported(FINISHED, last=last)


def test_a_figure_that_is_lost_in_rendering_fails(monkeypatch):
    from labkit.view import export as module

    monkeypatch.setattr(module, "_rendered", lambda notebook: '<div class="figure"></div>')
    with pytest.raises(ReportError, match=r"2 figures were made and 1 are in the page of lab\.ipynb"):
        exported(shown({PLOTLY_MIME: FIGURE}, {PLOTLY_MIME: FIGURE}))


def test_a_widget_without_a_twin_fails():
    with pytest.raises(ReportError, match=r"code cell 2 shows a widget .* static twin"):
        exported(shown({"text/plain": "1"}), shown(WIDGET))


def test_a_widget_with_a_twin_is_its_twin():
    body = exported(shown(WIDGET | {"text/html": "<p>the twin</p>"})).body
    assert "<p>the twin</p>" in body
    assert "widget" not in body


# --- what is embedded


def test_title_summary_and_prose():
    made = exported()
    assert (made.title, made.summary) == ("Why?", SUMMARY)
    assert "<h2>How?</h2>" in made.body


def test_a_table_is_offered_whole():
    table = pd.DataFrame({"drafter": ["=cmd|x", "b"], "speedup": [1.23456789, float("nan")]})
    body = exported(shown(show(table)._repr_mimebundle_())).body
    name, packed = re.search(
        r'<a class="download" download="([^"]*)" href="data:text/csv;[^,]*,([^"]*)"', body
    ).groups()
    assert name == "lab-1.csv"
    assert base64.b64decode(packed).decode() == "drafter,speedup\r\n'=cmd|x,1.23456789\r\nb,\r\n"
    assert "<td>1.235</td>" in body


def test_tables_have_names_of_their_own():
    bundle = show(pd.DataFrame({"a": [1]}))._repr_mimebundle_()
    body = exported(shown(bundle), shown(bundle, bundle)).body
    assert re.findall(r'download="([^"]*)"', body) == ["lab-1.csv", "lab-2.csv", "lab-3.csv"]


def test_a_board_becomes_controls_and_its_grid(monkeypatch):
    monkeypatch.setenv("LABKIT_HEADLESS", "1")
    lab = Lab(labkit.recorded("drafters"))
    bundle = json.loads(json.dumps(StaticBoard(lab, lab.default())._repr_mimebundle_()))
    made = exported(shown(bundle))
    assert made.body.count('<section class="board">') == 1
    assert made.embedded.packed == [bundle["application/vnd.labkit.board+json"]["packed"]]
    assert 'download="lab-1.csv"' in made.body
    assert reaches_out(made.body) == []


# --- text is text


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_in_a_table_is_text(text):
    body = exported(shown(show(pd.DataFrame({"completion": [text, "after"]}))._repr_mimebundle_())).body
    _intact(body, exported(shown(show(pd.DataFrame({"completion": ["y", "after"]}))._repr_mimebundle_())).body)
    cell = unescape(re.search(r"<td>(.*?)</td>", body, re.S)[1])
    assert cell.startswith(text[:1])
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", body)
    assert len(body) < (60_000 if len(text) > 10_000 else 10_000)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_that_was_printed_is_text(text):
    body = exported(shown(printed=f"before\n{text}\nafter\n")).body
    _intact(body, exported(shown(printed="before\ny\nafter\n")).body)
    assert len(body) < 110_000
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", body)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_as_a_value_or_in_a_figure_is_text(text):
    figure = {"data": [{"type": "scatter", "name": text, "hovertext": [text]}], "layout": {"title": {"text": text}}}
    calm = {"data": [{"type": "scatter", "name": "y", "hovertext": ["y"]}], "layout": {"title": {"text": "y"}}}
    body = exported(shown({"text/plain": text}, {PLOTLY_MIME: figure})).body
    _intact(body, exported(shown({"text/plain": "y"}, {PLOTLY_MIME: calm})).body)
    (script,) = Elements(body).scripts
    assert json.loads(script) == figure


def _intact(body, calm):
    """The same elements, one for one, as a page of harmless text, and nothing that loads or runs."""
    plain = [tag for tag in Elements(calm).tags if tag != "span"]
    assert [tag for tag in Elements(body).tags if tag != "span"] == plain, "spans colour what ANSI codes coloured"
    assert reaches_out(body) == []


def test_progress_is_folded_and_shows_its_last_state():
    body = exported(shown(printed="".join(f"cell {i} of 100\r" for i in range(100)) + "done\n")).body
    folded = re.search(r"<details><summary>what was printed</summary><pre>(.*?)</pre></details>", body, re.S)[1]
    assert folded == "done"


def test_what_shows_most_is_told():
    made = exported(shown({"text/html": "<p>" + "x" * 2_000_000 + "</p>"}))
    assert made.largest.startswith("code cell 1: 2.0 MB, ")
