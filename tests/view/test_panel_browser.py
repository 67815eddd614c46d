"""The tuning lab as people meet it: real JupyterLab in real Chromium, on the recorded run."""

import shutil
from dataclasses import replace

import pytest

import labkit
from labkit.view.board_charts import charts
from labkit.view.lab import Lab
from tests.boards import PANEL, check
from tests.jupyter import ARTEFACTS, ROOT, outputs, page_at, run_all, scroll_to, serve, serve_page

#: What notebook 01 opens.
RUN = "demo"
DRAWN = "document.querySelectorAll('.labkit-grid .js-plotly-plot').length === 4"


@pytest.fixture
def lab(tmp_path):
    notebook = tmp_path / "01_tuning_lab.ipynb"
    shutil.copy(ROOT / "notebooks" / notebook.name, notebook)
    with serve(tmp_path, notebook, LABKIT_RUNS=str(tmp_path / "runs")) as url:
        yield url


def slider(page, label):
    return page.locator(".widget-inline-hbox", has=page.get_by_text(label, exact=True)).locator(".noUi-handle").first


def press(page, label, key):
    """A key on the slider that ``label`` names, and the redraw it causes."""
    drawn = page.locator(".labkit-board").get_attribute("data-drawn")
    slider(page, label).press(key)
    page.wait_for_function(
        "drawn => document.querySelector('.labkit-board').dataset.drawn !== drawn", arg=drawn, timeout=10_000
    )


@pytest.mark.browser
def test_the_page_shows_what_the_tables_say(lab):
    """K and temperature by keyboard, another drafter; the charts' data read back; the state after a reload."""
    wanted = Lab(labkit.recorded(RUN))
    at = wanted.default()
    with page_at(lab, viewport={"width": 1500, "height": 1250}) as page:
        run_all(page)
        page.wait_for_function(DRAWN, timeout=90_000)
        assert not [output for output in outputs(page) if output["output_type"] == "error"]
        scroll_to(page, "otherwise")
        page.screenshot(path=ARTEFACTS / "panel.png")
        check(page, PANEL, charts(wanted.answer(at), largest_k=8))
        step = 1
        for _ in range(10):
            step = {1: 1, 8: -1}.get(at.k, step)
            press(page, "K", "ArrowRight" if step > 0 else "ArrowLeft")
            at = replace(at, k=at.k + step)
            check(page, PANEL, charts(wanted.answer(at), largest_k=8))
        for _ in range(10):  # values between the measured ones change nothing
            slider(page, "temperature").press("ArrowRight")
        page.wait_for_function("document.querySelector('.labkit-card h3').textContent.includes('T = 0.4,')")
        at = replace(at, temperature=0.5)
        assert wanted.answer(at).selection.temperature == 0.4, "the measured one next to it"
        check(page, PANEL, charts(wanted.answer(at), largest_k=8))
        other = next(name for name in wanted.options.methods if name != at.drafter)
        drafters = page.locator(".widget-dropdown select").first
        drafters.select_option(next(t for t in drafters.locator("option").all_text_contents() if t.startswith(other)))
        page.wait_for_function(f"document.querySelector('.labkit-card h3').textContent.startsWith('{other}')")
        at = replace(at, drafter=other)
        check(page, PANEL, charts(wanted.answer(at), largest_k=8))
        page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
        page.evaluate("window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})")
        page.wait_for_timeout(1500)
        page.screenshot(path=ARTEFACTS / "panel-dark.png")
        page.reload(wait_until="domcontentloaded")
        page.wait_for_function(DRAWN, timeout=60_000)
        check(page, PANEL, charts(wanted.answer(at), largest_k=8))


@pytest.mark.browser
def test_the_panel_as_a_page_without_jupyterlab(tmp_path):
    """Voilà shows the notebook's outputs alone; the controls stay live."""
    notebook = tmp_path / "01_tuning_lab.ipynb"
    shutil.copy(ROOT / "notebooks" / notebook.name, notebook)
    wanted = Lab(labkit.recorded(RUN))
    at = wanted.default()
    with serve_page(tmp_path, notebook) as url, page_at(url, ready=DRAWN) as page:
        check(page, PANEL, charts(wanted.answer(at), largest_k=8))
        page.screenshot(path=ARTEFACTS / "panel-page.png", full_page=True)
        press(page, "K", "ArrowRight" if at.k < 8 else "ArrowLeft")
        at = replace(at, k=at.k + (1 if at.k < 8 else -1))
        check(page, PANEL, charts(wanted.answer(at), largest_k=8))
