"""Commands that make pages to read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from labkit.cli.deadlines import CELL, START, WHOLE, CellLimit, Limit, StartLimit
from labkit.cli.output import Json, print_json
from labkit.errors import ConfigError

__all__ = ["report"]


def report(
    notebook: Annotated[Path, typer.Argument(help="A notebook with a parameters cell.")],
    parameter: Annotated[list[str] | None, typer.Option("-p", metavar="NAME=VALUE", help="Repeatable.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the reports.")] = Path("reports"),
    name: Annotated[str | None, typer.Option(help="Name of the report's files.")] = None,
    start_limit: StartLimit = START,
    cell_limit: CellLimit = CELL,
    limit: Limit = WHOLE,
    as_json: Json = False,
) -> None:
    """Execute a notebook and write one HTML file that opens without network, and the index."""
    from labkit.view.report import Limits, build_report

    limits = Limits(start=start_limit, cell=cell_limit, whole=limit)
    values = dict(_pair(text) for text in parameter or ())
    page = build_report(notebook, values, out=out, name=name, echo=sys.stderr, limits=limits)
    found = {"report": str(page), "index": str(out / "index.html")}
    print_json(found) if as_json else print(f"report: {page}\nall reports: {found['index']}")


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ConfigError(f"-p takes NAME=VALUE; got {text!r}")
    return name, value
