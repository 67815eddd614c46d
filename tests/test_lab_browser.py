"""The shipped notebook as people meet it: real JupyterLab in real Chromium, on a run of the simulated engine."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from labkit.config import read
from labkit.engine.process import free_port
from labkit.measure.sweep import sweep
from labkit.plan import Plan

ROOT = Path(__file__).parent.parent
ARTEFACTS = ROOT / "test-artifacts"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PLAN = {
    "engine": {"target": "markov", "kind": "simulated", "simulation": {"base": 0.002, "agreement": 0.9}},
    "drafters": [{"method": "ngram"}, {"method": "draft_model", "model": "x/q"}],
    "k": [2, 4],
    "temperatures": [0, 0.8],
    "workload": {"per_category": 2, "max_tokens": 24},
    "blocks": 1,
    "warmup": "engine",
}
RUN_ALL = """async () => {
  const app = window.jupyterapp;
  await app.restored;
  let panel;
  while (!(panel = app.shell.currentWidget) || !panel.context) await new Promise(done => setTimeout(done, 100));
  await panel.context.ready;
  await panel.sessionContext.ready;
  while (!panel.sessionContext.session?.kernel) await new Promise(done => setTimeout(done, 100));
  await panel.sessionContext.session.kernel.info;
  await app.commands.execute('notebook:run-all-cells');
}"""


TO_FIRST_FIGURE = """async () => {
  const notebook = window.jupyterapp.shell.currentWidget.content;
  const index = notebook.model.toJSON().cells.findIndex(cell => String(cell.source).includes('speedup_by_k'));
  notebook.activeCellIndex = index;
  await notebook.scrollToItem(index, 'start');
}"""


@pytest.fixture
def lab(tmp_path):
    """JupyterLab on a copy of the notebook whose plan is a simulated one that was measured already."""
    runs = tmp_path / "runs"
    plan = read(Plan, PLAN, where="test")
    sweep(plan, root=runs)
    (tmp_path / "plan.yaml").write_text(json.dumps(PLAN))
    notebook = tmp_path / "02_sweep_report.ipynb"
    shutil.copy(ROOT / "notebooks" / notebook.name, notebook)
    notebook.write_text(notebook.read_text().replace("data/plans/demo.yaml", str(tmp_path / "plan.yaml")))
    port, folders = free_port(), {f"JUPYTER_{n}_DIR": str(tmp_path / n) for n in ("CONFIG", "DATA", "RUNTIME")}
    folders |= {"JUPYTERLAB_SETTINGS_DIR": str(tmp_path / "s"), "JUPYTERLAB_WORKSPACES_DIR": str(tmp_path / "w")}
    log = (tmp_path / "lab.log").open("w")
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyter", "lab", "--no-browser", f"--port={port}", "--ip=127.0.0.1", "--allow-root",
         "--IdentityProvider.token=secret-of-this-test", "--expose-app-in-browser", f"--notebook-dir={tmp_path}"],
        env={**os.environ, **folders, "LABKIT_RUNS": str(runs)}, cwd=tmp_path, process_group=0,
        stdout=log, stderr=subprocess.STDOUT,
    )  # fmt: skip
    log.close()
    yield f"http://127.0.0.1:{port}/lab/tree/{notebook.name}?token=secret-of-this-test"
    os.killpg(server.pid, 15)
    server.wait(timeout=20)


@pytest.mark.browser
def test_run_all_in_jupyterlab(lab):
    from playwright.sync_api import sync_playwright

    ARTEFACTS.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": 1300, "height": 1000})
        _open(page, lab)
        page.evaluate(RUN_ALL)
        page.wait_for_function(
            "document.body.innerText.includes('All 10 cells of the plan were measured')", timeout=90_000
        )
        cells = page.evaluate("() => window.jupyterapp.shell.currentWidget.content.model.toJSON()")["cells"]
        outputs = [output for cell in cells for output in cell.get("outputs", ())]
        assert not [output for output in outputs if output["output_type"] == "error"]
        shown = [output.get("data", {}) for output in outputs]
        assert sum("application/vnd.plotly.v1+json" in data for data in shown) == 4
        assert any("At T = 0 with 1 user" in str(data.get("text/plain")) for data in shown)
        page.evaluate(TO_FIRST_FIGURE)
        page.wait_for_selector(".js-plotly-plot .main-svg", timeout=30_000)
        page.screenshot(path=ARTEFACTS / "jupyterlab.png")
        browser.close()


def _open(page, url):
    """The server needs some seconds to listen."""
    deadline = time.monotonic() + 60
    while True:
        try:
            page.goto(url, wait_until="domcontentloaded")
            page.wait_for_function("window.jupyterapp !== undefined", timeout=60_000)
            return
        except Exception:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
