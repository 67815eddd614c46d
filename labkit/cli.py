"""The command line: parse, call, print. Exit 0 fine, 1 a failed measurement, 2 wrong usage."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from labkit.errors import ConfigError, LabError, MeasurementError

__all__ = ["app", "main"]

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)
models = typer.Typer(no_args_is_help=True, help="Models that come with labkit.")
app.add_typer(models, name="models")

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.callback()
def _root() -> None:
    """The interactive tuning lab for vLLM speculative decoding."""


@models.command("demo")
def models_demo(as_json: Json = False) -> None:
    """Fetch and convert the demo target, assemble the demo drafters."""
    from labkit.drafters.demo import make_demo

    made = make_demo(say=(lambda _: None) if as_json else print)
    if as_json:
        _print_json({name: str(folder) for name, folder in made.items()})


@app.command()
def metrics(
    source: Annotated[str, typer.Argument(metavar="FILE|URL", help="A saved metrics page, or a server.")],
    since: Annotated[
        Path | None, typer.Option(help="An earlier page of the same server: show what happened since.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Which served model, where there are several.")] = None,
    as_json: Json = False,
) -> None:
    """Acceptance from a vLLM metrics page."""
    from labkit.analysis.counter_report import counter_report
    from labkit.engine.metrics_page import fetch_page, parse_page, select_model

    def counters(where: str):
        text = fetch_page(where) if where.startswith(("http://", "https://")) else _read(Path(where))
        return select_model(parse_page(text), model, where=where)

    now = counters(source)
    found = counter_report(now.since(counters(str(since))) if since else now)
    _print_json(found) if as_json else _print_fields(found)


@app.command()
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
    _print_json(asdict(measurement)) if as_json else print(tables.cells([measurement]).T.to_string(header=False))
    if out:
        dump_measurement(out, measurement)
    if measurement.discarded:
        raise MeasurementError("; ".join(f"{flag.name}: {flag.reason}" for flag in measurement.flags))


@app.command()
def sweep(
    plan: Annotated[Path, typer.Argument(help="A plan in YAML.")],
    out: Annotated[Path | None, typer.Option(help="Run folder; a new one under runs/ without it.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the newest run of this plan.")] = False,
    blocks: Annotated[int | None, typer.Option(help="Passes over all engines, instead of the plan's.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be measured.")] = False,
    as_json: Json = False,
) -> None:
    """Measure a plan: engines in blocks, the baseline in each, every finished cell stored."""
    from labkit.measure import sweep as sweeping
    from labkit.measure.progress import each_cell
    from labkit.plan import load_plan
    from labkit.store import Run, latest_run

    asked = load_plan(plan).with_(blocks=blocks)
    if dry_run:
        begun = latest_run(plan=asked) if resume else None
        todo = sweeping.dry_run(asked, run=Run.open(out) if out and resume else begun)
        _print_json(todo) if as_json else _print_dry_run(todo)
        return
    say = (lambda line: print(line, file=sys.stderr)) if as_json else print
    run = sweeping.sweep(asked, out=out, resume=resume, progress=each_cell(say))
    if as_json:
        _print_json({"run": str(run.folder), "cells": len(run.measurements()), "failed": run.failures()})
    else:
        print(f"run folder: {run.folder}")
    run.check()


@app.command()
def report(
    notebook: Annotated[Path, typer.Argument(help="A notebook with a parameters cell.")],
    parameter: Annotated[list[str] | None, typer.Option("-p", metavar="NAME=VALUE", help="Repeatable.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the reports.")] = Path("reports"),
    name: Annotated[str | None, typer.Option(help="Name of the report's files.")] = None,
    as_json: Json = False,
) -> None:
    """Execute a notebook and write one HTML file that opens without network, and the index."""
    from labkit.view.report import build_report

    page = build_report(notebook, dict(_pair(text) for text in parameter or ()), out=out, name=name, echo=sys.stderr)
    found = {"report": str(page), "index": str(out / "index.html")}
    _print_json(found) if as_json else print(f"report: {page}\nall reports: {found['index']}")


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ConfigError(f"-p takes NAME=VALUE; got {text!r}")
    return name, value


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"cannot read {path}: {getattr(error, 'strerror', None) or error}; give a saved metrics page or a URL"
        ) from None


def _print_json(data: Any) -> None:
    print(json.dumps(data, ensure_ascii=False, indent=1, default=str))


def _print_fields(data: dict[str, Any]) -> None:
    width = max(map(len, data))
    for key, value in data.items():
        shown = [f"{v:.3f}" if isinstance(v, float) else v for v in value] if isinstance(value, list) else value
        print(f"{key:<{width}}  {shown:.4f}" if isinstance(shown, float) else f"{key:<{width}}  {shown}")


def _print_dry_run(todo: dict[str, Any]) -> None:
    each = f"{todo['prompts_per_cell']} prompts and at most {todo['max_tokens_per_cell']} tokens each"
    print(f"{len(todo['cells'])} cells on {todo['engine_starts']} engine starts, {each}:")
    for cell in todo["cells"]:
        print(f"  {cell['id']}  {cell['label']}")


def main() -> None:
    """Entry point. A user's mistake is one message, never a traceback."""
    try:
        app()
    except LabError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except SystemExit as end:
        if end.code == 130:  # typer's answer to an interrupt
            print("interrupted; finished cells are kept, go on with --resume", file=sys.stderr)
        raise


if __name__ == "__main__":
    main()
