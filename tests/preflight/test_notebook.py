"""The notebook on launches, headless: the article's command is judged, and the wrong tokenizer is measured."""

from pathlib import Path

import pytest
import yaml

from labkit.analysis import acceptance
from labkit.store import latest_run
from labkit.view.report import build_report

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "notebooks" / "06_before_you_launch.ipynb"


def test_the_notebook_judges_a_command_without_an_engine(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_RUNS", str(tmp_path / "runs"))
    plan = {
        "engine": {"target": "markov", "kind": "simulated", "simulation": {"base": 0.001}},
        "drafters": [{"method": "draft_model", "model": "a"}, {"method": "draft_model", "model": "b"}],
        "k": [3],
        "workload": {"categories": ["code"], "per_category": 2, "max_tokens": 16},
        "blocks": 1,
    }
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump(plan))
    asked = {"launch": "deepseek-r1-mtp", "plan": str(tmp_path / "plan.yaml"), "run": "new"}
    text = build_report(NOTEBOOK, asked, out=tmp_path / "reports", name="launch").read_text(encoding="utf-8")
    assert "vllm serve deepseek-ai/DeepSeek-R1" in text
    assert "draft_tp_of_draft_model" in text
    assert "not looked at" in text


@pytest.mark.engine
def test_the_notebook_judges_a_command_and_measures_a_wrong_tokenizer(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_RUNS", str(tmp_path / "runs"))
    plan = yaml.safe_load((ROOT / "data/plans/tokenizers.yaml").read_text(encoding="utf-8"))
    plan["workload"] = {"categories": ["code"], "per_category": 2, "max_tokens": 16}
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump(plan))
    asked = {"plan": str(tmp_path / "plan.yaml"), "run": "new"}
    text = build_report(NOTEBOOK, asked, out=tmp_path / "reports", name="launch").read_text(encoding="utf-8")
    assert "14 attention heads cannot be divided over 4 GPUs" in text
    assert "vllm serve /models/Qwen2.5-72B-Instruct" in text
    cells = {m.cell.spec.name: m for m in latest_run(tmp_path / "runs").measurements()}
    lengths = {
        name: acceptance.from_records(m.records).mean_acceptance_length for name, m in cells.items() if m.cell.spec.k
    }
    assert lengths["draft-2l"] > 1.2 > 1.1 > lengths["wrong-tokenizer"]
    assert "ids mean other tokens" in cells["wrong-tokenizer"].flag("incompatible").reason
    assert cells["draft-2l"].flag("incompatible") is None
