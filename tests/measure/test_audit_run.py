"""The order of an audit's engines, on simulated ones."""

from contextlib import closing
from dataclasses import replace

import psutil
import pytest

from labkit.analysis.lossless import audit
from labkit.analysis.lossless_family import Family
from labkit.config import Drafter, EngineConfig, Sampling, Simulation, SpecConfig
from labkit.errors import MeasurementError
from labkit.measure.audit import AuditPlan
from labkit.measure.audit_run import Asked, drafts_known, launched
from tests.conftest import SPECS


def config(faults=()):
    free = Simulation(base=0.0, per_token=0.0, draft_base=0.0, draft_per_token=0.0, faults=faults)
    return EngineConfig(target="markov", kind="simulated", simulation=free, start_timeout=30.0)


def plan(workload, temperature, **changes):
    prompts = [replace(p, id=f"{p.id}-{i}") for i in range(6) for p in workload.prompts]
    asked = AuditPlan(prompts=tuple(prompts), sampling=Sampling(temperature=temperature), max_tokens=90)
    return AuditPlan(**dict(vars(asked)) | changes)


def children():
    return {c for c in psutil.Process().children(recursive=True) if c.status() != psutil.STATUS_ZOMBIE}


def test_each_engine_is_started_once(tmp_path, workload):
    """Two drafters at two temperatures: the control of a temperature is the same for both."""
    said, before, running = [], children(), []
    plans = (plan(workload, 0.8, tokens=600, block=4), plan(workload, 0.0, tokens=300, block=4, max_tokens=20))
    asked = [Asked(spec=SPECS[name], plans=plans) for name in ("draft_model", "ngram")]
    controls = []
    with closing(launched(config(), asked, logs=tmp_path, say=said.append)) as audits:
        for one in audits:
            running.append(len(children() - before))
            assert one.engine.k == one.spec.k
            texts = one.texts()
            if one.plan.sampling.temperature:
                blocks = list(texts)
                assert len(blocks) > 1
                assert all(text.accepted is not None for block in blocks for text in block.tested)
                assert all(text.accepted is None for block in blocks for text in block.control)
                controls.append(blocks[0].control)
            else:
                assert texts.partings["speculation"] == ()
    assert len(running) == 4
    assert all(running)
    assert controls[0] == controls[1]
    assert children() - before == set()
    assert "draft-2l K=2: sampling up to 600 tokens at T = 0.8" in said[0]
    assert {path.name for path in tmp_path.iterdir()} == {"draft-2l-K2.log", "ngram-K4.log", "baseline.log"}


def test_a_clear_fault_ends_it_and_stops_the_engine(tmp_path, workload):
    before = children()
    asked = Asked(spec=SPECS["draft_model"], plans=(plan(workload, 0.8, tokens=5000, block=12),))
    with closing(launched(config(("recovered_from_p",)), [asked], logs=tmp_path)) as audits:
        found = audit(next(audits).texts(), family=Family(k=2, categories=("code", "text_to_sql")), budget=5000)
    assert found.verdict == "fault"
    assert children() - before == set()


def test_an_engine_that_cannot_be_asked_leaves_the_others_whole(tmp_path, workload):
    """It dies after its first answer; what it could not answer is raised when the texts are asked for."""
    dying = config(("die_after:1",))
    asked = [Asked(spec=SPECS["ngram"], plans=(plan(workload, 0.8, block=1, tokens=400),))]
    with (
        closing(launched(dying, asked, logs=tmp_path)) as audits,
        pytest.raises(MeasurementError, match="requests failed"),
    ):
        next(audits).texts()


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
