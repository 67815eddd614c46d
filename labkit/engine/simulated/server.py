"""The HTTP face of the simulated engine, shaped like vLLM 0.32's.

    python -m labkit.engine.simulated.server --port N --config JSON

JSON: ``{"model": name, "simulation": {fields of config.Simulation}, "spec": vLLM's speculative config or null,
"max_num_seqs": n}``.  Listens on 127.0.0.1 only.  Exit code 1 with a message when the config is not right.

Routes: ``/health``, ``/version``, ``/metrics``, ``/v1/models``, ``/v1/completions``, ``/v1/chat/completions``.
With speculation every answer carries per-request metrics, as vLLM does with
``--per-request-spec-decode-metrics detailed``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import selectors
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from labkit.config import STRICT, Simulation, read
from labkit.engine.simulated import model
from labkit.engine.simulated.batching import Engine
from labkit.engine.simulated.model import MAX_MODEL_LEN, Speculation
from labkit.engine.simulated.routes import Server
from labkit.errors import ConfigError, LabError, did_you_mean

__all__ = ["FAULTS", "ServerConfig", "main", "read_faults"]

VERSION = "0.32.0+simulated"

#: What can go wrong with a server (``Simulation.faults``); those of ``model`` can be named as well.
#: ``die_after`` and ``slow_start`` take a number: ``die_after:3``.
FAULTS = {
    "die_after": "SIGKILL to itself after N finished requests (die_after:N)",
    "slow_start": "starts to listen after S seconds (slow_start:S)",
    "refuse_start": "logs a traceback and exits with 1",
    "error_mid_stream": "every fifth stream breaks off with an error object after 3 chunks",
    "keepalive": "comment lines between the chunks",
    "no_usage": "streams carry no usage",
    "reasoning": "the first third of max_tokens arrives as delta.reasoning",
    "extra_load": "generated tokens are counted with 10 % on top, as if others used the server",
    "stuck_running": "the running gauge does not return to 0",
    "no_spec_metrics": "no speculative counters although it speculates",
}
_NUMBERED = {"die_after", "slow_start"}


@dataclass(frozen=True, kw_only=True)
class ServerConfig:
    __pydantic_config__ = STRICT

    model: str
    simulation: Simulation
    spec: dict[str, Any] | None = None
    max_num_seqs: int = 64


def read_faults(names: Sequence[str]) -> dict[str, float | None]:
    """Faults by name, with the number given to those that take one.

    Raises:
        ConfigError: an unknown name, or a number missing, given in vain or not a number.
    """
    faults: dict[str, float | None] = {}
    known = {**model.FAULTS, **FAULTS}
    for written in names:
        name, colon, number = written.partition(":")
        if name not in known:
            raise ConfigError(f"unknown fault {written!r}; known: {', '.join(known)}{did_you_mean(name, known)}")
        if bool(colon) != (name in _NUMBERED):
            raise ConfigError(f"fault {written!r}: {name} takes {'a number' if name in _NUMBERED else 'no number'}")
        try:
            faults[name] = float(number) if colon else None
        except ValueError:
            raise ConfigError(f"fault {written!r}: {number!r} is no number") from None
    return faults


def _log(message: str) -> None:
    now = time.strftime("%m-%d %H:%M:%S")
    print(f"(EngineCore pid={os.getpid()}) INFO {now} [server.py] {message}", flush=True)


def _described(spec: Speculation | None) -> str:
    if spec is None:
        return "None"
    return f"SpeculativeConfig(method={spec.method!r}, model={spec.model!r}, num_spec_tokens={spec.k})"


def _start(config: ServerConfig, port: int) -> None:
    faults, speculation = read_faults(config.simulation.faults), Speculation.from_vllm(config.spec)
    _log(
        f"Initializing a simulated engine (v{VERSION}) with config: model={config.model!r}, "
        f"speculative_config={_described(speculation)}, seed={config.simulation.seed}, max_seq_len={MAX_MODEL_LEN}"
    )
    if "refuse_start" in faults:
        raise RuntimeError("Engine core initialization failed (planted fault).")
    time.sleep(faults.get("slow_start") or 0)
    # select() has microsecond timeouts; epoll rounds them up to milliseconds, a quarter of a step
    loop = asyncio.SelectorEventLoop(selectors.SelectSelector())
    engine = Engine(config.simulation, speculation, faults=list(faults), max_num_seqs=config.max_num_seqs)
    server = Server(config.model, engine, version=VERSION, faults=faults)
    web.run_app(
        server.app(),
        host="127.0.0.1", port=port, loop=loop, access_log=None, shutdown_timeout=0.5, handler_cancellation=True,
        print=lambda *_: _log(f"Application startup complete, listening on 127.0.0.1:{port}"),
    )  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m labkit.engine.simulated.server")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--config", type=json.loads, required=True)
    args = parser.parse_args(argv)
    try:
        _start(read(ServerConfig, args.config, where="--config"), args.port)
    except LabError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
