"""A sweep without an engine: measurements whose every figure follows from a few given numbers.

Each of six prompts (three "code", three "sql") answers with 41 tokens, the first from prefill, at 40 ms a
token without speculation. A drafter accepts (K, K // 2, 0) drafts in turn; ``draft`` drafts on every step,
``ngram`` on the steps that yield the first half of the output only.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from labkit.config import Drafter, EngineConfig
from labkit.plan import Cell, Plan, WorkloadSpec
from labkit.records import Counters, EngineCounters, Measurement, Provenance, RequestRecord
from labkit.store import Run

NGRAM = Drafter(method="ngram")
DRAFT = Drafter(method="draft_model", model="demo/draft")
DECODED, TPOT = 40, 0.040
#: Speed of a (drafter, K) as a multiple of the baseline's.
GAINS = {("ngram", 2): 1.2, ("ngram", 4): 1.4, ("draft", 2): 1.1, ("draft", 4): 0.8}

Sweep = Callable[..., list[Measurement]]


def plan_of(*, drafters: Sequence[Drafter] = (NGRAM, DRAFT), blocks: int = 1, **options) -> Plan:
    options = {"temperatures": (0.0, 0.8), "workload": WorkloadSpec(max_tokens=64), "name": "demo"} | options
    engine = EngineConfig(target="demo-target", kind="simulated")
    return Plan(engine=engine, drafters=tuple(drafters), k=(2, 4) if drafters else (), blocks=blocks, **options)


def measure(cell: Cell, *, gains: Mapping[tuple[str, int], float], jitter: float, prompts: int) -> Measurement:
    noise = np.random.default_rng(int(cell.id, 16))
    gain = gains.get((cell.spec.name, cell.spec.k), 1.0)
    records = tuple(_record(cell, i, TPOT / gain * np.exp(jitter * noise.standard_normal())) for i in range(prompts))
    return Measurement(
        cell=cell, records=records, counters=_counters(cell, records), wall_seconds=10.0, provenance=_provenance(cell)
    )


def _record(cell: Cell, i: int, tpot: float) -> RequestRecord:
    accepted = _accepted(cell)
    first = 0.1 + 0.01 * i
    return RequestRecord(
        prompt_id=f"p{i}", category=("code", "sql")[i % 2], language="en", prompt_tokens=9, output_tokens=DECODED + 1,
        t_first=first, t_answer=first, t_last=first + DECODED * tpot, n_first=1, finish_reason="stop",
        output_token_ids=tuple(range(DECODED + 1)), per_step_accepted=accepted,
        per_step_drafted=None if accepted is None else (cell.spec.k,) * len(accepted),
    )  # fmt: skip


def _accepted(cell: Cell) -> tuple[int, ...] | None:
    """Enough drafted steps to yield all decoded tokens; of ``ngram`` half of them."""
    if not cell.spec.k:
        return None
    wanted, counts = DECODED // (2 if cell.spec.method == "ngram" else 1), []
    for count in itertools.cycle((cell.spec.k, cell.spec.k // 2, 0)):
        if sum(counts) + len(counts) >= wanted:
            return tuple(counts)
        counts.append(count)
    raise AssertionError


def _counters(cell: Cell, records: Sequence[RequestRecord]) -> Counters:
    generated, k = sum(r.output_tokens for r in records), cell.spec.k
    if not k:
        return Counters(model_name="demo", per_engine={"0": EngineCounters(generation_tokens=generated)})
    accepted = [a for r in records for a in r.per_step_accepted]
    engine = EngineCounters(
        drafts=len(accepted), draft_tokens=k * len(accepted), accepted_tokens=sum(accepted),
        accepted_per_pos=tuple(sum(a > i for a in accepted) for i in range(k)), generation_tokens=generated,
    )  # fmt: skip
    return Counters(model_name="demo", per_engine={"0": engine})


def _provenance(cell: Cell) -> Provenance:
    return Provenance(
        labkit_version="0", engine_kind="simulated", model="demo", engine_version="1", device="cpu",
        method_effective=cell.spec.method, k_effective=cell.spec.k or None, speculative_config=cell.spec.for_vllm(),
        argv=(), workload_hash="feed", started_at=1.8e9, engine_uptime=1.0,
    )  # fmt: skip


@pytest.fixture(scope="session")
def sweep() -> Sweep:
    """``sweep(blocks=3, drafters=…, gains=…, jitter=0.1, prompts=6)``: the measurements of such a plan."""

    def make(*, gains=GAINS, jitter: float = 0.0, prompts: int = 6, **plan) -> list[Measurement]:
        return [measure(cell, gains=gains, jitter=jitter, prompts=prompts) for cell in plan_of(**plan).cells()]

    return make


@pytest.fixture(scope="session")
def store(tmp_path_factory) -> Callable[..., Run]:
    """``store(measurements, **plan)``: a run folder of such a plan that holds ``measurements``."""

    def make(measurements: Sequence[Measurement], **plan) -> Run:
        run = Run.create(tmp_path_factory.mktemp("runs") / "run-1", plan_of(**plan), "feed")
        for measurement in measurements:
            run.save(measurement)
        return run

    return make
