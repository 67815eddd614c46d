"""One setting and its baseline, measured in a thread while a notebook stays usable."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from labkit.config import EngineConfig
from labkit.engine import check, launch
from labkit.errors import LabError, MeasurementError
from labkit.measure.cell import measure_cell
from labkit.plan import Cell
from labkit.records import Measurement, RequestRecord
from labkit.workloads import load_workload

__all__ = ["Background"]


class Background:
    """Measures ``cells`` one after the other, each on an engine of its own; at most one engine runs at a time.

    ``stage`` says what is being done, ``share`` how much of all requests is answered (0 to 1), ``found`` what is
    measured so far, ``error`` what went wrong; ``finished`` is set at the end in every case. An engine that was
    started dies with this process.

    Raises:
        ConfigError: something is wrong with the request itself; nothing was started.
    """

    def __init__(self, config: EngineConfig, cells: Sequence[Cell], *, log_folder: Path, salt: bool = True) -> None:
        check(config, [cell.spec for cell in cells])
        self.stage, self.error, self.found = "starting", "", list[Measurement]()
        self.finished, self._stop = threading.Event(), threading.Event()
        self._config, self._cells, self._logs, self._salt = config, list(cells), log_folder, salt
        self._answered, self._requests = 0, sum(len(load_workload(cell.workload).prompts) for cell in cells)
        self._thread = threading.Thread(target=self._run, name="labkit-background", daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """Stop as soon as possible, without waiting for it; what was measured is dropped by whoever asked. Safe to
        call twice."""
        self._stop.set()
        if not self.finished.is_set():
            self.stage = "cancelling"

    @property
    def share(self) -> float:
        return min(1.0, self._answered / max(1, self._requests))

    def wait(self, timeout: float | None = None) -> bool:
        return self.finished.wait(timeout)

    @property
    def cancelled(self) -> bool:
        return self._stop.is_set()

    def _run(self) -> None:
        try:
            for cell in self._cells:
                if self.cancelled:
                    break
                self._measure(cell)
        except LabError as error:
            self.error = "" if self.cancelled else str(error)
        except Exception as error:  # a thread's traceback would be seen by nobody
            self.error = f"{type(error).__name__}: {error}"
        finally:
            self.stage = "cancelled" if self.cancelled else "failed" if self.error else "done"
            self.finished.set()

    def _measure(self, cell: Cell) -> None:
        self.stage = f"starting the engine for {cell.spec.label}"
        log = self._logs / f"{cell.spec.label.replace(' ', '-').replace('/', '-')}-{time.time_ns()}.log"
        with launch(self._config, cell.spec, log_path=log, stop=self._stop) as engine:
            self.stage = f"measuring {cell.spec.label}"
            served, workload = replace(cell, target=engine.info.model), load_workload(cell.workload)
            made = measure_cell(engine, served, workload, salt=self._salt, stop=self._stop, seen=self._seen)
        if made.discarded:
            raise MeasurementError("; ".join(f"{flag.name}: {flag.reason}" for flag in made.flags))
        self.found.append(made)

    def _seen(self, record: RequestRecord) -> None:
        self._answered += record.turn == 0
