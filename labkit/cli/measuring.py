"""Commands that measure: one cell, or a plan."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from labkit.cli.output import Json, print_json
from labkit.errors import MeasurementError

__all__ = ["measure", "sweep"]


def measure(
    target: Annotated[
        str | None, typer.Option(help="Folder, hub id or 'demo' (default); with --url what it serves.")
    ] = None,
    url: Annotated[str | None, typer.Option(help="Measure this running server instead of starting one.")] = None,
    method: Annotated[str | None, typer.Option(help="vLLM's speculative method.")] = None,
    draft: Annotated[str | None, typer.Option(help="The draft's folder or hub id.")] = None,
    k: Annotated[int, typer.Option(help="num_speculative_tokens; 0 is the baseline.")] = 0,
    temperature: float = 0.0,
    concurrency: int = 1,
    prompts: Annotated[str, typer.Option(help="'shipped' or a prompts file.")] = "shipped",
    per_category: Annotated[int | None, typer.Option(help="Prompts per category; all without it.")] = None,
    max_tokens: int = 128,
    out: Annotated[Path | None, typer.Option(help="Store the measurement in this JSON file.")] = None,
    as_json: Json = False,
) -> None:
    """Measure one cell: start (or attach to) one engine, send the prompts, count."""
    from labkit.config import Drafter, EngineConfig, Sampling, SpecConfig
    from labkit.engine import check, launch
    from labkit.engine.remote import RemoteEngine
    from labkit.measure.cell import measure_cell
    from labkit.paths import runs_root
    from labkit.plan import Cell, WorkloadSpec
    from labkit.store import dump_measurement
    from labkit.view import tables
    from labkit.workloads import load_workload

    if draft and not method:
        method = "draft_model"
    spec = SpecConfig(drafter=Drafter(method=method, model=draft) if method else None, k=k)
    asked = WorkloadSpec(source=prompts, per_category=per_category, max_tokens=max_tokens)
    workload, config = load_workload(asked), EngineConfig(target=target or "demo")
    cell = Cell(
        target=target or "demo",
        spec=spec,
        sampling=Sampling(temperature=temperature),
        concurrency=concurrency,
        workload=asked,
    )
    if url is None:
        check(config, [spec])
    log = runs_root() / "measure" / f"{time.strftime('%Y%m%d-%H%M%S')}.log"
    with RemoteEngine(url, spec, model=target) if url else launch(config, spec, log_path=log) as engine:
        measurement = measure_cell(engine, replace(cell, target=engine.info.model), workload)
    print_json(asdict(measurement)) if as_json else print(tables.cells([measurement]).T.to_string(header=False))
    if out:
        dump_measurement(out, measurement)
    if measurement.discarded:
        raise MeasurementError("; ".join(f"{flag.name}: {flag.reason}" for flag in measurement.flags))


def sweep(
    plan: Annotated[Path, typer.Argument(help="A plan in YAML.")],
    out: Annotated[Path | None, typer.Option(help="Run folder; a new one under runs/ without it.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the newest run of this plan.")] = False,
    blocks: Annotated[int | None, typer.Option(help="Passes over all engines, instead of the plan's.")] = None,
    minimal: Annotated[
        int | None, typer.Option(metavar="K", help="Only the cells that answer for every K up to this one.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be measured.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Measure what preflight refuses as well; its cells are flagged.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Measure a plan: engines in blocks, the baseline in each, every finished cell stored. What preflight finds
    incompatible is refused before anything starts (exit 1)."""
    from labkit.measure import sweep as sweeping
    from labkit.measure.progress import each_cell
    from labkit.plan import load_plan
    from labkit.store import Run, latest_run

    grid = load_plan(plan)
    asked = (grid if minimal is None else grid.minimal(up_to=minimal)).with_(blocks=blocks)
    if dry_run:
        begun = latest_run(plan=asked) if resume else None
        todo = sweeping.dry_run(asked, run=Run.open(out) if out and resume else begun)
        if minimal:
            every = replace(grid, k=tuple(range(1, minimal + 1)), also=(), blocks=asked.blocks)
            full = sweeping.dry_run(every)
            todo |= {"grid": {"engine_starts": full["engine_starts"], "max_tokens": full["max_tokens"]}}
        print_json(todo) if as_json else _print_dry_run(todo)
        return
    say = (lambda line: print(line, file=sys.stderr)) if as_json else print
    run = sweeping.sweep(asked, out=out, resume=resume, force=force, progress=each_cell(say))
    if as_json:
        print_json({"run": str(run.folder), "cells": len(run.measurements()), "failed": run.failures()})
    else:
        print(f"run folder: {run.folder}")
    run.check()


def _print_dry_run(todo: dict[str, Any]) -> None:
    print(
        f"{len(todo['cells'])} cells on {todo['engine_starts']} engine starts, at most {todo['max_tokens']:,} tokens:"
    )
    for cell in todo["cells"]:
        print(f"  {cell['id']}  {cell['label']}, {cell['prompts']} prompts")
    for label, reasons in todo["refused"].items():
        print(f"Refused by preflight, needs --force: {label}", *reasons, sep="\n    ")
    if todo["unchecked"]:
        print(f"Preflight could not look at it: {todo['unchecked']}")
    if grid := todo.get("grid"):
        print(f"Every K measured instead: {grid['engine_starts']} engine starts, {grid['max_tokens']:,} tokens.")
