"""A grid of reports: every combination of parameters through the same notebooks.

A grid is a YAML file:

    notebook: notebooks/02_sweep_report.ipynb    # or a list of them
    parameters: {confidence: 0.9}                # the same in every report
    grid:                                        # every combination of these
      plan: [plans/7b.yaml, plans/72b.yaml]
      blocks: [1, 3]

A report is named after its notebook, its parameters and a hash of both and of the files that parameters name: what is
there under its name need not be made again.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from labkit.config import STRICT, digest, read
from labkit.errors import ConfigError
from labkit.paths import find
from labkit.view.report import typed_parameters

__all__ = ["Grid", "Job", "load_grid", "plan_jobs"]

#: Files that a parameter may name; what is in them makes another report.
_TEXTS = (".yaml", ".yml", ".json", ".jsonl")


@dataclass(frozen=True, kw_only=True)
class Grid:
    """What to run; see the module. Values of ``grid`` are lists."""

    __pydantic_config__ = STRICT

    notebook: str | tuple[str, ...]
    parameters: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, list[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if empty := [name for name, values in self.grid.items() if not values]:
            raise ConfigError(f"grid: {empty[0]!r} has no value; give a list of at least one")
        if both := sorted(self.grid.keys() & self.parameters.keys()):
            raise ConfigError(f"{both[0]!r} stands in 'parameters' and in 'grid'; it belongs in one of them")

    @property
    def notebooks(self) -> tuple[str, ...]:
        return (self.notebook,) if isinstance(self.notebook, str) else self.notebook


@dataclass(frozen=True, kw_only=True)
class Job:
    """One report to make; ``varied``: those of its parameters that differ between jobs."""

    notebook: Path
    parameters: dict[str, Any]
    varied: dict[str, Any]
    name: str


def load_grid(path: str | Path) -> Grid:
    """Read a grid.

    Raises:
        ConfigError: the file is missing or not a grid; names the key.
    """
    path = find(path)
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise ConfigError(f"cannot read a grid from {path}: {reason}; write 'notebook:' and 'grid:' in YAML") from None
    if not isinstance(data, dict):
        raise ConfigError(f"{path} holds no mapping; a grid is 'notebook: …' and 'grid: {{parameter: [values]}}'")
    return read(Grid, data, where=str(path))


def plan_jobs(grid: Grid) -> list[Job]:
    """Every report of ``grid``, its parameters checked against the notebook's.

    Raises:
        ConfigError: a notebook is missing, or has no such parameter or one of another type.
    """
    jobs = []
    for source, values in itertools.product(grid.notebooks, itertools.product(*grid.grid.values())):
        notebook = find(source)
        if not notebook.is_file():
            raise ConfigError(f"no notebook at {source}; the shipped ones are in notebooks/")
        varied = dict(zip(grid.grid, values, strict=True))
        typed = typed_parameters(notebook, grid.parameters | varied)
        varied = {name: typed[name] for name in varied}
        jobs.append(Job(notebook=notebook, parameters=typed, varied=varied, name=_name(notebook, typed, varied)))
    if len({job.name for job in jobs}) < len(jobs):
        raise ConfigError("the grid makes a report twice: a notebook or a value stands in a list twice")
    return jobs


def _name(notebook: Path, parameters: Mapping[str, Any], varied: Mapping[str, Any]) -> str:
    """``02_sweep_report-7b-3-1a2b3c``: readable, and another one for other parameters, an edited notebook or plan."""
    words = [Path(value).stem if isinstance(value, str) else str(value) for value in varied.values()]
    short = [re.sub(r"[^A-Za-z0-9._-]+", "-", word)[:30].strip("-.") for word in words]
    named = [find(value) for value in parameters.values() if isinstance(value, str) and value.endswith(_TEXTS)]
    texts = [path.read_bytes().hex() for path in (notebook, *named) if path.is_file()]
    return "-".join(filter(None, [notebook.stem, *short, digest(texts, dict(parameters))[:6]]))
