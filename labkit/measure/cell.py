"""One cell: warm up, snapshot, send the workload, snapshot, judge.

Rules of measurement: warm-up is outside both snapshots; a salt keeps prompts apart in the prefix cache
without changing their text; the end snapshot waits until the engine is quiet; what went wrong becomes a
flag with a reason.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import time
import uuid
from collections.abc import Callable, Coroutine, Sequence
from contextlib import nullcontext
from dataclasses import replace
from threading import Event

import httpx

import labkit
from labkit.config import digest
from labkit.engine.base import Engine, EngineInfo
from labkit.engine.http import api_key
from labkit.engine.metrics_page import fetch_counters
from labkit.errors import LabError, MeasurementError
from labkit.importers import Prompt
from labkit.measure import flags
from labkit.measure.client import Client
from labkit.measure.loop import run_sync
from labkit.measure.machine import MachineLoad
from labkit.measure.turns import Turns
from labkit.plan import Cell
from labkit.records import Counters, Flag, Measurement, Provenance, RequestRecord
from labkit.workloads import Workload

__all__ = ["measure_cell", "measure_in_turn", "WARM_TOLERANCE"]

WARM_TOLERANCE = 0.05
WARM_ROUNDS = 6
WARM_TOKENS = 16
QUIET_SECONDS = 15.0
#: Cores that others may keep busy before a cell is flagged. Little is enough: with every core bound, one
#: waiting thread holds up all others of a step.
BUSY_CORES = 0.1


def measure_cell(
    engine: Engine, cell: Cell, workload: Workload, *, salt: bool = True, warm: bool = True,
    stop: Event | None = None, seen: Callable[[RequestRecord], None] = lambda record: None,
) -> Measurement:  # fmt: skip
    """Measure ``cell`` on a ready engine. Blocks; works where an event loop runs already. ``stop``, once set by
    another thread, breaks it off; ``seen`` is called with every record as it is complete, warm-up left out.

    Raises:
        MeasurementError: no request succeeded, the engine died, its metrics page vanished, or ``stop`` was set;
            carries the server's words.
    """
    work = _measure(engine, cell, workload, salt=salt, warm=warm, seen=seen)
    return run_sync(_until(stop, work) if stop else work)


def measure_in_turn(
    cells: Sequence[tuple[Engine, Cell, Workload]], *, salt: bool = True, warm: bool = True
) -> list[Measurement | MeasurementError]:
    """Measure a cell on each of several ready engines, one user's prompts in turn
    (:mod:`labkit.measure.turns`). Blocks. A cell that fails gives the error that :func:`measure_cell`
    raises, and leaves the others alone."""

    async def all_of_them() -> list[Measurement | BaseException]:
        turns = Turns([cell.id for _, cell, _ in cells], tuple(pid for engine, *_ in cells for pid in engine.info.pids))

        async def one(engine: Engine, cell: Cell, workload: Workload) -> Measurement:
            try:
                return await _measure(engine, cell, workload, salt=salt, warm=warm, turns=turns)
            finally:
                turns.no_longer(cell.id)

        return await asyncio.gather(*(one(*asked) for asked in cells), return_exceptions=True)

    found = run_sync(all_of_them())
    for one in found:
        if isinstance(one, BaseException) and not isinstance(one, MeasurementError):
            raise one
    return found


async def _until(stop: Event, work: Coroutine[None, None, Measurement]) -> Measurement:
    """``work``, its requests dropped when ``stop`` is set."""
    task = asyncio.create_task(work)
    while not task.done():
        await asyncio.wait([task], timeout=0.1)
        if stop.is_set() and task.cancel():
            await asyncio.wait([task])
            raise MeasurementError("the measurement was broken off")
    return task.result()


async def _measure(
    engine: Engine, cell: Cell, workload: Workload, *, salt: bool, warm: bool,
    seen: Callable[[RequestRecord], None] = lambda record: None, turns: Turns | None = None,
) -> Measurement:  # fmt: skip
    model, started_at = engine.info.model, time.time()
    async with Client(engine.url, model, api_key=api_key()) as client:
        settled = not warm or await _warm(client, cell, workload, turns)
        before = await _quiet_counters(engine)
        if turns:
            await turns.ready(cell.id)
        load, start = MachineLoad(turns.pids if turns else engine.info.pids), time.perf_counter()
        records = await _send(client, cell, workload, salt=uuid.uuid4().hex if salt else None, seen=seen, turns=turns)
        wall, others = time.perf_counter() - start, load.others()
    if turns:  # the time of others' turns is not this cell's
        wall = sum(r.t_last or 0.0 for r in records)
    if all(record.error for record in records):
        raise MeasurementError(_cause(engine, records))
    if not engine.alive():
        raise MeasurementError(f"the engine died while {cell.label} was measured:\n{engine.last_words()}")
    after = await _quiet_counters(engine)
    delta = after.since(before)
    found = _judge(engine.info, cell, workload, delta, records, wall)
    if before.running or before.waiting:
        found.append(Flag(name="not_quiescent", reason=f"{before.running} requests of others ran at the start"))
    if not settled:
        found.append(Flag(name="not_warm", reason=f"after {WARM_ROUNDS} rounds two medians in a row still differed"))
    if engine.info.kind == "vllm" and others > BUSY_CORES:
        found.append(Flag(name="machine_busy", reason=f"others kept {others:.2f} of {os.cpu_count()} cores busy"))
    return Measurement(
        cell=cell,
        records=tuple(records),
        counters=delta,
        provenance=_provenance(engine.info, workload, started_at),
        wall_seconds=wall,
        others_cores=round(others, 4),
        flags=tuple(found),
    )


async def _send(
    client: Client, cell: Cell, workload: Workload, *, salt: str | None,
    seen: Callable[[RequestRecord], None] = lambda record: None, turns: Turns | None = None,
) -> list[RequestRecord]:  # fmt: skip
    """All conversations, at most ``cell.concurrency`` at once, in the workload's order; each request in its turn."""
    gate, epoch = asyncio.Semaphore(cell.concurrency), time.perf_counter()

    async def converse(prompt: Prompt) -> list[RequestRecord]:
        async with gate:
            messages, records = list(prompt.messages), []
            for turn, said in enumerate([None, *prompt.follow_ups]):
                if said is not None:
                    messages += [{"role": "assistant", "content": records[-1].text}, {"role": "user", "content": said}]
                async with turns.mine() if turns else nullcontext():
                    record = await client.ask(
                        prompt,
                        messages,
                        sampling=cell.sampling.body(),
                        max_tokens=workload.max_tokens,
                        cache_salt=digest(salt, prompt.id) if salt else None,
                        turn=turn,
                        epoch=epoch,
                    )
                records.append(record)
                seen(record)
                if record.error:
                    break
            return records

    done = await asyncio.gather(*(converse(prompt) for prompt in workload.prompts))
    return [record for records in done for record in records]


async def _warm(client: Client, cell: Cell, workload: Workload, turns: Turns | None) -> bool:
    """Rounds of one request per user until two consecutive median TPOTs agree within 5 %; whether they did."""
    prompts = (workload.prompts * cell.concurrency)[: cell.concurrency]
    short = replace(workload, prompts=prompts, max_tokens=min(WARM_TOKENS, workload.max_tokens))
    previous = None
    for _ in range(WARM_ROUNDS):
        records = await _send(client, cell, short, salt=uuid.uuid4().hex, turns=turns)
        times = [record.tpot for record in records if record.tpot is not None and not record.error]
        if not times:
            return True  # the measured requests will say what is wrong
        median = statistics.median(times)
        if previous is not None and abs(median - previous) <= WARM_TOLERANCE * previous:
            return True
        previous = median
    return False


async def _quiet_counters(engine: Engine) -> Counters:
    """Counters once nothing runs and they stand still; the gauges say so where that never comes."""
    deadline, previous = time.monotonic() + QUIET_SECONDS, None
    while True:
        try:
            now = await asyncio.to_thread(fetch_counters, engine.url, engine.info.model)
        except (LabError, httpx.HTTPError) as error:
            if not engine.alive():
                raise MeasurementError(f"the engine died:\n{engine.last_words()}") from None
            raise MeasurementError(f"the engine's metrics page is gone: {error}") from None
        if (not now.running and not now.waiting and now == previous) or time.monotonic() > deadline:
            return now
        previous = now
        await asyncio.sleep(0.1)


def _judge(
    info: EngineInfo, cell: Cell, workload: Workload, delta: Counters, records: list[RequestRecord], wall: float
) -> list[Flag]:
    found = [
        *flags.counter_flags(delta, k=cell.spec.k),
        flags.censored(delta, records),
        flags.contamination(delta, records),
        flags.partial(records),
        flags.degeneration(records),
        flags.pace(records, wall),
    ]
    if info.method not in (cell.spec.method, "unknown"):
        found.append(
            Flag(name="method_mismatch", reason=f"asked for {cell.spec.method}, the engine runs {info.method}")
        )
    if workload.synthetic:
        found.append(Flag(name="synthetic", reason="prompts are random tokens"))
    if cell.spec.drafter and cell.spec.drafter.options.get("rejection_sample_method") == "synthetic":
        found.append(Flag(name="synthetic", reason="the engine was told how many drafts to accept"))
    return [flag for flag in found if flag]


def _cause(engine: Engine, records: list[RequestRecord]) -> str:
    first = records[0].error
    if engine.alive():
        return f"all {len(records)} requests failed; the server says: {first}"
    return f"the engine died; the first request saw: {first}\n{engine.last_words()}"


def _provenance(info: EngineInfo, workload: Workload, started_at: float) -> Provenance:
    return Provenance(
        labkit_version=labkit.__version__,
        engine_kind=info.kind,
        model=info.model,
        engine_version=info.version,
        device=info.device,
        method_effective=info.method,
        k_effective=info.k,
        speculative_config=info.speculative_config,
        argv=info.argv,
        workload_hash=workload.hash,
        started_at=started_at,
        engine_uptime=started_at - info.started_at if info.kind != "remote" else None,
        cpu_fixes=info.cpu_fixes,
    )
