"""Measurements as cells of the cost model: batch, step time and drafted share by hand, and what is left out."""

import math
from dataclasses import replace

import pytest

from labkit.analysis.cost import fit_cost
from labkit.analysis.cost_cells import cost_cells, running_batch
from labkit.config import Drafter, Sampling, SpecConfig
from labkit.plan import Cell, WorkloadSpec
from labkit.records import Flag, Measurement, Provenance, RequestRecord

DRAFT, NGRAM = Drafter(method="draft_model", model="demo/draft"), Drafter(method="ngram")
PROVENANCE = Provenance(
    labkit_version="0", engine_kind="simulated", model="demo", engine_version="1", device="cpu", method_effective=None,
    k_effective=None, speculative_config=None, argv=(), workload_hash="feed", started_at=1.8e9, engine_uptime=1.0,
)  # fmt: skip


def record(sent=0.0, seconds=1.0, tokens=20, accepted=None, **fields):
    """``tokens`` after the first, over ``seconds`` that begin half a second after ``sent``."""
    timed = {"t_first": 0.5, "t_last": 0.5 + seconds, "n_first": 1, "output_tokens": 1 + tokens, "prompt_id": "p"}
    timed |= fields
    drafted = None if accepted is None else (max(accepted, default=0),) * len(accepted)
    return RequestRecord(
        category="c", language="en", sent=sent, per_step_accepted=accepted, per_step_drafted=drafted,
        **timed,
    )  # fmt: skip


def measured(records, *, drafter=None, k=0, concurrency=1, block=0, flags=()):
    cell = Cell(
        target="demo", spec=SpecConfig(drafter=drafter, k=k), sampling=Sampling(temperature=0.0),
        concurrency=concurrency, workload=WorkloadSpec(), block=block,
    )  # fmt: skip
    return Measurement(
        cell=cell, records=tuple(records), counters=None, provenance=PROVENANCE, wall_seconds=9.0,
        flags=tuple(Flag(name=name, reason="seen") for name in flags),
    )  # fmt: skip


# --- nothing to tell


def test_nothing_measured_gives_no_cell():
    assert cost_cells([]) == cost_cells([]).__class__(cells=(), left_out=())
    assert math.isnan(running_batch([]))


@pytest.mark.parametrize(
    "useless",
    [
        record(error="HTTP 400"),
        record(output_tokens=None),
        record(tokens=0, seconds=0),
        record(t_first=None, t_last=None),
    ],
    ids=["failed", "no usage", "one token", "no text"],
)
def test_a_cell_that_tells_no_step_time_is_left_out_with_a_reason(useless):
    found = cost_cells([measured([useless])])
    assert found.cells == ()
    assert found.left_out == ("baseline, concurrency 1: no request tells how long its decode steps took",)
    [cell] = cost_cells([measured([useless, record(sent=9)])]).cells
    assert cell.step_seconds == pytest.approx(0.05)


def test_answers_that_came_all_at_once_tell_no_step_time():
    assert len(cost_cells([measured([record(seconds=0), record(seconds=0)])]).left_out) == 1


@pytest.mark.parametrize("flag", ["reset", "method_mismatch", "contaminated", "not_quiescent", "client_bound"])
def test_a_spoiled_cell_is_left_out_with_its_flag(flag):
    found = cost_cells([measured([record()], flags=[flag])])
    assert found.cells == ()
    assert found.left_out == (f"block 1, baseline, T=0, concurrency 1: {flag}, seen",)


def test_without_per_step_arrays_a_drafters_steps_cannot_be_counted():
    found = cost_cells([measured([record()], drafter=DRAFT, k=2)])
    assert found.cells == ()
    assert found.left_out == (
        "draft K=2, concurrency 1: the server sent no per-step acceptance, so the steps cannot be counted",
    )


# --- the running batch


@pytest.mark.parametrize(
    ("records", "batch"),
    [
        ([record(0), record(5), record(9)], 1),
        ([record(0), record(1.2)], 1),
        ([record(0), record(0)], 2),
        ([record(0), record(0.5)], 1.5),
        ([record(0, 2), record(0, 1)], (2 * 2 + 1) / 3),
        ([record(0), record(0, error="died")], 2),
        ([record(0), record(0, t_last=None)], 1),
    ],
    ids=["apart", "a pause", "together", "half", "drained", "a failed one ran too", "one that never came"],
)
def test_the_running_batch_is_that_of_a_requests_decode_time(records, batch):
    assert running_batch([records]) == pytest.approx(batch)
    assert running_batch([records, records]) == pytest.approx(batch)


def test_runs_do_not_overlap_one_another():
    assert running_batch([[record(0)], [record(0)]]) == 1


def test_the_batch_is_the_one_whose_cost_the_steps_show():
    """Two requests begin together, one takes 10 steps, one 20, at 10 + B ms a step: the mean step of a request
    takes 11.67 ms, which is B = 1.67. The mean over wall time, 1.52, would be 1.3 % of a step off."""
    short, long = record(0, 0.120, 10), record(0, 0.120 + 0.110, 20)
    [cell] = cost_cells([measured([short, long])]).cells
    assert cell.step_seconds == pytest.approx(0.350 / 30)
    assert 0.010 + 0.001 * cell.batch == pytest.approx(cell.step_seconds, rel=0.002)


# --- step time and drafted share


def test_golden_draft_cell():
    """(2, 1, 0) accepted in turn: 6 tokens in 3 steps, over .3 s: .1 s a step, every one drafted."""
    [cell] = cost_cells([measured([record(0, 0.3, 6, (2, 1, 0))], drafter=DRAFT, k=2)]).cells
    assert (cell.drafter, cell.k, cell.batch, cell.drafted_share) == ("draft", 2, 1, 1)
    assert cell.step_seconds == pytest.approx(0.1)


def test_golden_ngram_cell():
    """Two drafted steps give 5 tokens, five plain ones the rest; a request that never drafted adds ten: 2 of 17."""
    records = [record(0, 0.7, 10, (2, 1)), record(5, 1.0, 10)]
    [cell] = cost_cells([measured(records, drafter=NGRAM, k=2)]).cells
    assert cell.drafted_share == pytest.approx(2 / 17)
    assert cell.step_seconds == pytest.approx(0.1)


def test_a_first_chunk_of_several_tokens_leaves_the_step_time_as_it_is():
    """The first chunk holds prefill's token and a step of 2; 4 tokens in 2 steps follow over .2 s."""
    [cell] = cost_cells([measured([record(0, 0.2, 6, (1, 1, 1), n_first=3)], drafter=DRAFT, k=1)]).cells
    assert cell.step_seconds == pytest.approx(0.1)


def test_blocks_are_pooled_and_loads_are_not():
    blocks = [measured([record(0, seconds)], block=block) for block, seconds in enumerate((1.0, 2.0))]
    loaded = measured([record(0), record(0)], concurrency=2)
    found = cost_cells([loaded, *blocks]).cells
    assert [(cell.batch, cell.step_seconds) for cell in found] == [(1, pytest.approx(0.075)), (2, pytest.approx(0.05))]


def test_baselines_come_first_and_the_cells_can_be_fitted():
    drafted = [measured([record(0, (40 + 5 * k) * 0.02, 40, (1,) * 20)], drafter=DRAFT, k=k) for k in (1, 2, 4)]
    found = cost_cells([*drafted, measured([record(0, 1.6, 40)])])
    assert [cell.k for cell in found.cells] == [0, 1, 2, 4]
    model = fit_cost(found.cells)
    assert model.step_seconds("draft", 3, 1) == pytest.approx(0.055)
    assert model.error("draft", 1) == pytest.approx(0, abs=1e-9)


def test_a_flag_that_touches_no_step_keeps_the_cell():
    flagged = replace(measured([record()]), flags=(Flag(name="synthetic", reason="random"),))
    assert len(cost_cells([flagged]).cells) == 1
