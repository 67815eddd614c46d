"""A grid of reports: every combination of parameters through the same notebooks, a few at a time.

A grid is a YAML file:

    notebook: notebooks/02_sweep_report.ipynb    # or a list of them
    parameters: {confidence: 0.9}                # the same in every report
    grid:                                        # every combination of these
      plan: [plans/7b.yaml, plans/72b.yaml]
      blocks: [1, 3]

The state is in the files: a report that is whole lies in the folder under a name made of its notebook, its parameters
and a hash of both, so ``resume`` skips what is there. Each is built in a folder of its own under ``.batch/`` and moved
when it is whole; what failed stays there. ``batch-<grid>.html`` and ``.json`` sum the grid up. A remote place gets a
copy of every file; the local one stays in ``reports/<grid>``.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import shutil
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from labkit.config import STRICT, digest, read
from labkit.errors import ConfigError, LabError
from labkit.paths import find
from labkit.view import destination
from labkit.view.batch_summary import Outcome, summary_page
from labkit.view.report import build_index, build_report, typed_parameters

__all__ = ["Grid", "Job", "load_grid", "plan_jobs", "run_batch"]


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
    """``02_sweep_report-7b-3-1a2b3c``: readable, and another one for other parameters or another notebook."""
    words = [Path(value).stem if isinstance(value, str) else str(value) for value in varied.values()]
    short = [re.sub(r"[^A-Za-z0-9._-]+", "-", word)[:30].strip("-.") for word in words]
    return "-".join(filter(None, [notebook.stem, *short, digest(notebook.read_text("utf-8"), dict(parameters))[:6]]))


def run_batch(
    path: str | Path,
    *,
    out: str = "reports",
    workers: int = 1,
    resume: bool = False,
    say: Callable[[str], None] = print,
) -> tuple[Path, list[Outcome]]:
    """Make every report of the grid at ``path``, at most ``workers`` at once; returns the page that sums them up, and
    what became of each. A failed report does not stop the others.

    Raises:
        ConfigError: the grid, a parameter or ``out`` is wrong; nothing was started.
        ReportError: a remote ``out`` takes no files.
    """
    if workers < 1:
        raise ConfigError(f"workers is how many reports are made at once, ≥ 1; got {workers}")
    jobs, stem = plan_jobs(load_grid(path)), f"batch-{Path(path).stem}"
    remote = destination.checked(out) if destination.is_remote(out) else None
    folder = Path("reports") / Path(path).stem if remote else Path(out)
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file; --out names a folder")
    folder.mkdir(parents=True, exist_ok=True)
    outcomes = {job.name: _already(job, folder, remote) for job in jobs} if resume else {}
    outcomes = {name: outcome for name, outcome in outcomes.items() if outcome}
    page = _sum_up(stem, folder, jobs, outcomes, remote)  # before any work: a place that takes no files is known now
    todo = [job for job in jobs if job.name not in outcomes]
    with closing(_made(todo, folder, workers)) as made:
        for outcome in made:
            outcomes[outcome.name] = outcome
            if outcome.state == "done" and remote:
                _send(folder, remote, f"{outcome.name}.html", f"{outcome.name}.ipynb")
            _sum_up(stem, folder, jobs, outcomes, remote)
            say(f"[{len(outcomes)}/{len(jobs)}] {outcome.name}: {outcome.state} in {outcome.seconds:.0f} s")
    return page, [outcomes[job.name] for job in jobs]


def _made(jobs: Sequence[Job], folder: Path, workers: int) -> Generator[Outcome, None, None]:
    """Outcomes as they come. The pool is of threads: the work is done in the kernels, which are processes."""
    pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="batch")
    try:
        running: list[Future[Outcome]] = [pool.submit(_make, job, folder) for job in jobs]
        for future in as_completed(running):
            outcome = future.result()
            if outcome.state == "done":
                _move(outcome.name, folder)
            yield outcome
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # after an interrupt what runs ends, and nothing more is started


def _make(job: Job, folder: Path) -> Outcome:
    start = time.monotonic()
    try:
        build_report(job.notebook, job.parameters, out=_workshop(folder, job.name), name=job.name)
    except LabError as error:
        return _outcome(job, "failed", seconds=time.monotonic() - start, error=str(error))
    finally:
        with suppress(
            RuntimeError
        ):  # a thread that came as far as a kernel has an event loop, which nobody else closes
            asyncio.get_event_loop().close()
    return _outcome(job, "done", seconds=time.monotonic() - start)


def _outcome(job: Job, state: str, **known: Any) -> Outcome:
    return Outcome(name=job.name, varied=job.varied, state=state, **known)


def _workshop(folder: Path, name: str) -> Path:
    return folder / ".batch" / name


def _move(name: str, folder: Path) -> None:
    workshop = _workshop(folder, name)
    for suffix in (".ipynb", ".html"):  # the page last: it says that the report is whole
        (workshop / f"{name}{suffix}").replace(folder / f"{name}{suffix}")
    shutil.rmtree(workshop)


def _already(job: Job, folder: Path, remote: str | None) -> Outcome | None:
    """What was made before, fetched where only the remote place has it."""
    names = [f"{job.name}.ipynb", f"{job.name}.html"]
    for name in names:
        if remote and not (folder / name).exists() and (text := destination.fetch(name, remote)):
            (folder / name).write_text(text, encoding="utf-8")
    return _outcome(job, "kept") if all((folder / name).exists() for name in names) else None


def _sum_up(stem: str, folder: Path, jobs: Sequence[Job], outcomes: Mapping[str, Outcome], remote: str | None) -> Path:
    """Write the summary and the index, here and there."""
    known = [outcomes.get(job.name) or _outcome(job, "waiting") for job in jobs]
    page = folder / f"{stem}.html"
    (folder / f"{stem}.json").write_text(
        json.dumps([outcome.plain() for outcome in known], ensure_ascii=False, indent=1), encoding="utf-8"
    )
    page.write_text(summary_page(stem.removeprefix("batch-"), known, folder), encoding="utf-8")
    build_index(folder)
    if remote:
        _send(folder, remote, f"{stem}.json", page.name, "index.html")
    return page


def _send(folder: Path, remote: str, *names: str) -> None:
    for name in names:
        destination.put(folder / name, remote)
