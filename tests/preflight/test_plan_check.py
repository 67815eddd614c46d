"""A plan's engines before anything is started: what is refused, what is not looked at, and each pair read once."""

import json

import pytest

from labkit.config import Drafter, EngineConfig
from labkit.drafters.demo import WRONG
from labkit.errors import ConfigError
from labkit.plan import Plan
from labkit.preflight import check
from labkit.preflight.plan_check import PlanCheck
from tests.preflight.conftest import permuted


def plan_of(target, *drafts, k=(2, 4), **changes):
    drafters = tuple(Drafter(method="draft_model", model=str(draft)) for draft in drafts)
    engine = EngineConfig(target=str(target), max_model_len=256, **changes.pop("engine", {}))
    return Plan(engine=engine, drafters=drafters, k=k if drafts else (), **changes)


def test_a_draft_with_another_tokenizer_is_refused_at_every_k_and_nothing_else(folder):
    right, wrong = folder("right"), folder("wrong", tokens=permuted())
    refused = PlanCheck(plan_of(folder("target"), right, wrong)).all_refused()
    assert list(refused) == ["wrong K=2", "wrong K=4"]
    assert refused["wrong K=2"][0].startswith("tokenizer: 260 ids mean other tokens")


def test_a_rule_may_refuse_one_k_alone(folder):
    args = ("--max-cudagraph-capture-size", "4")
    check = PlanCheck(plan_of(folder("target"), folder("draft"), engine={"args": args}))
    assert [label.split(":")[0] for label in check.all_refused()] == ["draft K=4"]


def test_parallelism_of_the_engine_counts_for_the_baseline_too(folder):
    refused = PlanCheck(plan_of(folder("target"), engine={"args": ("-tp", "3")})).all_refused()
    assert list(refused) == ["baseline"]
    assert "4 attention heads cannot be divided over 3 GPUs" in refused["baseline"][0]


def test_each_pair_is_read_once(folder, monkeypatch):
    read = []
    monkeypatch.setattr(check, "read_vocabulary", lambda path: read.append(path.name))
    PlanCheck(plan_of(folder("target"), folder("a"), folder("b"), k=(1, 2, 3))).all_refused()
    assert sorted(read) == ["a", "b", "target", "target"]


@pytest.mark.parametrize(("mode", "refused"), [("clean", []), ("as_served", ["draft K=2", "draft K=4"])])
def test_a_generation_config_counts_where_requests_leave_it_to_the_server(folder, mode, refused):
    target = folder("target")
    (target / "generation_config.json").write_text(json.dumps({"min_p": 0.05}))
    assert list(PlanCheck(plan_of(target, folder("draft"), sampling=mode)).all_refused()) == refused


@pytest.mark.parametrize(
    "engine", [{"kind": "simulated"}, {"kind": "remote", "urls": {"baseline": "http://x", "q K=2": "http://y"}}]
)
def test_what_labkit_does_not_start_with_vllm_is_not_looked_at(engine):
    assert PlanCheck(plan_of("markov", "q", engine=engine)).all_refused() == {}


def test_a_missing_folder_is_named(folder):
    with pytest.raises(ConfigError, match=r"no draft at '\./nowhere'"):
        PlanCheck(plan_of(folder("target"), "./nowhere")).all_refused()


def test_the_demo_is_not_refused_but_the_draft_made_to_fail_is(demo_folder):
    demo_folder("demo")
    head = Drafter(method="eagle3", model="demo/eagle3")
    drafters = (head, *(Drafter(method="draft_model", model=m) for m in ("demo/draft-2l", WRONG)))
    plan = Plan(engine=EngineConfig(target="demo"), drafters=(*drafters, Drafter(method="ngram")), k=(1, 3))
    assert list(PlanCheck(plan).all_refused()) == ["wrong-tokenizer K=1", "wrong-tokenizer K=3"]
