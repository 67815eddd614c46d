"""Audits from beginning to end: what of a run is audited and kept; on real engines, the fault that is really there."""

from dataclasses import replace

import pytest

from labkit.analysis.lossless_family import ACCEPTANCE, DRAFTED
from labkit.auditing import audit, audit_plan, audit_started
from labkit.config import EngineConfig, read
from labkit.errors import ConfigError
from labkit.measure.sweep import sweep
from labkit.plan import Plan, WorkloadSpec
from labkit.workloads import load_workload
from tests.conftest import NGRAM, SPECS

ASKED = {"max_tokens": 60, "block": 12, "say": lambda _: None}


def simulated(tmp_path, faults=(), drafters=({"method": "ngram"},), **changes):
    """A run of the simulated engine."""
    plan = {
        "engine": {"target": "markov", "kind": "simulated", "simulation": {"base": 0.0, "faults": faults}},
        "drafters": drafters, "k": (1, 3, 4), "temperatures": (0.0, 0.8), "blocks": 1, "warmup": "engine",
        "workload": {"categories": ("code",), "per_category": 12, "max_tokens": 8},
    }  # fmt: skip
    return sweep(read(Plan, plan | changes, where="test"), out=tmp_path / "run")


def kept(audits):
    return [(one.drafter, one.k, one.temperature) for one in audits]


def test_every_drafter_is_audited_at_every_temperature(tmp_path):
    """At its smallest K from 2 on."""
    run = simulated(tmp_path, drafters=({"method": "ngram"}, {"method": "eagle3", "model": "demo/head"}))
    audits = audit(run, tokens=300, **ASKED)
    assert kept(audits) == [("head", 3, 0.0), ("head", 3, 0.8), ("ngram", 3, 0.0), ("ngram", 3, 0.8)]
    assert audits == run.audits()
    assert audits[0].verdict == "no fault found"
    assert audits[0].found["arms"][0]["parted"] == 0
    assert {test["test"] for test in audits[1].found["tests"]} >= {"all tokens", "position 3", "bonus token"}
    assert audits[1].engine.startswith("simulated ")


def test_what_is_kept_stays_unless_it_is_asked_for_again(tmp_path):
    run, said = simulated(tmp_path, k=(1,), temperatures=(0.8,)), []
    (first,) = audit(run, tokens=200, **ASKED | {"say": said.append})
    assert (first.k, said[-1]) == (1, f"ngram K=1 at T = 0.8: {first.verdict}")
    assert audit(run, tokens=200, **ASKED) == [first]
    assert audit(run, tokens=0) == [first]
    (again,) = audit(run, tokens=200, again=True, **ASKED)
    assert again.at > first.at
    assert again.found == first.found, "the simulated engine gives the same text"
    assert kept(audit(run, tokens=200, temperatures=[1.0], k=2, **ASKED)) == [("ngram", 1, 0.8), ("ngram", 2, 1.0)]


def test_an_engine_that_dies_is_a_refusal_with_its_reason(tmp_path):
    run = simulated(tmp_path, k=(3,), temperatures=(0.8,))
    engine = run.plan.engine
    dying = replace(engine, simulation=replace(engine.simulation, faults=("die_after:1",)))
    run.plan = replace(run.plan, engine=dying)
    (found,) = audit(run, tokens=400, **ASKED | {"block": 1})
    assert found.verdict == "refused"
    assert "requests failed" in found.why[0]
    assert found.tokens == 0


def test_a_run_without_a_drafter(tmp_path):
    run = simulated(tmp_path, drafters=(), k=())
    with pytest.raises(ConfigError, match="holds the baseline only; there is no drafter to audit"):
        audit(run)


# --- on real engines

PROMPTS = load_workload(WorkloadSpec(per_category=8)).prompts


@pytest.mark.engine
def test_the_lost_temperature_is_flagged_without_the_repair(tmp_path, monkeypatch):
    """vLLM's CPU build loses the temperature on its way to the verification of drafts. Asked without top_k, which
    would kill the unrepaired engine in another place. At T = 0.4 it is one nearly twice too high, found and located
    within 1,000 tokens; at 0.8 it is 25 % too high, which may be found by 3,000 tokens without being located."""
    monkeypatch.setenv("LABKIT_RUNS", str(tmp_path))
    config = EngineConfig(target="demo", env={"LABKIT_CPU_FIXES": "0"})
    (found,) = audit_started([audit_plan(PROMPTS, 0.4, top_k=0, tokens=2000)], config, SPECS["eagle3"])
    assert found.verdict == "fault", found.why
    assert found.top_k == 0
    named = {origin.name for origin in found.origins}
    assert named & {"verification", "tail"}, found.why
    assert "undrafted" not in named, "tokens without drafts take another way"
    assert not any(finding.fault for finding in found.control)


@pytest.mark.engine
def test_with_the_repair_it_passes(tmp_path, monkeypatch):
    """With top_k and without, and with every test there is: places, drafts and scores are all known."""
    monkeypatch.setenv("LABKIT_RUNS", str(tmp_path))
    plans = [audit_plan(PROMPTS, 0.8, top_k=top_k, tokens=1000) for top_k in (0, 20)]
    for found in audit_started(plans, EngineConfig(target="demo"), SPECS["draft_model"]):
        assert found.verdict == "no fault found", found.why
        assert found.tokens >= 1000
        assert found.unavailable == ()
        assert found.finding(DRAFTED).tokens > 0.8 * found.tokens
        assert found.finding(ACCEPTANCE).tokens > 300
        assert 1 < found.finding("all tokens").visible < 1.5
        assert not any(finding.fault for finding in found.control)


@pytest.mark.engine
def test_a_run_of_prompt_lookup_passes(tmp_path):
    """At T = 0 and 0.8, with its drafts known from vLLM's own proposer."""
    plan = {
        "engine": {"target": "demo"}, "drafters": ({"method": "ngram", "options": NGRAM.options},), "k": (4,),
        "temperatures": (0.0, 0.8), "blocks": 1, "warmup": "engine",
        "workload": {"categories": ("editing",), "per_category": 24, "max_tokens": 2},
    }  # fmt: skip
    run = sweep(read(Plan, plan, where="test"), out=tmp_path / "run")
    greedy, hot = audit(run, tokens=1000, **ASKED)
    assert greedy.verdict == "no fault found", greedy.why
    assert hot.verdict == "no fault found", hot.why
    tests = {test["test"]: test["tokens"] for test in hot.found["tests"]}
    assert tests["acceptance"] > 100
    assert tests["first of a step, drafted or not"] == 0
    assert hot.found["unavailable"] == greedy.found["unavailable"] == []
    assert hot.engine.startswith("vllm 0.")
