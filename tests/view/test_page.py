"""The page: one file, no network, and nothing in it can break out of its script element."""

import base64
import gzip
import json
import re
from html.parser import HTMLParser
from importlib import resources

import pytest

from labkit.view.page import figure_html, json_script, page_html

PLAIN = {"data": [{"type": "scatter", "y": [1, 2]}], "layout": {"title": {"text": "x"}}}
BREAKERS = [
    "</script><script>alert(1)</script>", "</SCRIPT>", "<\\/script>", "</", "<!--<script>", "a < b", "×–λ", '"',
    "\u2028",
]  # fmt: skip


def inside(script):
    """Content of a script element as written."""
    return re.fullmatch(r"<script[^>]*>(.*)</script>", script, re.S)[1]


class Elements(HTMLParser):
    """Start tags, and the text of each script, as a browser reads a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.scripts, self._open = [], [], False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self._open = tag == "script"
        if self._open:
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._open = self._open and tag != "script"

    def handle_data(self, data):
        if self._open:
            self.scripts[-1] += data


@pytest.mark.parametrize("text", BREAKERS)
def test_json_comes_back_as_it_was(text):
    data = {"title": text, text: [1, None, {"deep": [text]}]}
    assert json.loads(inside(json_script(data))) == data
    (script,) = Elements(json_script(data)).scripts
    assert json.loads(script) == data


@pytest.mark.parametrize("text", BREAKERS)
def test_nothing_in_a_script_can_close_it(text):
    assert not re.search("</", inside(json_script({"title": text})))


def test_nothing_in_a_script_can_keep_it_open():
    """After ``<!--`` and ``<script`` a browser ignores the next end tag (HTML, "script data double escaped state")."""
    written = inside(json_script({"title": "<!--<script>"})).lower()
    assert "<!--" not in written or "<script" not in written


def test_a_script_has_a_type_that_does_not_run_and_an_id_if_asked():
    assert json_script([1]) == '<script type="application/json">[1]</script>'
    assert json_script([1], id="x") == '<script type="application/json" id="x">[1]</script>'


def test_a_figure_is_a_place_and_its_numbers():
    made = figure_html(PLAIN)
    assert Elements(made).tags == ["div", "div", "script"]
    assert json.loads(Elements(made).scripts[0]) == PLAIN


@pytest.fixture(scope="module")
def page():
    body = f"<h1>t</h1>{figure_html(PLAIN)}{figure_html(PLAIN)}"
    return page_html(body, title="A <b> & c", summary={"run": "</script>"})


def test_plotly_is_packed_once_and_comes_back_whole(page):
    (packed,) = re.findall(r'<script type="text/plain" id="plotly">([A-Za-z0-9+/=]+)</script>', page)
    original = resources.files("plotly").joinpath("package_data/plotly.min.js").read_bytes()
    assert gzip.decompress(base64.b64decode(packed)) == original
    assert len(page) < 2.5e6


def test_the_page_asks_for_nothing(page):
    """No address but inside the packed library, nothing to load but the empty icon."""
    assert not re.findall(r"(?:https?:|wss?:)?//[a-z0-9]", re.sub(r'id="plotly">[^<]*', "", page))
    assert not re.findall(r"<script[^>]* src|@import|url\(|<img|<iframe", page)
    assert re.findall(r"<link[^>]*>", page) == ['<link rel="icon" href="data:,">']


def test_title_and_summary(page):
    assert "<title>A &lt;b&gt; &amp; c</title>" in page
    assert page.startswith('<!doctype html><html lang="en"><head><meta charset="utf-8">')
    summaries = re.findall(r'<script type="application/json" id="labkit-summary">(.*?)</script>', page)
    assert [json.loads(text) for text in summaries] == [{"run": "</script>"}]


def test_scripts_of_a_page(page):
    """Two figures, the summary, the library, the code that draws."""
    assert len(Elements(page).scripts) == 5


def test_a_page_without_figures_has_no_script():
    made = page_html("<p>x</p>", title="t", figures=False)
    assert "<script" not in made
    assert len(made) < 5000
