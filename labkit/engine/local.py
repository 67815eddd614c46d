"""A server of our own that is up: started in its own process group, checked, stopped without a trace."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event

import httpx
import psutil

from labkit.config import SpecConfig
from labkit.engine.base import EngineInfo
from labkit.engine.probe import Probe, probe
from labkit.engine.process import ServerProcess
from labkit.errors import EngineError

__all__ = ["LocalServer"]

LONG_LIVED_SECONDS = 5.0

_METHOD = re.compile(r"speculative_config=(?:SpeculativeConfig\(method='(\w+)'|(None))")
_CPU_FIXES = re.compile(r"labkit cpu fixes: (.*)")


class LocalServer:
    """A ready server on 127.0.0.1. The constructor waits until it is ready and leaves nothing behind
    when it raises.

    Raises:
        EngineError: the process ended, was not ready in ``timeout`` seconds or before ``stop`` was set, another
            server answers on the port, or it runs another K; carries the last meaningful log lines.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        kind: str,
        device: str,
        port: int,
        spec: SpecConfig,
        env: Mapping[str, str],
        log_path: Path,
        timeout: float,
        stop: Event | None = None,
    ) -> None:
        self._port, self.url = port, f"http://127.0.0.1:{port}"
        self._process = ServerProcess(argv, env=env, log_path=log_path)
        try:
            facts = _wait_ready(self._process, port, spec, timeout=timeout, stop=stop or Event())
            self.info = _info(self._process, facts, kind=kind, device=device, spec=spec, argv=argv)
            self._core = _long_lived(self._process.members())
        except BaseException:
            self._process.stop(grace=2)
            raise

    def alive(self) -> bool:
        """Whether it listens, and no long-lived process of it is gone: a server whose engine process was killed
        goes on answering for a while."""
        running = {member.pid for member in self._process.members()}
        return running >= self._core and self._process.listens_on(self._port)

    def last_words(self) -> str:
        return self._process.last_words()

    def close(self) -> None:
        self._process.stop()

    def __enter__(self) -> LocalServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _long_lived(members: Sequence[psutil.Process]) -> set[int]:
    """Pids that are older than any helper (a compiler, say) would be."""
    return {member.pid for member in members if time.time() - member.create_time() > LONG_LIVED_SECONDS}


def _wait_ready(process: ServerProcess, port: int, spec: SpecConfig, *, timeout: float, stop: Event) -> Probe:
    """Wait until our process, and no stale server, answers on ``port`` with the K that was asked for."""
    deadline = time.monotonic() + timeout
    while True:
        if not process.alive():
            raise EngineError(
                f"the engine for {spec.label} ended before it was ready:\n{process.last_words()}\n"
                f"(log: {process.log_path})"
            )
        if stop.is_set():
            raise EngineError(f"the start of the engine for {spec.label} was given up")
        if time.monotonic() > deadline:
            raise EngineError(
                f"the engine for {spec.label} was not ready after {timeout:.0f} s; raise 'start_timeout' or read "
                f"{process.log_path}:\n{process.last_words()}"
            )
        try:
            facts = probe(f"http://127.0.0.1:{port}")
        except httpx.HTTPStatusError as error:
            if error.response.status_code in (401, 403):
                raise EngineError(
                    f"the engine for {spec.label} refuses the key; LABKIT_API_KEY, if set, must be VLLM_API_KEY"
                ) from None
            time.sleep(0.2)
            continue
        except (httpx.HTTPError, LookupError, TypeError, ValueError):
            time.sleep(0.2)
            continue
        if not process.listens_on(port):
            raise EngineError(
                f"another server answers on port {port}; the one started for {spec.label} does not hold it"
            )
        if facts.k != spec.k:
            raise EngineError(
                f"the engine for {spec.label} counts {facts.k} positions, so it runs K = {facts.k}, not {spec.k}"
            )
        return facts


def _info(
    process: ServerProcess, facts: Probe, *, kind: str, device: str, spec: SpecConfig, argv: Sequence[str]
) -> EngineInfo:
    log = process.log_path.read_text(errors="replace")
    method, fixes = _METHOD.search(log), _CPU_FIXES.search(log)
    return EngineInfo(
        kind=kind,
        model=facts.model,
        requested=spec,
        method=method[1] if method else "unknown",
        k=facts.k,
        version=facts.version,
        device=device,
        started_at=process.started_at,
        argv=tuple(argv[1:]),  # without the interpreter's path
        speculative_config=spec.for_vllm(),
        cpu_fixes=fixes[1] if fixes else None,
        pids=tuple(member.pid for member in process.members()),
        log_path=process.log_path,
    )
