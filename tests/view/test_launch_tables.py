"""Tables of what preflight says: findings of a launch, rules with their versions, engines of a plan."""

import pandas as pd
import pytest

import labkit
from labkit.config import Drafter, EngineConfig
from labkit.plan import Plan
from labkit.preflight import load_preset, load_rules, look
from tests.preflight.conftest import permuted, write_folder

PRESET = "qwen2.5-72b-0.5b"


def test_findings_of_a_look_the_worst_first():
    looked = look(PRESET)
    table = labkit.tables.findings(looked)
    assert list(table.columns) == ["level", "rule", "message", "source"]
    assert list(table["rule"]) == [finding.rule for finding in load_preset(PRESET).findings()]
    assert list(table["level"])[:2] == ["incompatible", "incompatible"]
    assert table.equals(labkit.tables.findings(looked.report))


def test_sentences_are_shown_whole():
    table = labkit.tables.findings(look(PRESET))
    html = labkit.show(table)._repr_mimebundle_()["text/html"]
    assert "cannot be divided over 4 GPUs, on which the draft runs; take another draft" in html


def test_every_rule_has_its_versions():
    table = labkit.tables.rules()
    assert len(table) == sum(len(rule.states) for rule in load_rules().rules)
    rows = table[table["rule"] == "draft_tp_of_draft_model"].set_index("versions")
    assert list(rows["state"]) == ["supported", "unsupported", "unknown"]
    assert list(rows.index) == ["first to 0.9", "0.15 to 0.32", "0.32"]
    assert list(rows["runner"]) == ["both", "V1", "V2"]
    assert set(table[table["rule"] == "hidden_size"]["versions"]) == {"all"}
    assert table["source"].all()


@pytest.fixture
def plan(tmp_path):
    target = write_folder(tmp_path / "target")
    drafts = write_folder(tmp_path / "right"), write_folder(tmp_path / "wrong", tokens=permuted())
    drafters = tuple(Drafter(method="draft_model", model=str(folder)) for folder in drafts)
    return Plan(engine=EngineConfig(target=str(target), max_model_len=256), drafters=drafters, k=(3,))


def test_the_engines_of_a_plan(plan):
    table = labkit.tables.engines(plan)
    found = table.set_index("engine")
    assert list(found.index) == ["baseline", "right K=3", "wrong K=3"]
    assert found.loc["wrong K=3", ["tokenizer", "differing_ids"]].tolist() == ["incompatible", 260]
    assert found.loc["right K=3", "tokenizer"] == "same"
    assert pd.isna(found.loc["baseline", "differing_ids"])
    assert found.loc["wrong K=3", "why"].startswith("tokenizer: 260 ids mean other tokens")
    assert found.loc["wrong K=3", "verdict"] == "incompatible"
    assert "–" in repr(labkit.show(table))


def test_engines_that_are_not_looked_at_say_so():
    table = labkit.tables.engines(Plan(engine=EngineConfig(target="markov", kind="simulated")))
    assert table[["engine", "verdict"]].to_numpy().tolist() == [["baseline", "not looked at"]]
    labkit.show(table)
