"""Deadlines in seconds, the same options for every command that executes notebooks."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["CELL", "START", "WHOLE", "CellLimit", "Limit", "StartLimit"]

#: What holds where nothing is asked for.
START, CELL, WHOLE = 120, 6 * 3600.0, 12 * 3600.0

StartLimit = Annotated[int, typer.Option(help="Seconds for the kernel to start.")]
CellLimit = Annotated[float, typer.Option(help="Seconds for one cell.")]
Limit = Annotated[float, typer.Option(help="Seconds for a whole notebook.")]
