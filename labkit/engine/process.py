"""A server process of ours: started in its own group, logged to a file, stopped without a trace.

Only processes started here are ever signalled, by their own process group.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from labkit.engine import guard
from labkit.errors import ConfigError, EngineError

__all__ = ["ServerProcess", "free_port"]

_PREFIX = re.compile(r"^\(\w+ pid=\d+\) ?([A-Z]+ [\d-]+ [\d:]+ \[[^\]]*\] ?)?")
_NOISE = re.compile(
    r"nanobind|leaked|resource_tracker|warnings\.warn|█|▄|Warning: |FutureWarning|DeprecationWarning|Traceback \("
)
_CAUSE = re.compile(r"Error|error:|Exception|assert|refus|invalid|not supported|No space|Killed|out of memory", re.I)


def free_port(wanted: int | None = None) -> int:
    """A free port on the loopback interface, or ``wanted`` if that is free.

    Raises:
        ConfigError: ``wanted`` is taken.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted or 0))
        except OSError:
            raise ConfigError(
                f"port {wanted} on 127.0.0.1 is taken by another process; leave 'port' out to get a free one"
            ) from None
        return probe.getsockname()[1]


class ServerProcess:
    """One command in its own process group. ``pid`` is also the group's id."""

    def __init__(self, argv: Sequence[str], *, env: Mapping[str, str], log_path: Path) -> None:
        log_path.parent.mkdir(parents=True, exist_ok=True)
        self.log_path = log_path
        self.started_at = time.time()
        with log_path.open("wb") as log:
            self._guard = subprocess.Popen(
                [sys.executable, "-S", guard.__file__, *argv],
                stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT,
                env={**os.environ, **env}, process_group=0,
            )  # fmt: skip
        self.pid = self._guard.pid

    def alive(self) -> bool:
        return self._guard.poll() is None

    def members(self) -> list[psutil.Process]:
        """The processes of the group that still run (zombies do not)."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, ProcessLookupError):
                if os.getpgid(process.pid) == self.pid and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def listens_on(self, port: int) -> bool:
        """Whether a process of the group, and not some stale server, holds ``port``."""
        for process in self.members():
            with contextlib.suppress(psutil.Error):
                if any(c.status == psutil.CONN_LISTEN and c.laddr.port == port for c in process.net_connections()):
                    return True
        return False

    def stop(self, *, grace: float = 15.0) -> None:
        """TERM, then KILL of the own group; returns when nothing of it is left.

        Raises:
            EngineError: a process of the group survives KILL (its pid is named).
        """
        self._signal(signal.SIGTERM)
        deadline = time.monotonic() + grace
        while self.alive() and time.monotonic() < deadline:
            time.sleep(0.05)
        self._signal(signal.SIGKILL)
        if self._guard.stdin:
            self._guard.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._guard.wait(timeout=grace)
        deadline = time.monotonic() + 5
        while (left := self.members()) and time.monotonic() < deadline:
            time.sleep(0.05)
        if left:
            raise EngineError(f"the engine's processes {[p.pid for p in left]} survive SIGKILL; see {self.log_path}")

    def last_words(self, lines: int = 8) -> str:
        """The last meaningful lines of the log: up to the last cause named, else its end; no tracebacks."""
        text = self.log_path.read_text(errors="replace") if self.log_path.exists() else ""
        said = (_PREFIX.sub("", line).rstrip()[:400] for line in text.splitlines() if not _NOISE.search(line))
        meaningful = [line for line in said if line and not line[0].isspace()]  # frames are indented
        causes = [i for i, line in enumerate(meaningful) if _CAUSE.search(line)]
        end = causes[-1] + 1 if causes else len(meaningful)
        return "\n".join(meaningful[max(0, end - lines) : end])

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)
