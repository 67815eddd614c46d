"""A plan, carried out: engines in blocks, cells on engines, every finished cell stored at once."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from labkit.config import SpecConfig
from labkit.engine import Engine, check, launch
from labkit.errors import ConfigError, IncompatibleError, LabError, MeasurementError
from labkit.measure.cell import measure_cell, measure_in_turn
from labkit.paths import runs_root
from labkit.plan import Cell, Plan, load_plan
from labkit.preflight.plan_check import PlanCheck
from labkit.records import Flag, Measurement
from labkit.store import Run, latest_run, open_run
from labkit.workloads import Workload, load_workload

__all__ = ["sweep", "open_or_sweep", "Progress", "dry_run"]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """After each cell: ``done`` of ``total`` cells, the cell, what failed (None: it was measured), and
    the seconds that are left at the pace so far."""

    done: int
    total: int
    cell: Cell
    failure: str | None
    eta: float


def sweep(
    plan: Plan | str | Path,
    *,
    out: str | Path | None = None,
    root: str | Path | None = None,
    resume: bool = False,
    force: bool = False,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Run:
    """Measure every cell of ``plan`` (or of the plan in that file) that is not measured yet; returns the
    run, failures included.

    ``out`` is the run folder; without it a new one is made under ``root`` (default: ``runs/``), or with
    ``resume`` the newest of this plan is continued. One failed cell never loses the others. ``force`` measures
    what preflight finds incompatible as well; those cells carry a flag that says why.

    Raises:
        IncompatibleError: an engine of the plan cannot work as meant, and there is no ``force``; nothing was started.
        UsageError: the prompts, a model or the folder is not usable; nothing was started.
        MeasurementError: the disk is full; what was stored is whole.
    """
    plan = plan if isinstance(plan, Plan) else load_plan(plan)
    workload = load_workload(plan.workload)
    refused = PlanCheck(plan).all_refused()
    if refused and not force:
        raise IncompatibleError(_refusal(refused))
    check(plan.engine, plan.specs)
    run = _run_folder(plan, workload, out, Path(root or runs_root()), resume)
    ticker = _Ticker(total=len(plan.cells()), done=len(plan.cells()) - len(run.missing()), report=progress)
    for block in plan.blocks_in_order():
        if plan.together:
            _measure_block(plan, block, run, ticker, refused)
            continue
        for spec, cells in block:
            todo = [cell for cell in cells if not run.has(cell)]
            while todo:
                todo = _measure_engine(plan, spec, todo, run, ticker, refused.get(spec.label, ()))
    return run


def open_or_sweep(
    run: str, plan: Plan, *, force: bool = False, progress: Callable[[Progress], None] = lambda _: None
) -> Run:
    """What a notebook shows: ``new`` measures ``plan``, ``latest`` is its newest run (measured now if there
    is none), anything else a run folder.

    Raises:
        StoreError: no run in that folder; and what :func:`sweep` raises.
    """
    if run == "new":
        return sweep(plan, force=force, progress=progress)
    if run == "latest":
        return latest_run(plan=plan) or sweep(plan, force=force, progress=progress)
    return open_run(run)


def dry_run(plan: Plan, *, run: Run | None = None) -> dict[str, object]:
    """What a sweep would do: cells to measure with their prompts, engine starts, the most tokens in all, and what
    preflight refuses, by engine; ``unchecked`` says why it could not look, where a model is not here."""
    todo = [cell for cell in plan.cells() if run is None or not run.has(cell)]
    prompts = {cell.id: len(load_workload(cell.workload).prompts) for cell in todo}
    refused, unchecked = {}, ""
    try:
        refused = PlanCheck(plan).all_refused()
    except ConfigError as error:  # a plan may be listed where its models are not
        unchecked = str(error)
    return {
        "plan": plan.id,
        "cells": [{"id": cell.id, "label": cell.label, "prompts": prompts[cell.id]} for cell in todo],
        "engine_starts": len({(cell.block, cell.spec.label) for cell in todo}) if plan.engine.kind != "remote" else 0,
        "max_tokens": sum(prompts[cell.id] * cell.workload.max_tokens for cell in todo),
        "refused": refused,
        "unchecked": unchecked,
    }


def _run_folder(plan: Plan, workload: Workload, out: str | Path | None, root: Path, resume: bool) -> Run:
    if out is None and resume and (found := latest_run(root, plan=plan)):
        out = found.folder
    folder = Path(out) if out else root / f"{time.strftime('%Y%m%d-%H%M%S')}-{plan.name}-{plan.id[:6]}"
    return Run.create(folder, plan, workload.hash, resume=resume)


def _refusal(refused: Mapping[str, Sequence[str]]) -> str:
    lines = [f"  {label}: {reason}" for label, reasons in refused.items() for reason in reasons]
    return (
        f"preflight refuses {len(refused)} of the plan's engines, and nothing was started; change the plan, or add "
        "--force to measure them all the same:\n" + "\n".join(lines)
    )


def _measure_engine(
    plan: Plan, spec: SpecConfig, todo: list[Cell], run: Run, ticker: _Ticker, refused: Sequence[str]
) -> list[Cell]:
    """Measure ``todo`` on one start of the engine; returns the cells it left because it died."""
    engine = _launched(plan, spec, todo, run, ticker)
    if not engine:
        return []
    with engine:
        warm = True
        while todo:
            cell, todo = todo[0], todo[1:]
            try:
                measured = measure_cell(engine, cell, load_workload(cell.workload), salt=plan.salt, warm=warm)
            except MeasurementError as error:
                _failed(run, ticker, cell, str(error))
                if not engine.alive():
                    break
                continue
            if _keep(run, ticker, measured, refused):
                warm = plan.warmup == "cell"
    return todo


def _measure_block(
    plan: Plan, block: Sequence[tuple[SpecConfig, list[Cell]]], run: Run, ticker: _Ticker,
    refused: Mapping[str, Sequence[str]],
) -> None:  # fmt: skip
    """Measure what is missing of a block on all its engines at once, load by load."""
    with ExitStack() as started:
        loads: dict[float, list[tuple[Engine, Cell, Workload]]] = defaultdict(list)
        for spec, cells in block:
            todo = [cell for cell in cells if not run.has(cell)]
            if todo and (engine := _launched(plan, spec, todo, run, ticker)):
                started.enter_context(engine)
                for cell in todo:
                    loads[cell.sampling.temperature].append((engine, cell, load_workload(cell.workload)))
        for number, cells in enumerate(loads.values()):
            found = measure_in_turn(cells, salt=plan.salt, warm=plan.warmup == "cell" or not number)
            for (_, cell, _), one in zip(cells, found, strict=True):
                if isinstance(one, MeasurementError):
                    _failed(run, ticker, cell, str(one))
                else:
                    _keep(run, ticker, one, refused.get(cell.spec.label, ()))


def _launched(plan: Plan, spec: SpecConfig, todo: Sequence[Cell], run: Run, ticker: _Ticker) -> Engine | None:
    """The engine; None where it does not start, and all of ``todo`` failed."""
    try:
        return launch(plan.engine, spec, log_path=run.log_path(spec.label))
    except LabError as error:
        for cell in todo:
            _failed(run, ticker, cell, str(error))
        return None


def _keep(run: Run, ticker: _Ticker, measured: Measurement, refused: Sequence[str]) -> bool:
    """Store a measurement, with why preflight ``refused`` its engine; whether it is worth that."""
    forced = [Flag(name="incompatible", reason=reason) for reason in refused]
    measurement = replace(measured, flags=(*measured.flags, *forced))
    if measurement.discarded:
        _failed(run, ticker, measurement.cell, "; ".join(f"{f.name}: {f.reason}" for f in measurement.flags))
        return False
    run.save(measurement)
    ticker.tick(measurement.cell)
    return True


def _failed(run: Run, ticker: _Ticker, cell: Cell, cause: str) -> None:
    run.save_failure(cell, cause)
    ticker.tick(cell, failure=cause)


class _Ticker:
    """Counts cells and reports each with the time left."""

    def __init__(self, *, total: int, done: int, report: Callable[[Progress], None]) -> None:
        self._total, self._done, self._report = total, done, report
        self._start, self._ticks = time.monotonic(), 0

    def tick(self, cell: Cell, *, failure: str | None = None) -> None:
        self._done, self._ticks = self._done + 1, self._ticks + 1
        per_cell = (time.monotonic() - self._start) / self._ticks
        self._report(
            Progress(
                done=self._done,
                total=self._total,
                cell=cell,
                failure=failure,
                eta=per_cell * (self._total - self._done),
            )
        )
