"""A grid of reports made, a few at a time.

The state is in the files: a report that is whole lies in the folder under its own name, so ``resume`` skips it. Each is
built under ``.batch/`` and moved when it is whole; what failed stays there. ``batch-<grid>.html`` and ``.json`` sum the
grid up after each. A remote place gets a copy of every file; the local ones, by which ``resume`` goes, stay in
``reports/<grid>``.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import shutil
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from labkit.errors import ConfigError, LabError
from labkit.view import destination
from labkit.view.batch_summary import Outcome, summary_page, told
from labkit.view.grid import Job, load_grid, plan_jobs
from labkit.view.report import Limits, build_index, build_report

__all__ = ["run_batch", "make_report"]

#: Makes the report of a job in a folder, within limits.
Make = Callable[[Job, Path, Limits], Outcome]


def make_report(job: Job, folder: Path, limits: Limits) -> Outcome:
    """Build the report of ``job`` in a folder of its own and move it into ``folder`` when it is whole."""
    start, workshop = time.monotonic(), _workshop(job, folder)
    try:
        build_report(job.notebook, job.parameters, out=workshop, name=job.name, limits=limits)
    except LabError as error:
        return _became(job, "failed", seconds=time.monotonic() - start, error=str(error))
    for built, place in zip(_files(job.name, workshop), _files(job.name, folder), strict=True):
        built.replace(place)
    shutil.rmtree(workshop)
    return _became(job, "done", seconds=time.monotonic() - start, **told(_files(job.name, folder)[0]))


def make_apart(job: Job, folder: Path, limits: Limits) -> Outcome:
    """:func:`make_report` in a process of its own: papermill changes folder and environment of the one it runs in, and
    a process that dies takes no other report along. What it and its kernel log goes into a file beside the notebook."""
    spawn, log = multiprocessing.get_context("spawn"), _workshop(job, folder) / "log"
    with ProcessPoolExecutor(1, mp_context=spawn, initializer=_log_to, initargs=(log,)) as own:
        return own.submit(make_report, job, folder, limits).result()


def _log_to(log: Path) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)


def _workshop(job: Job, folder: Path) -> Path:
    return folder / ".batch" / job.name


def run_batch(
    path: str | Path,
    *,
    out: str = "reports",
    workers: int = 1,
    resume: bool = False,
    limits: Limits | None = None,
    say: Callable[[str], None] = print,
    make: Make = make_apart,
) -> tuple[Path, list[Outcome]]:
    """Make every report of the grid at ``path``, at most ``workers`` at once; returns the page that sums them up, and
    what became of each. A failed report does not stop the others. ``limits``: deadlines of each notebook.

    Raises:
        ConfigError: the grid, a parameter or ``out`` is wrong; nothing was started.
        ReportError: a remote ``out`` does not take the summary.
    """
    if workers < 1:
        raise ConfigError(f"workers is how many reports are made at once, ≥ 1; got {workers}")
    jobs, stem = plan_jobs(load_grid(path)), Path(path).stem
    remote = destination.checked(out) if destination.is_remote(out) else None
    folder = Path("reports") / stem if remote else Path(out)
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file; --out names a folder")
    books = _Books(stem, jobs, folder, remote)
    books.send_summary()  # before any work: a place that takes no files is known now
    kept = [job for job in jobs if resume and all(path.exists() for path in _files(job.name, folder))]
    todo, limited = [job for job in jobs if job not in kept], partial(make, limits=limits or Limits())
    with closing(_made(todo, folder, workers, limited)) as made:
        there = (_became(job, "kept", **told(_files(job.name, folder)[0])) for job in kept)
        for outcome in itertools.chain(there, made):
            say(books.add(outcome))
    books.send_summary()
    return folder / f"batch-{stem}.html", books.outcomes


def _made(
    jobs: Sequence[Job], folder: Path, workers: int, make: Callable[[Job, Path], Outcome]
) -> Generator[Outcome, None, None]:
    """Outcomes as they come."""
    pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="batch")
    try:
        running: dict[Future[Outcome], Job] = {pool.submit(make, job, folder): job for job in jobs}
        for future in as_completed(running):
            try:
                yield future.result()
            except Exception as error:  # its process was killed, or the disk is full: the others may still be made
                yield _became(running[future], "failed", error=f"{type(error).__name__}: {error}")
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # after an interrupt what runs ends, and nothing more is started


def _files(name: str, folder: Path) -> tuple[Path, Path]:
    """Of a report; the page last, which says that it is whole."""
    return folder / f"{name}.ipynb", folder / f"{name}.html"


def _became(job: Job, state: str, **known: Any) -> Outcome:
    return Outcome(name=job.name, varied=job.varied, state=state, **known)


class _Books:
    """What became of each report so far, written down after each: in the folder, and in the remote place too."""

    def __init__(self, stem: str, jobs: Sequence[Job], folder: Path, remote: str | None) -> None:
        self._stem, self._folder, self._remote = stem, folder, remote
        self._known = {job.name: _became(job, "waiting") for job in jobs}

    @property
    def outcomes(self) -> list[Outcome]:
        return list(self._known.values())

    def add(self, outcome: Outcome) -> str:
        """Take ``outcome`` down; returns a line that says so."""
        if outcome.whole:
            outcome = self._delivered(outcome)
        self._known[outcome.name] = outcome
        self._write()
        number = sum(known.state != "waiting" for known in self.outcomes)
        took = f" in {outcome.seconds:.0f} s" if outcome.seconds else ""
        return f"[{number}/{len(self._known)}] {outcome.name}: {outcome.state}{took}"

    def send_summary(self) -> None:
        for name, text in self._summary().items():
            self._send(name, text)
        self._write()
        self._send("index.html", (self._folder / "index.html").read_text(encoding="utf-8"))

    def _delivered(self, outcome: Outcome) -> Outcome:
        try:
            for path in _files(outcome.name, self._folder):
                self._send(path.name, path.read_text(encoding="utf-8"))
        except LabError as error:
            return replace(outcome, state="failed", error=f"{error} (it is kept in {self._folder})")
        return outcome

    def _summary(self) -> dict[str, str]:
        plain = [outcome.plain() for outcome in self.outcomes]
        return {
            f"batch-{self._stem}.json": json.dumps(plain, ensure_ascii=False, indent=1, default=str),
            f"batch-{self._stem}.html": summary_page(self._stem, self.outcomes),
        }

    def _write(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        for name, text in self._summary().items():
            (self._folder / name).write_text(text, encoding="utf-8")
        build_index(self._folder)

    def _send(self, name: str, text: str) -> None:
        if self._remote:
            destination.put(name, text, self._remote)
