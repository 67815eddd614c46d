"""A built report in Chromium, with no network: it draws, complains of nothing, and shows the tables' numbers."""

import math
from pathlib import Path

import nbformat
import pytest

from labkit.view import tables
from labkit.view.page import figure_html, page_html
from labkit.view.report import build_report

pytestmark = pytest.mark.browser
ARTIFACTS = Path(__file__).parents[2] / "test-artifacts"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
HOSTILE = ["</script><script>window.broken = 1</script>", "<!--<script>", "<img src=x onerror='window.broken = 1'>"]
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
#: Traces of every drawn figure as plotly holds them; its typed arrays and NaN become lists and null.
TRACES = """() => [...document.querySelectorAll('.js-plotly-plot')].map(place => place._fullData.map(trace => ({
  name: trace.name, panel: trace.xaxis, y: Array.from(trace.y),
  up: trace.error_y && trace.error_y.array ? Array.from(trace.error_y.array) : null})))"""


class Opened:
    """A page that was opened, with everything it asked for and complained of."""

    def __init__(self, page, path):
        self.page, self.asked, self.complaints = page, [], []
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("requestfailed", lambda request: self.complaints.append(f"failed: {request.url}"))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._heard)
        page.goto(path.as_uri())
        page.wait_for_selector("body[data-ready=yes]", timeout=20_000)

    def _heard(self, said):
        if said.type in ("error", "warning"):
            self.complaints.append(said.text)


@pytest.fixture(scope="module")
def offline():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        context = browser.new_context(viewport={"width": 1200, "height": 900})
        context.set_offline(True)
        yield context
        browser.close()


@pytest.fixture(scope="module")
def measured(sweep):
    return sweep(jitter=0.2)


@pytest.fixture(scope="module")
def report(store, measured, tmp_path_factory):
    folder, run = tmp_path_factory.mktemp("report"), store(measured)
    notebook = nbformat.v4.new_notebook(metadata=PYTHON3)
    code = CELLS.format(folder=str(run.folder)).split("---\n")
    notebook.cells = [nbformat.v4.new_markdown_cell("# Does it pay?"), *map(nbformat.v4.new_code_cell, code)]
    nbformat.write(notebook, folder / "lab.ipynb")
    return build_report(folder / "lab.ipynb", {}, out=folder / "out", name="report")


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
    ARTIFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTIFACTS / "report.png", full_page=True)


def test_it_asks_for_nothing_and_complains_of_nothing(opened, report):
    assert [url for url in opened.asked if not url.startswith("data:")] == [report.as_uri()]
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
