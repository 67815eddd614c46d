"""The page: one file, no network, and nothing in it can break out of its script element."""

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib import resources

import pytest

from labkit.view.page import asset, figure_html, json_script, page_html, write_page
from labkit.view.style import TEMPLATE

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


@pytest.mark.parametrize(("layout", "height"), [({"height": 420}, 420), ({}, 450), ({"height": None}, 450)])
def test_the_place_is_as_high_as_the_figure_so_that_nothing_moves_when_it_is_drawn(layout, height):
    assert f'<div style="min-height:{height}px">' in figure_html({"data": [], "layout": layout})


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
    rest = re.sub(r'id="plotly">[^<]*|sha256-[^\']*', "", page)
    assert not re.findall(r"(?:https?:|wss?:)?//[a-z0-9]", rest)
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
    assert "<noscript" not in made
    assert len(made) < 6000


@pytest.mark.parametrize(
    ("language", "words"), [("en", "need a browser that runs scripts"), ("zh", "能运行脚本的浏览器")]
)
def test_where_no_script_runs_the_page_says_so(language, words):
    made = page_html(figure_html(PLAIN), title="t", language=language)
    assert words in re.search(r"<noscript>(.*?)</noscript>", made)[1]


def test_a_page_is_written_whole(tmp_path):
    (tmp_path / "index.html").write_text("old")
    write_page(tmp_path / "index.html", "new")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["new"]


# --- what a browser lets the page do


def policy(page):
    """The page's policy by directive."""
    (text,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    return {name: rest.split() for name, _, rest in (part.strip().partition(" ") for part in text.split(";"))}


def named(script):
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def test_its_own_scripts_may_run_and_no_other(page):
    """The one that draws, and plotly.js, which that one unpacks; scripts of data never run."""
    drawing = re.search(r"<script>(.*?)</script>", page, re.S)[1]
    packed = re.search(r'id="plotly">([^<]*)', page)[1]
    plotly = gzip.decompress(base64.b64decode(packed)).decode()
    assert policy(page)["script-src"] == [named(drawing), named(plotly), "'unsafe-eval'"]
    assert drawing == "".join(map(asset, ("library.js", "static_board.js", "page.js")))


def test_it_may_load_nothing(page):
    rules = policy(page)
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == ["'none'"]
    assert not re.search(r"https?:|\*", " ".join(word for words in rules.values() for word in words))
    assert page.index("Content-Security-Policy") < page.index("<title>"), "before anything that it is to bind"


def test_a_page_without_scripts_may_run_none_and_another_its_own():
    assert policy(page_html("", title="t", figures=False))["script-src"] == ["'none'"]
    assert policy(page_html("", title="t", figures=False, script="1"))["script-src"] == [named("1")]


# --- day, night and paper


def variables(css):
    return set(re.findall(r"(--[a-z]+):", css))


def test_the_style_names_every_colour_for_day_night_and_paper():
    css = asset("page.css")
    day, night, paper = re.findall(r":root \{(.*?)\}", css, re.S)
    assert variables(day) == variables(night) == variables(paper) == set(re.findall(r"var\((--[a-z]+)\)", css))
    assert css.index("prefers-color-scheme: dark") < css.index(night) < css.index("@media print") < css.index(paper)


def test_figures_have_every_light_colour_of_their_template_changed_at_night():
    """Lines and text that would vanish on a dark page, or shine."""
    look = json.dumps(TEMPLATE.to_plotly_json()["layout"])
    changed = re.findall(r"\['\"?(#?\w+)\"?',", asset("page.js"))
    own = set(re.findall(r'"(#[0-9A-F]{6}|white)"', look)) | {"#5A5A5A"}
    assert own - set(changed) == {"#B0B0B0"}, "a grey that is seen on both"


def test_controls_are_left_off_paper():
    paper = asset("page.css").split("@media print")[1]
    assert re.search(r"\.board \.controls[^{]*\{ display: none", paper)
