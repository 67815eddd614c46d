"""Commands that make many reports."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from labkit.cli.deadlines import CELL, START, WHOLE, CellLimit, Limit, StartLimit
from labkit.cli.output import Json, print_json
from labkit.errors import ReportError

__all__ = ["batch"]


def batch(
    grid: Annotated[Path, typer.Argument(metavar="GRID.yaml", help="Notebooks and the values of their parameters.")],
    out: Annotated[
        str, typer.Option(help="Folder of the reports, or s3://, gs://, abs:// … as papermill.")
    ] = "reports",
    workers: Annotated[int, typer.Option(help="Reports at once; measure with one, engines stall each other.")] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Keep the reports that are there and whole.")] = False,
    start_limit: StartLimit = START,
    cell_limit: CellLimit = CELL,
    limit: Limit = WHOLE,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be made.")] = False,
    as_json: Json = False,
) -> None:
    """Make a grid of reports: every combination of parameters, one summary, the index updated."""
    from labkit.view.batch import load_grid, plan_jobs, run_batch
    from labkit.view.report import Limits

    if dry_run:
        jobs = [
            {"name": job.name, "notebook": str(job.notebook)} | job.parameters for job in plan_jobs(load_grid(grid))
        ]
        print_json(jobs) if as_json else print(*(job["name"] for job in jobs), sep="\n")
        return
    limits = Limits(start=start_limit, cell=cell_limit, whole=limit)
    page, outcomes = run_batch(
        grid, out=out, workers=workers, resume=resume, limits=limits, say=lambda line: print(line, file=sys.stderr)
    )
    if as_json:
        print_json({"summary": str(page), "reports": [outcome.plain() for outcome in outcomes]})
    else:
        print(f"summary: {page}\nall reports: {page.parent / 'index.html'}")
    if failed := [outcome for outcome in outcomes if outcome.state == "failed"]:
        lines = "\n".join(f"  {outcome.name}: {outcome.error}" for outcome in failed)
        raise ReportError(f"{len(failed)} of {len(outcomes)} reports failed, the others are kept:\n{lines}")
