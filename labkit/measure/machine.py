"""How much of this machine others used while a cell was measured."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence

import psutil

__all__ = ["MachineLoad"]


class MachineLoad:
    """CPU time spent between construction and :meth:`others`, split into ours and others'.

    Ours are this process and ``pids`` (the engine's). Time that a hypervisor took away counts as
    others'.
    """

    def __init__(self, pids: Sequence[int]) -> None:
        self._ours = [psutil.Process(), *_existing(pids)]
        self._start, self._busy, self._own = time.monotonic(), _busy(), self._own_cpu()

    def others(self) -> float:
        """Cores that others kept busy on average, ≥ 0."""
        wall = max(time.monotonic() - self._start, 1e-9)
        return max(0.0, (_busy() - self._busy) - (self._own_cpu() - self._own)) / wall

    def _own_cpu(self) -> float:
        total = 0.0
        for process in self._ours:
            with contextlib.suppress(psutil.Error):
                times = process.cpu_times()
                total += times.user + times.system
        return total


def _busy() -> float:
    times = psutil.cpu_times()
    return sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0)


def _existing(pids: Sequence[int]) -> list[psutil.Process]:
    found = []
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            found.append(psutil.Process(pid))
    return found
