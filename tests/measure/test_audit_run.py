"""The order of an audit's engines, on simulated ones."""

from contextlib import closing

import psutil
import pytest

from labkit.analysis.lossless import audit
from labkit.analysis.lossless_family import Family
from labkit.config import Drafter, EngineConfig, Sampling, Simulation, SpecConfig
from labkit.measure.audit import AuditPlan
from labkit.measure.audit_run import drafts_known, launched_blocks, launched_greedy
from tests.conftest import SPECS


def config(faults=()):
    free = Simulation(base=0.0, per_token=0.0, draft_base=0.0, draft_per_token=0.0, faults=faults)
    return EngineConfig(target="markov", kind="simulated", simulation=free, start_timeout=30.0)


def plan(workload, temperature, **changes):
    asked = AuditPlan(prompts=workload.prompts * 6, sampling=Sampling(temperature=temperature), max_tokens=90)
    return AuditPlan(**dict(vars(asked)) | changes)


def children():
    return {c for c in psutil.Process().children(recursive=True) if c.status() != psutil.STATUS_ZOMBIE}


def test_engines_are_started_one_after_the_other(tmp_path, workload):
    said, before, running = [], children(), []
    asked = plan(workload, 0.8, tokens=600, block=4)
    blocks = launched_blocks(config(), SPECS["draft_model"], asked, logs=tmp_path, say=said.append)
    with closing(blocks):
        for tested, control in blocks:
            running.append(len(children() - before))
            assert [text.prompt_id for text in tested] == [text.prompt_id for text in control]
            assert all(text.accepted is not None for text in tested)
            assert all(text.accepted is None for text in control)
    assert len(running) > 1
    assert all(running)
    assert children() - before == set()
    assert "draft-2l K=2: sampling up to 600 tokens at T = 0.8" in said[0]
    assert {path.name for path in tmp_path.iterdir()} == {"draft-2l.log", "baseline.log"}


def test_a_clear_fault_ends_it_and_stops_the_engine(tmp_path, workload):
    before = children()
    blocks = launched_blocks(
        config(("recovered_from_p",)), SPECS["draft_model"], plan(workload, 0.8, tokens=5000, block=12), logs=tmp_path
    )
    with closing(blocks):
        found = audit(blocks, family=Family(k=2, categories=("code", "text_to_sql")), budget=5000)
    assert found.verdict == "fault"
    assert children() - before == set()


def test_greedy_texts_of_engines_started_here(tmp_path, workload):
    texts = launched_greedy(config(), SPECS["ngram"], plan(workload, 0.0, max_tokens=20), logs=tmp_path)
    assert texts.partings["speculation"] == ()


@pytest.mark.parametrize(
    ("kind", "spec", "known"),
    [
        ("simulated", SPECS["draft_model"], False),
        ("vllm", SPECS["draft_model"], True),
        ("vllm", SPECS["eagle3"], False),
        ("vllm", SpecConfig(drafter=Drafter(method="suffix"), k=3), False),
    ],
)
def test_whose_drafts_can_be_known(kind, spec, known):
    assert drafts_known(EngineConfig(target="demo", kind=kind), spec) == known
