"""One cell, measured on the twin and on vLLM."""

import dataclasses
import threading
import time

import pytest

from labkit.config import Drafter, Sampling, SpecConfig
from labkit.errors import MeasurementError
from labkit.importers import Prompt
from labkit.measure.cell import measure_cell
from labkit.plan import Cell, WorkloadSpec
from tests.conftest import NGRAM, SPECS, on_vllm


def cell(spec=SPECS["ngram"], *, temperature=0.0, concurrency=4, **sampling):
    return Cell(
        target="markov",
        spec=spec,
        sampling=Sampling(temperature=temperature, **sampling),
        concurrency=concurrency,
        workload=WorkloadSpec(max_tokens=32),
    )


def agree(measurement, spec):
    """Counters of the server equal the sums over requests, exactly; nothing is flagged against the cell."""
    total, records = measurement.counters.total, measurement.records
    assert {flag.name for flag in measurement.flags} <= {"degenerate", "machine_busy", "not_warm"}
    assert total.generation_tokens == sum(r.output_tokens for r in records)
    assert total.prefix_cache_hits == 0, "the salt keeps prompts apart"
    if spec.k:
        assert total.drafts == sum(len(r.per_step_drafted) for r in records)
        assert total.draft_tokens == sum(map(sum, (r.per_step_drafted for r in records)))
        assert total.accepted_tokens == sum(map(sum, (r.per_step_accepted for r in records)))
        for i, count in enumerate(total.accepted_per_pos, start=1):
            assert count == sum(a >= i for r in records for a in r.per_step_accepted)


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_counters_and_requests_agree_on_the_twin(simulate, workload, name, temperature):
    asked = cell(SPECS[name], temperature=temperature)
    measurement = measure_cell(simulate(SPECS[name], base=0.003), asked, workload)
    agree(measurement, SPECS[name])
    assert [r.prompt_id for r in measurement.records] == [p.id for p in workload.prompts]
    assert measurement.records[0].sampling["temperature"] == temperature
    assert measurement.provenance.workload_hash == workload.hash


@on_vllm("baseline", "ngram", "draft_model")
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_counters_and_requests_agree_on_vllm(vllm, workload, temperature):
    spec = vllm.info.requested
    measurement = measure_cell(vllm, cell(spec, temperature=temperature), workload, warm=False)
    agree(measurement, spec)
    assert measurement.provenance.engine_version == "0.32.0"
    assert measurement.provenance.speculative_config == spec.for_vllm()


def test_warm_up_is_outside_the_counters(simulate, workload):
    engine = simulate()
    warm = measure_cell(engine, cell(), workload)
    cold = measure_cell(engine, cell(), workload, warm=False)
    assert warm.counters.total.generation_tokens == cold.counters.total.generation_tokens


def test_without_a_salt_the_prefix_cache_hits(simulate, workload):
    engine = simulate()
    prompts = tuple(
        dataclasses.replace(p, messages=({"role": "user", "content": "x" * 200},)) for p in workload.prompts
    )
    same = dataclasses.replace(workload, prompts=prompts)
    assert measure_cell(engine, cell(), same, salt=False, warm=False).counters.total.prefix_cache_hits > 0
    assert measure_cell(engine, cell(), same, warm=False).counters.total.prefix_cache_hits == 0


@pytest.mark.parametrize(("fault", "flag"), [("extra_load", "contaminated"), ("error_mid_stream", "partial")])
def test_faults_of_a_server_become_flags(simulate, workload, fault, flag):
    found = measure_cell(simulate(faults=(fault,)), cell(), workload, warm=False)
    assert flag in {f.name for f in found.flags}


def test_an_engine_that_never_falls_quiet(simulate, workload, monkeypatch):
    monkeypatch.setattr("labkit.measure.cell.QUIET_SECONDS", 0.3)
    found = measure_cell(simulate(faults=("stuck_running",)), cell(), workload, warm=False)
    assert found.flag("not_quiescent")


def test_another_method_than_asked_for(simulate, workload):
    engine = simulate(SPECS["ngram"])
    found = measure_cell(engine, cell(SPECS["draft_model"]), workload, warm=False)
    assert "asked for draft_model, the engine runs ngram" in found.flag("method_mismatch").reason
    assert found.discarded


def test_refused_requests_make_the_cell_invalid_with_the_servers_words(simulate, workload):
    with pytest.raises(MeasurementError, match=r"all 6 requests failed; the server says: HTTP 400: .*min_p"):
        measure_cell(simulate(), cell(min_p=0.3), workload, warm=False)


def test_a_dying_engine_is_named(simulate, workload):
    engine = simulate(faults=("die_after:2",))
    with pytest.raises(MeasurementError, match=r"metrics page is gone|engine died"):
        measure_cell(engine, cell(), workload, warm=False)
    assert not engine.alive()


def test_a_conversation_is_sent_turn_by_turn(simulate, workload):
    talk = Prompt(
        id="t", category="c", language="en", messages=({"role": "user", "content": "a"},), follow_ups=("b", "c")
    )
    found = measure_cell(simulate(), cell(), dataclasses.replace(workload, prompts=(talk,)), warm=False)
    assert [r.turn for r in found.records] == [0, 1, 2]
    lengths = [r.prompt_tokens for r in found.records]
    assert lengths[1] > lengths[0] + found.records[0].output_tokens


def test_no_more_requests_at_once_than_users(simulate, workload):
    engine = simulate(SPECS["baseline"], base=0.01)
    for users in (1, 3):
        found = measure_cell(engine, cell(SPECS["baseline"], concurrency=users), workload, warm=False)
        spans = sorted((r.sent, r.sent + r.t_last) for r in found.records)
        most = max(sum(start <= at < end for start, end in spans) for at, _ in spans)
        assert most == users


def test_it_works_where_a_loop_runs_already(simulate, workload):
    import asyncio

    async def notebook():
        return measure_cell(simulate(), cell(), workload, warm=False)

    assert len(asyncio.run(notebook()).records) == 6


def test_speed_follows_the_step_costs(simulate, workload):
    """A twin whose steps take 20 ms gives a TPOT of 20 ms without speculation."""
    engine = simulate(SPECS["baseline"], base=0.02)
    found = measure_cell(engine, cell(SPECS["baseline"], concurrency=1), workload, warm=False)
    tpots = [r.tpot for r in found.records]
    assert sum(tpots) / len(tpots) == pytest.approx(0.0205, rel=0.15)
    assert time.time() - found.provenance.started_at < 60


def test_k_of_the_cell_is_checked_against_the_counters(simulate, workload):
    engine = simulate(SpecConfig(drafter=NGRAM, k=6))
    assert engine.info.k == 6


def test_a_measurement_is_broken_off_where_nobody_can_stop_the_server(simulate, workload):
    """As with a server elsewhere: its requests are dropped, and it goes on."""
    engine, stop, seen = simulate(SPECS["ngram"], base=0.05), threading.Event(), []

    def first(record):
        seen.append(record)
        stop.set()

    began = time.monotonic()
    with pytest.raises(MeasurementError, match="broken off"):
        measure_cell(engine, cell(concurrency=1), workload, warm=False, stop=stop, seen=first)
    assert time.monotonic() - began < 10
    assert len(seen) <= 2
    assert engine.alive()


def test_every_record_is_shown_as_it_comes_warm_up_left_out(simulate, workload):
    seen = []
    found = measure_cell(simulate(SPECS["ngram"]), cell(), workload, seen=seen.append)
    assert sorted(r.prompt_id for r in seen) == sorted(r.prompt_id for r in found.records)


def test_synthetic_acceptance_is_flagged(simulate, workload):
    told = Drafter(method="ngram", options={"rejection_sample_method": "synthetic", "synthetic_acceptance_length": 2})
    spec = SpecConfig(drafter=told, k=4)
    found = measure_cell(simulate(SPECS["ngram"]), cell(spec), workload, warm=False)
    assert "synthetic" in {flag.name for flag in found.flags}
