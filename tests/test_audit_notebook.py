"""The notebook of losslessness, headless: on a simulated run whose drafter has a fault, and auditing a real engine."""

import json
from pathlib import Path

import nbformat
import pytest

from labkit.config import read
from labkit.measure.sweep import sweep
from labkit.plan import Plan
from labkit.view.report import build_report

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "03_losslessness.ipynb"
SUMMARY, FIGURE = "application/vnd.labkit.summary+json", "application/vnd.plotly.v1+json"


def outputs(folder, mime):
    cells = nbformat.read(folder / "audited.ipynb", as_version=4).cells
    return [o["data"][mime] for cell in cells for o in cell.get("outputs", ()) if mime in o.get("data", {})]


def test_a_fault_is_shown_and_bars_the_drafter(tmp_path):
    plan = {
        "engine": {"target": "markov", "kind": "simulated", "simulation": {"base": 0.0, "faults": ["ignore_top_k"]}},
        "drafters": ({"method": "draft_model", "model": "demo/draft"},), "k": (2,), "temperatures": (0.0, 0.8),
        "blocks": 1, "warmup": "engine", "workload": {"categories": ("code",), "max_tokens": 8},
    }  # fmt: skip
    run = sweep(read(Plan, plan, where="test"), out=tmp_path / "run")
    page = build_report(NOTEBOOK, {"run": str(run.folder), "tokens": 2000}, out=tmp_path / "out", name="audited")
    assert [(a.temperature, a.verdict) for a in run.audits()] == [(0.0, "no fault found"), (0.8, "fault")]
    (figure,) = outputs(tmp_path / "out", FIGURE)
    assert figure["layout"]["title"]["text"].startswith("draft K=2 at T = 0.8 is not lossless: outside (p = ")
    (summary,) = outputs(tmp_path / "out", SUMMARY)
    assert any("draft K=2 at T = 0.8 is left out" in line for line in summary["verdict"])
    text = page.read_text(encoding="utf-8")
    for part in ("greedy text", "distribution of tokens", "baseline in other batches", "bonus token"):
        assert part in text


@pytest.mark.engine
def test_a_real_engine_is_audited(tmp_path):
    plan = {
        "engine": {"target": "demo"}, "drafters": ({"method": "eagle3", "model": "demo/eagle3"},), "k": (2,),
        "temperatures": (0.8,), "blocks": 1, "warmup": "engine", "workload": {"per_category": 4, "max_tokens": 4},
    }  # fmt: skip
    run = sweep(read(Plan, plan, where="test"), out=tmp_path / "run")
    page = build_report(NOTEBOOK, {"run": str(run.folder), "tokens": 1000}, out=tmp_path / "out", name="audited")
    (audited,) = run.audits()
    assert audited.verdict == "no fault found", audited.why
    assert audited.found["tokens"] >= 1000
    assert json.loads((run.folder / "audits" / "eagle3-K2-T0.8.json").read_text())["found"] == audited.found
    assert "sampling up to 1000 tokens at T = 0.8" in page.read_text(encoding="utf-8"), "folded, but kept"
