"""Run folders: append-only, and a finished cell is never lost.

runs/<run id>/plan.json              the plan and the hash of its workload
runs/<run id>/cells/<cell id>.json   a measurement, written to a temporary name, synced, renamed
runs/<run id>/failed/<cell id>.json  why a cell has none; gone once it is measured
runs/<run id>/audits/<drafter>-K<k>-T<temperature>.json   what an audit found there (labkit.audited)
runs/<run id>/logs/                  the engines' logs

A recorded run (``data/recorded/``) is the same folder with its cells compressed (``.json.gz``).
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import time
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from labkit.audited import Audited
from labkit.config import read
from labkit.errors import ConfigError, MeasurementError, StoreError, did_you_mean
from labkit.paths import DATA, find, runs_root
from labkit.plan import Cell, Plan
from labkit.records import Measurement

__all__ = ["Run", "latest_run", "open_run", "recorded", "dump_measurement"]

_MEASUREMENT = TypeAdapter(Measurement)


class Run:
    """One run folder, opened."""

    def __init__(self, folder: Path, plan: Plan, workload_hash: str) -> None:
        self.folder, self.plan, self.workload_hash = folder, plan, workload_hash

    @classmethod
    def create(cls, folder: Path, plan: Plan, workload_hash: str, *, resume: bool = False) -> Run:
        """Make ``folder`` for ``plan``, or go on in it.

        Raises:
            StoreError: the folder holds a run of another plan or other prompts, or one of this plan and
                ``resume`` is off.
        """
        if (folder / "plan.json").exists():
            run = cls.open(folder)
            if run.plan.id != plan.id:
                raise StoreError(
                    f"{folder} holds a run of another plan ({run.plan.id}, this one is {plan.id}); give another --out"
                )
            if run.workload_hash != workload_hash:
                raise StoreError(f"the prompts have changed since {folder} was started; give another --out")
            if not resume:
                raise StoreError(
                    f"{folder} already holds a run of this plan; add --resume to go on, or give another --out"
                )
            return run
        if folder.exists() and not folder.is_dir():
            raise StoreError(f"{folder} is a file; --out names a folder")
        if folder.exists() and any(folder.iterdir()):
            raise StoreError(f"{folder} is not empty and holds no run; give another --out")
        run = cls(folder, plan, workload_hash)
        _write(folder / "plan.json", {"plan": plan.plain(), "workload_hash": workload_hash, "created_at": time.time()})
        return run

    @classmethod
    def open(cls, folder: str | Path) -> Run:
        """Open an existing run folder.

        Raises:
            StoreError: it is missing or its plan.json is unreadable.
        """
        folder = Path(folder)
        try:
            data = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
            return cls(folder, read(Plan, data["plan"], where="its plan"), data["workload_hash"])
        except (FileNotFoundError, NotADirectoryError):
            raise StoreError(f"no run at {folder}: it has no plan.json; 'labkit sweep PLAN.yaml' makes one") from None
        except (ValueError, KeyError, TypeError, ConfigError) as error:
            raise StoreError(
                f"{folder / 'plan.json'} is damaged ({error}); the cells beside it are untouched"
            ) from None

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def workload_name(self) -> str:
        spec = self.plan.workload
        return "shipped prompts" if spec.source == "shipped" else Path(spec.source).name

    def log_path(self, label: str) -> Path:
        return self.folder / "logs" / f"{label.replace(' ', '-').replace('/', '-')}-{time.time_ns() // 1_000_000}.log"

    def has(self, cell: Cell) -> bool:
        return self._stored(cell) is not None

    def missing(self) -> list[Cell]:
        return [cell for cell in self.plan.cells() if not self.has(cell)]

    def save(self, measurement: Measurement) -> None:
        """Store a finished cell.

        Raises:
            MeasurementError: the disk does not take it; nothing half-written is left.
        """
        _write(self._cell_path(measurement.cell), asdict(measurement))
        (self.folder / "failed" / f"{measurement.id}.json").unlink(missing_ok=True)

    def save_failure(self, cell: Cell, cause: str) -> None:
        _write(self.folder / "failed" / f"{cell.id}.json", {"cell": asdict(cell), "cause": cause, "at": time.time()})

    def measurements(self) -> list[Measurement]:
        """All finished cells, in the plan's order.

        Raises:
            StoreError: a cell's file is damaged; it is named.
        """
        return [self._load(path) for cell in self.plan.cells() if (path := self._stored(cell))]

    def failures(self) -> dict[str, str]:
        """Cause of failure per cell label."""
        causes = {}
        for path in sorted((self.folder / "failed").glob("*.json")):
            try:
                row = json.loads(path.read_text(encoding="utf-8"))
                causes[read(Cell, row["cell"], where=str(path)).label] = row["cause"]
            except (ValueError, KeyError, TypeError, ConfigError) as error:
                raise StoreError(f"{path} is damaged ({error}); remove it: it only says why a cell failed") from None
        return causes

    def save_audit(self, audited: Audited) -> None:
        """Keep what an audit found, in place of an earlier one of the same setting."""
        name = re.sub(r"[^A-Za-z0-9._-]", "-", f"{audited.drafter}-K{audited.k}-T{audited.temperature:g}")
        _write(self.folder / "audits" / f"{name}.json", asdict(audited))

    def audits(self) -> list[Audited]:
        """What audits found, by drafter, K and temperature.

        Raises:
            StoreError: a file is damaged; it is named.
        """
        found = []
        for path in (self.folder / "audits").glob("*.json"):
            try:
                found.append(read(Audited, json.loads(path.read_text(encoding="utf-8")), where=str(path)))
            except (ValueError, ConfigError) as error:
                raise StoreError(f"{path} is damaged ({error}); remove it and audit the run again") from None
        return sorted(found, key=lambda audited: (audited.drafter, audited.k, audited.temperature))

    def check(self) -> None:
        """Raise unless every cell of the plan was measured.

        Raises:
            MeasurementError: names the cells that are missing, why, and how to go on.
        """
        if not (missing := self.missing()):
            return
        causes = self.failures()
        lines = [f"  {cell.label}: {causes.get(cell.label, 'not measured yet')}" for cell in missing]
        raise MeasurementError(
            f"{len(missing)} of {len(self.plan.cells())} cells of {self.folder} are not measured; the others are kept; "
            "go on with --resume:\n" + "\n".join(lines)
        )

    def _cell_path(self, cell: Cell) -> Path:
        return self.folder / "cells" / f"{cell.id}.json"

    def _stored(self, cell: Cell) -> Path | None:
        path = self._cell_path(cell)
        return next((p for p in (path, path.with_suffix(".json.gz")) if p.exists()), None)

    def _load(self, path: Path) -> Measurement:
        try:
            data = path.read_bytes()
            return _MEASUREMENT.validate_json(gzip.decompress(data) if path.suffix == ".gz" else data)
        except (ValidationError, EOFError, gzip.BadGzipFile, zlib.error) as error:
            what = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
            raise StoreError(f"{path} is damaged ({what}); remove it and run the sweep with --resume") from None


def latest_run(root: str | Path | None = None, *, plan: Plan | None = None) -> Run | None:
    """The newest run under ``root`` (default: :func:`labkit.paths.runs_root`), of ``plan`` if one is given;
    None without any."""
    runs = sorted(Path(root or runs_root()).glob("*/plan.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in runs:
        try:
            run = Run.open(path.parent)
        except StoreError:
            if plan is None:
                raise
            continue  # a damaged folder is nobody's run of this plan
        if plan is None or run.plan.id == plan.id:
            return run
    return None


def open_run(folder: str | Path = "latest") -> Run:
    """The run in ``folder``, the newest one ("latest"), or a recorded one by its name.

    Raises:
        StoreError: there is none.
    """
    if str(folder) in _recorded():
        return recorded(str(folder))
    if str(folder) != "latest":
        return Run.open(find(folder))
    if found := latest_run():
        return found
    raise StoreError(f"no run under {runs_root()} yet; 'labkit sweep PLAN.yaml' or 'make report' makes one")


def recorded(name: str) -> Run:
    """A real run that comes with labkit.

    Raises:
        ConfigError: there is none of that name.
    """
    known = _recorded()
    if name not in known:
        raise ConfigError(f"no recorded run {name!r}; there are {', '.join(known)}{did_you_mean(name, known)}")
    return Run.open(DATA / "recorded" / name)


def _recorded() -> list[str]:
    return sorted(path.parent.name for path in (DATA / "recorded").glob("*/plan.json"))


def dump_measurement(path: Path, measurement: Measurement) -> None:
    """Write one measurement, as :meth:`Run.save` does, outside a run folder."""
    _write(path, asdict(measurement))


def _write(path: Path, data: Any) -> None:
    temporary = path.with_suffix(".tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(data, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise MeasurementError(f"cannot write {path}: {error.strerror}; cells stored before are whole") from None
