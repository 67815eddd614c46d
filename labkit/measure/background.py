"""One setting and its baseline, measured in a thread while a notebook stays usable."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from labkit.config import EngineConfig
from labkit.engine import Engine, check, launch
from labkit.errors import LabError
from labkit.measure.cell import measure_cell
from labkit.plan import Cell
from labkit.records import Measurement
from labkit.workloads import load_workload

__all__ = ["Background"]


class Background:
    """Measures ``cells`` one after the other, each on an engine of its own; at most one engine runs at a time.

    ``stage`` says what is being done, ``found`` what is measured so far, ``error`` what went wrong; ``finished``
    is set at the end in every case. An engine that was started dies with this process.

    Raises:
        ConfigError: something is wrong with the request itself; nothing was started.
    """

    def __init__(self, config: EngineConfig, cells: Sequence[Cell], *, log_folder: Path) -> None:
        check(config, [cell.spec for cell in cells])
        self.stage, self.error, self.found = "starting", "", list[Measurement]()
        self.finished, self._stop, self._lock = threading.Event(), threading.Event(), threading.Lock()
        self._engine: Engine | None = None
        self._config, self._cells, self._logs = config, list(cells), log_folder
        self._thread = threading.Thread(target=self._run, name="labkit-background", daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """Stop as soon as possible; what was measured is dropped by whoever asked. Safe to call twice."""
        self._stop.set()
        with self._lock:
            if self._engine:
                self._engine.close()

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
        with launch(self._config, cell.spec, log_path=log) as engine:
            with self._lock:
                self._engine = engine
            if not self.cancelled:
                self.stage = f"measuring {cell.spec.label}"
                served = replace(cell, target=engine.info.model)
                self.found.append(measure_cell(engine, served, load_workload(cell.workload)))
            with self._lock:
                self._engine = None
