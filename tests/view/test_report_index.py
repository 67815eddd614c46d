"""The index: every report of a folder, newest first, with a filter by target and a small curve over K."""

import re
from html import unescape
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import pytest

from labkit.view.page import page_html
from labkit.view.report_index import build_index, sparkline
from tests.view.test_page import Elements
from tests.view.test_phrases import english, texts
from tests.view.test_report import SUMMARY


def report(folder, name, **summary):
    """A page as a build leaves it."""
    known = SUMMARY | {"title": name, "created": "2026-11-01 10:00:00"} | summary
    (folder / f"{name}.html").write_text(page_html("", title=name, summary=known, figures=False), encoding="utf-8")


def links(folder):
    return re.findall(r"<a href='([^']*)'", build_index(folder).read_text(encoding="utf-8"))


def test_an_empty_index(tmp_path):
    assert links(tmp_path) == []
    assert "<h1>Reports</h1>" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_newest_first_and_rebuilt(tmp_path):
    report(tmp_path, "old", created="2026-10-31 23:59:59")
    report(tmp_path, "new", created="2026-11-02 09:00:00")
    report(tmp_path, "middle")
    assert links(tmp_path) == ["new.html", "middle.html", "old.html"]
    (tmp_path / "middle.html").unlink()
    report(tmp_path, "newest", created="2026-11-02 09:00:01")
    assert links(tmp_path) == ["newest.html", "new.html", "old.html"]


def test_pages_of_others_are_left_out(tmp_path):
    report(tmp_path, "mine")
    (tmp_path / "other.html").write_text("<p>a page</p>")
    assert links(tmp_path) == ["mine.html"]


def test_the_index_escapes(tmp_path):
    report(tmp_path, "x", title="<script>1</script>", target="<img onerror=1>", verdict=["</td>"], best="<b>")
    index = build_index(tmp_path).read_text(encoding="utf-8")
    assert not re.findall(r"<script|<img|<b>", index)
    assert all(text in index for text in ("&lt;script&gt;1", "&lt;img onerror=1&gt;", "&lt;/td&gt;", "&lt;b&gt;"))


def test_without_a_speedup_the_best_is_a_dash(tmp_path):
    report(tmp_path, "x", speedup=None, best=None, at=None, verdict=["a", "b"], curve=[])
    index = build_index(tmp_path).read_text(encoding="utf-8")
    assert "<td class='said brief'>–</td><td>–</td><td>–</td><td class='said'>a<br>b</td>" in index


def test_a_row_tells_target_drafter_speedup_with_interval_and_verdict(tmp_path):
    report(tmp_path, "x", curve=[[2, 1.1], [4, 1.2]])
    index = build_index(tmp_path).read_text(encoding="utf-8")
    row = re.search(r'<tr data-target="demo">(.*?)</tr>', index, re.S)[1]
    cells = re.findall(r"<td[^>]*>(.*?)</td>", row, re.S)
    assert cells[1:4] == ["demo", "ngram K=4<br><span class='stamp'>T = 0, 1 user</span>", "1.20× [1.10, 1.30]"]
    assert cells[4] == sparkline([[2, 1.1], [4, 1.2]])
    assert cells[5] == "At T = 0 &lt;switch&gt; on"


def test_a_report_without_a_curve_is_listed_too(tmp_path):
    """One that was made before there were curves."""
    report(tmp_path, "x")
    assert links(tmp_path) == ["x.html"]


# --- the filter


def test_the_filter_offers_every_target(tmp_path):
    for number, target in enumerate(["b", "a", "b", '<x> "y"']):
        report(tmp_path, f"r{number}", target=target)
    index = build_index(tmp_path).read_text(encoding="utf-8")
    values = re.findall(r'<option value="([^"]*)"', index)
    assert [unescape(value) for value in values] == ["", '<x> "y"', "a", "b"]
    rows = [unescape(target) for target in re.findall(r'<tr data-target="([^"]*)"', index)]
    assert set(rows) == set(map(unescape, values[1:])), "the script compares these two"
    assert Elements(index).tags.count("script") == 1


def test_one_target_needs_no_filter(tmp_path):
    report(tmp_path, "a")
    report(tmp_path, "b")
    tags = Elements(build_index(tmp_path).read_text(encoding="utf-8")).tags
    assert "select" not in tags
    assert "script" not in tags


# --- the curve


def drawn(points):
    """Places of dots, and of the line at 1×, of a sparkline, which is an image of its own."""
    root = ElementTree.fromstring(sparkline(points))
    dots = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in root.iter("circle")]
    return dots, float(next(root.iter("line")).get("y1")), root


def test_faster_is_higher_and_larger_k_is_further_right():
    dots, one, _ = drawn([(1, 0.8), (3, 1.4), (5, 1.2)])
    assert [x for x, _ in dots] == sorted(x for x, _ in dots)
    assert dots[1][1] < dots[2][1] < one < dots[0][1]
    assert dots[1][0] - dots[0][0] == pytest.approx(dots[2][0] - dots[1][0], abs=0.2)


@pytest.mark.parametrize("points", [[(4, 1.2)], [(2, 1.0), (4, 1.0)], [(1, 0.5), (2, 0.7)], [(1, 2.0), (8, 9.0)]])
def test_every_dot_is_inside(points):
    dots, one, root = drawn(points)
    assert len(dots) == len(points)
    assert all(0 < x < float(root.get("width")) and 0 < y < float(root.get("height")) for x, y in dots)
    assert 0 < one < float(root.get("height"))


def test_it_says_its_numbers():
    assert drawn([(2, 1.104), (4, 1.2)])[2].get("aria-label") == "K=2 1.10×, K=4 1.20×"


def test_no_points_no_curve():
    assert sparkline([]) == "–"


@pytest.mark.parametrize("name", ["plain", "K=4 & T=0", "it's", "50%25", "draft#2", "why?"])
def test_a_link_leads_to_its_file(tmp_path, name):
    report(tmp_path, name)
    (link,) = re.findall(r"<a href='([^']*)'", build_index(tmp_path).read_text(encoding="utf-8"))
    assert unquote(urlsplit(unescape(link)).path) == f"{name}.html"


# --- its language


@pytest.mark.parametrize(
    ("newest", "heads"), [("zh", ["问题", "目标模型", "最佳草稿模型"]), ("en", ["question", "target"])]
)
def test_it_speaks_the_language_of_the_newest_report(tmp_path, newest, heads):
    older = {"zh": "en", "en": "zh"}[newest]
    report(tmp_path, "b", target="a", language=older, created="2026-11-01 10:00:00")
    report(tmp_path, "a", language=newest, created="2026-11-02 10:00:00")
    index = build_index(tmp_path).read_text(encoding="utf-8")
    assert index.startswith(f'<!doctype html><html lang="{newest}">')
    assert re.findall(r"<th[^>]*>([^<]*)</th>", index)[: len(heads)] == heads


def test_in_chinese_it_holds_no_english(tmp_path):
    """What an English report beside it says is said in Chinese where labkit wrote it; names stay."""
    question, nothing = "推测解码在这里划算吗，在哪些情况下？", {"at": None, "speedup": None}
    report(tmp_path, "zh", language="zh", title=question, verdict=["什么都没有测量。"], target="other", **nothing)
    report(tmp_path, "en", created="2026-10-01 10:00:00", title="Does speculation pay here, and where?",
           verdict=["At T = 0 with 1 user: leave speculation off; every drafter measured is slower."])  # fmt: skip
    index = build_index(tmp_path).read_text(encoding="utf-8")
    shown = texts(index[index.index("<body>") :])
    assert shown.count(question) == 2
    assert [text for text in shown if english(text.replace("other", ""))] == []
    assert "<title>labkit 报告</title>" in index


def test_a_page_in_another_encoding_is_left_out(tmp_path):
    (tmp_path / "latin.html").write_bytes("<p>é</p>".encode("latin-1"))
    report(tmp_path, "mine")
    assert links(tmp_path) == ["mine.html"]
