"""The deterministic twin of a vLLM server: same surface, text from a small known Markov model.

Runs as a process of its own, like the real one, so that starting, dying and being stopped are tested
on the same code.  What it generates is defined in ``model.py``, how it answers in
``server.py``.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from threading import Event

from labkit.config import EngineConfig, SpecConfig
from labkit.engine.local import LocalServer
from labkit.engine.process import free_port

__all__ = ["start_simulated"]


def start_simulated(
    config: EngineConfig, spec: SpecConfig, *, log_path: Path, stop: Event | None = None
) -> LocalServer:
    """Start a simulated server and wait until it is ready, or until ``stop`` is set.

    Raises:
        ConfigError: the wanted port is taken.
        EngineError: see :class:`~labkit.engine.local.LocalServer`.
    """
    port = free_port(config.port)
    settings = {
        "model": config.target,
        "simulation": asdict(config.simulation),
        "spec": spec.for_vllm(),
        "max_num_seqs": config.max_num_seqs,
    }
    return LocalServer(
        [sys.executable, "-m", "labkit.engine.simulated.server", "--port", str(port), "--config", json.dumps(settings)],
        kind="simulated",
        device="none",
        port=port,
        spec=spec,
        env=config.env,
        log_path=log_path,
        timeout=config.start_timeout,
        stop=stop,
    )
