"""Built reports in Chromium, with no network: they draw, complain of nothing, show the tables' numbers and text as
text; the index filters."""

import json
import math
import shutil
from pathlib import Path

import nbformat
import pytest

from labkit.config import Drafter
from labkit.view import figures, tables
from labkit.view.page import figure_html, page_html
from labkit.view.report import build_report
from labkit.view.report_index import build_index
from tests.jupyter import ARTEFACTS, FLAGS, ROOT

pytestmark = pytest.mark.browser
HOSTILE = ["</script><script>window.broken = 1</script>", "<!--<script>", "<img src=x onerror='window.broken = 1'>"]
#: What models answer at their worst.
COMPLETIONS = [*HOSTILE, "a\x00b\x1b[31mc\x07", "\u202eright to left", "שלום <b>", "</pre></td></table>", "{{7*7}}"]
PYTHON3 = {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"}}

CELLS = """\
import labkit
run = labkit.open_run({folder!r})
cells = run.measurements()
speedups = labkit.tables.speedups(cells)
note = labkit.findings.sample_note(speedups, "six prompts")
---
labkit.summary(run)
---
labkit.figures.speedup_by_k(speedups, note)
---
labkit.figures.acceptance_by_position(labkit.tables.positions(cells), note)
---
labkit.figures.speedup_by_category(labkit.tables.speedups(cells, by="category"), note)
---
labkit.figures.step_timeline(labkit.tables.steps(cells).query("temperature == 0"), note)
---
labkit.show(labkit.tables.cells(cells))
---
labkit.finish(run)
"""
ANSWERS = """\
import labkit, pandas
run = labkit.open_run({folder!r})
answers = {answers!r} + ["x" * 1_000_000]
---
labkit.show(pandas.DataFrame({{"completion": answers, "after": ["next"] * len(answers)}}))
---
print(*answers, "printed", sep="\\n")
---
"\\n".join(answers)
---
labkit.summary(run)
---
labkit.finish(run)
"""
#: Traces of every drawn figure as plotly holds them; its typed arrays and NaN become lists and null.
TRACES = """() => [...document.querySelectorAll('.js-plotly-plot')].map(place => place._fullData.map(trace => ({
  name: trace.name, panel: trace.xaxis, y: Array.from(trace.y),
  up: trace.error_y && trace.error_y.array ? Array.from(trace.error_y.array) : null})))"""


class Opened:
    """A page that was opened, with everything it asked for and complained of."""

    def __init__(self, page, path, ready="body[data-ready=yes]"):
        self.page, self.asked, self.complaints = page, [], []
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("requestfailed", lambda request: self.complaints.append(f"failed: {request.url}"))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._heard)
        page.goto(path.as_uri())
        page.wait_for_selector(ready, timeout=20_000)

    def _heard(self, said):
        if said.type in ("error", "warning"):
            self.complaints.append(said.text)

    @property
    def outside(self):
        """What it asked for beside itself and what it holds."""
        own = self.page.url.split("#")[0]
        return [url for url in self.asked if url != own and not url.startswith(("data:", "blob:"))]


@pytest.fixture(scope="module")
def offline():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        context = browser.new_context(viewport={"width": 1200, "height": 900})
        context.set_offline(True)
        yield context
        browser.close()


def built(folder: Path, cells: str, title: str) -> Path:
    """The report of a notebook of ``cells``, which stand between lines of dashes."""
    notebook = nbformat.v4.new_notebook(metadata=PYTHON3)
    notebook.cells = [nbformat.v4.new_markdown_cell(title), *map(nbformat.v4.new_code_cell, cells.split("---\n"))]
    nbformat.write(notebook, folder / "lab.ipynb")
    return build_report(folder / "lab.ipynb", {}, out=folder / "out", name="report")


@pytest.fixture(scope="module")
def measured(sweep):
    return sweep(jitter=0.2)


@pytest.fixture(scope="module")
def report(store, measured, tmp_path_factory):
    cells = CELLS.format(folder=str(store(measured).folder))
    return built(tmp_path_factory.mktemp("report"), cells, "# Does it pay?")


@pytest.fixture(scope="module")
def opened(offline, report):
    return Opened(offline.new_page(), report)


@pytest.fixture(scope="module")
def traces(opened):
    return opened.page.evaluate(TRACES)


def test_every_figure_is_drawn(opened):
    page = opened.page
    assert page.locator(".js-plotly-plot").count() == page.locator(".figure").count() == 4
    assert page.locator(".js-plotly-plot .main-svg .scatterlayer .point").count() == 8 + 2 * 16 + 16
    assert page.locator(".js-plotly-plot .barlayer .point").count() == 5 + 3 + 3, "steps"
    ARTEFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTEFACTS / "report.png", full_page=True)


def test_it_asks_for_nothing_and_complains_of_nothing(opened):
    assert opened.outside == []
    assert opened.complaints == []


def test_speedups_come_back(traces, measured):
    table = tables.speedups(measured)
    for trace in traces[0]:
        temperature = {"x": 0.0, "x2": 0.8}[trace["panel"]]
        own = table[(table["drafter"] == trace["name"]) & (table["temperature"] == temperature)]
        assert trace["y"] == pytest.approx(own["speedup"].tolist())
        assert trace["up"] == pytest.approx((own["high"] - own["speedup"]).tolist())
    assert len(traces[0]) == 4


def test_joint_rates_come_back(traces, measured):
    table = tables.positions(measured)
    for trace in (t for t in traces[1] if "at least" in t["name"]):
        own = table[(table["drafter"] == trace["name"].split(",")[0]) & (table["k"] == 4) & (table["temperature"] == 0)]
        assert trace["y"] == pytest.approx(own["joint"].tolist())
    assert len(traces[1]) == 8


def test_speedups_without_bounds_come_back_without(traces, measured):
    """Three prompts a category are too few for an interval."""
    table = tables.speedups(measured, by="category")
    assert table["high"].isna().all()
    drawn = sorted(y for trace in traces[2] for y in trace["y"])
    assert drawn == pytest.approx(sorted(table["speedup"]))
    assert all(up is None or math.isnan(up) for trace in traces[2] for up in trace["up"] or ())


def test_titles_and_words_are_readable(opened, measured):
    text = opened.page.locator("body").text_content()
    assert "Does it pay?" in text
    assert "n = 6 prompts × 1 block, this launch only · six prompts" in text
    assert "All 10 cells of the plan were measured." in text
    assert opened.page.title() == "Does it pay?"


def test_it_fits_the_window(opened):
    """No sideways scrolling of the page: wide tables scroll on their own."""
    assert opened.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def shift(offline, report):
    """Pixels that the last section moves while the page is drawn."""
    page = offline.new_page()
    try:
        where = "document.querySelector('section.provenance').getBoundingClientRect().top"
        page.add_init_script(f"addEventListener('DOMContentLoaded', () => {{ window.before = {where}; }})")
        page.goto(report.as_uri())
        page.wait_for_selector("body[data-ready=yes]", timeout=20_000)
        return abs(page.evaluate(f"window.before - {where}"))
    finally:
        page.close()


def test_nothing_moves_when_it_is_drawn(offline, report):
    """Places are as high as their figures."""
    assert shift(offline, report) <= 8


# --- text of others


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_name_neither_runs_nor_breaks_the_page(offline, tmp_path, text):
    trace, layout = {"type": "scatter", "name": text, "y": [1, 2]}, {"title": {"text": text}, "showlegend": True}
    path = tmp_path / "hostile.html"
    body = figure_html({"data": [trace], "layout": layout})
    path.write_text(page_html(body, title=text, summary={"plan": text}), encoding="utf-8")
    page = offline.new_page()
    try:
        page.goto(path.as_uri())
        page.wait_for_selector("body[data-ready=yes]", timeout=5_000)
        page.wait_for_timeout(200)  # an image that is not there takes a moment to fail
        assert page.locator(".js-plotly-plot").count() == 1
        assert page.evaluate("window.broken") is None
    finally:
        page.close()


def test_a_name_of_a_drafter_is_shown_to_the_letter(offline, sweep, tmp_path):
    evil = Drafter(method="ngram", name="<b>n</b> & <img src=x>")
    figure = figures.speedup_by_k(tables.speedups(sweep(drafters=(evil,))), "n = 6")
    path = tmp_path / "name.html"
    made = json.loads(figure.update_layout(showlegend=True).to_json())
    path.write_text(page_html(figure_html(made), title="t"), encoding="utf-8")
    page = offline.new_page()
    try:
        page.goto(path.as_uri())
        page.wait_for_selector("body[data-ready=yes]", timeout=20_000)
        assert page.locator(".legendtext").first.text_content() == evil.name
        assert evil.name in page.locator(".gtitle").text_content()
    finally:
        page.close()


@pytest.fixture(scope="module")
def answers(offline, store, measured, tmp_path_factory):
    cells = ANSWERS.format(folder=str(store(measured).folder), answers=COMPLETIONS)
    return Opened(offline.new_page(), built(tmp_path_factory.mktemp("answers"), cells, "# What did it answer?"))


def test_completions_are_shown_as_text_and_the_page_is_intact(answers):
    page = answers.page
    cells = page.locator("table.labkit td:first-child").all_text_contents()
    for text, cell in zip(COMPLETIONS, cells, strict=False):
        assert cell == text.replace("\x00", "␀").replace("\x1b", "␛").replace("\x07", "␇")
    assert cells[len(COMPLETIONS)].endswith("… (1,000,000 characters)")
    assert page.locator("table.labkit td:last-child", has_text="next").count() == len(COMPLETIONS) + 1
    printed = page.locator("details pre").text_content()
    assert all(text in printed for text in HOSTILE)
    assert page.locator("section.provenance").count() == 1
    assert page.evaluate("window.broken") is None
    assert answers.complaints == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.screenshot(path=ARTEFACTS / "answers.png", full_page=True)


def test_a_cell_is_read_in_its_own_direction(answers):
    """A mark that turns the direction turns nothing beside it."""
    page, row = answers.page, COMPLETIONS.index("\u202eright to left")
    after = page.locator("table.labkit tbody tr").nth(row).locator("td").nth(1)
    assert after.evaluate("cell => getComputedStyle(cell).unicodeBidi") == "isolate"
    assert after.text_content() == "next"


def test_a_browser_runs_nothing_that_stands_in_the_body(offline, tmp_path):
    """Even where markup got into a page: its policy names the scripts that may run."""
    body = "".join(HOSTILE[::2]) + "<a href='javascript:window.broken = 1'>x</a>"
    path = tmp_path / "raw.html"
    path.write_text(page_html(body, title="t"), encoding="utf-8")
    page = offline.new_page()
    try:
        page.goto(path.as_uri())
        page.wait_for_selector("body[data-ready=yes]", timeout=20_000)
        page.locator("a").click()
        page.wait_for_timeout(300)
        assert page.evaluate("window.broken") is None
    finally:
        page.close()


# --- the shipped notebook


def test_the_sweep_report_of_the_recorded_run_in_chinese(offline, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    values = {"run": "data/recorded/drafters", "lang": "zh"}
    path = build_report(ROOT / "notebooks" / "02_sweep_report.ipynb", values, out=tmp_path, name="zh")
    opened = Opened(offline.new_page(), path)
    try:
        page = opened.page
        assert page.locator(".figure > .js-plotly-plot .main-svg").first.is_visible()
        assert page.locator(".figure > .js-plotly-plot").count() == page.locator(".figure").count() == 4
        assert page.locator(".board .charts .js-plotly-plot").count() == 4
        assert page.locator(".board .controls label span").all_text_contents() == [
            "草稿模型", "K（推测词元数）", "温度", "并发用户", "任务类别"
        ]  # fmt: skip
        assert (opened.outside, opened.complaints) == ([], [])
        page.screenshot(path=ARTEFACTS / "report-zh.png", full_page=True)
    finally:
        opened.page.close()


# --- the index


def test_the_index_shows_the_reports_of_a_target_and_a_link_carries_it(offline, tmp_path):
    from tests.view.test_report_index import report as listed

    for name, target in (("one", "a"), ("two", "b & c"), ("three", "a")):
        listed(tmp_path, name, target=target, curve=[[2, 1.1], [4, 1.2]])
    opened = Opened(offline.new_page(), build_index(tmp_path), ready="#target")
    page, rows = opened.page, "() => [...document.querySelectorAll('tbody tr')].filter(row => !row.hidden).length"
    try:
        assert page.evaluate(rows) == 3
        page.locator("#target").select_option("a")
        assert page.evaluate(rows) == 2
        page.goto(f"{(tmp_path / 'index.html').as_uri()}#target=b+%26+c")
        page.wait_for_function(f"({rows})() === 1")
        page.reload()
        assert page.evaluate(rows) == 1
        assert (opened.outside, opened.complaints) == ([], [])
    finally:
        page.close()


def test_the_index_fits_into_a_window(offline, tmp_path):
    from tests.view.test_report_index import report as listed

    verdict = [
        "At T = 0 with 1 user: switch on eagle3 K=3; it is 1.50× [1.36, 1.64] as fast as without in this launch."
    ]
    listed(tmp_path, "one", title="Does speculation pay here, and where?", target="Qwen2.5-0.5B", best="draft-2l K=3",
           curve=[[2, 1.1], [4, 1.2]], verdict=verdict * 2)  # fmt: skip
    page = offline.new_page()
    try:
        page.goto(build_index(tmp_path).as_uri())
        hidden = page.locator(".tablewrap").evaluate("table => table.scrollWidth - table.clientWidth")
        assert hidden == 0
    finally:
        page.close()
