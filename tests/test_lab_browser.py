"""The report notebook as people meet it: real JupyterLab in real Chromium, on a run of the simulated engine."""

import json
import shutil

import pytest

from labkit.config import read
from labkit.measure.sweep import sweep
from labkit.plan import Plan
from tests.jupyter import ARTEFACTS, ROOT, outputs, page_at, run_all, scroll_to, serve

PLAN = {
    "engine": {"target": "markov", "kind": "simulated", "simulation": {"base": 0.002, "agreement": 0.9}},
    "drafters": [{"method": "ngram"}, {"method": "draft_model", "model": "x/q"}],
    "k": [2, 4],
    "temperatures": [0, 0.8],
    "workload": {"per_category": 2, "max_tokens": 24},
    "blocks": 1,
    "warmup": "engine",
}


@pytest.fixture
def lab(tmp_path):
    """JupyterLab on a copy of the notebook whose plan is a simulated one that was measured already."""
    runs = tmp_path / "runs"
    sweep(read(Plan, PLAN, where="test"), root=runs)
    (tmp_path / "plan.yaml").write_text(json.dumps(PLAN))
    notebook = tmp_path / "02_sweep_report.ipynb"
    shutil.copy(ROOT / "notebooks" / notebook.name, notebook)
    notebook.write_text(notebook.read_text().replace("data/plans/demo.yaml", str(tmp_path / "plan.yaml")))
    with serve(tmp_path, notebook, LABKIT_RUNS=str(runs)) as url:
        yield url


@pytest.mark.browser
def test_run_all_in_jupyterlab(lab):
    with page_at(lab) as page:
        run_all(page)
        page.wait_for_function(
            "document.body.innerText.includes('All 10 cells of the plan were measured')", timeout=90_000
        )
        found = outputs(page)
        assert not [output for output in found if output["output_type"] == "error"]
        shown = [output.get("data", {}) for output in found]
        assert sum("application/vnd.plotly.v1+json" in data for data in shown) == 4
        assert any("At T = 0 with 1 user" in str(data.get("text/plain")) for data in shown)
        scroll_to(page, "speedup_by_k")
        page.wait_for_selector(".js-plotly-plot .main-svg", timeout=30_000)
        page.screenshot(path=ARTEFACTS / "jupyterlab.png")
