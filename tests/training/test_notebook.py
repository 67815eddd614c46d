"""The training notebook, headless, on a budget of seconds: it trains, draws, and serves what it trained; in Chinese, so
that every text of it is seen to be said."""

import json
import re
from pathlib import Path

import nbformat
import pytest

from labkit.view.report import build_report
from tests.view.test_phrases import english, figure_texts, texts

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "07_train_drafter.ipynb"
#: Of runs, the drafter, the licence; ids.
NAMES = re.compile(r"\d{8}-\d{6}-just-trained-[0-9a-f]+|just-trained|tiny|Apache|\b[0-9a-f]{8,}\b")


@pytest.mark.engine
def test_the_notebook_trains_and_serves(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_RUNS", str(tmp_path / "runs"))
    small = {"folder": str(tmp_path / "tiny"), "per_category": 3, "epochs": 2.0, "held_out": 1, "prompts": 1}
    page = build_report(NOTEBOOK, small | {"lang": "zh"}, out=tmp_path / "reports", name="trained")
    card = json.loads((tmp_path / "tiny" / "package" / "card.json").read_text())
    assert card["training"]["learning_curve"]
    text = page.read_text(encoding="utf-8")
    assert "tiny K=3" in text, "the drafter has the name of its folder"
    executed = nbformat.read(tmp_path / "reports" / "trained.ipynb", as_version=4)
    drawn = [
        o
        for cell in executed.cells
        for o in cell.get("outputs", ())
        if "application/vnd.plotly.v1+json" in o.get("data", {})
    ]
    titles = [figure["data"]["application/vnd.plotly.v1+json"]["layout"]["title"]["text"] for figure in drawn]
    assert len(titles) == 2, "the curve is redrawn in place, not once a look"
    assert "tokens per step on held-out prompts" in titles[0]
    shown = texts(text[text.index("<body>") :])
    for figure in re.findall(
        r'<div class="figure"><div[^>]*></div><script type="application/json">(.*?)</script>', text
    ):
        shown += figure_texts(json.loads(figure))
    assert [line for line in shown if english(NAMES.sub("", line))] == []
