"""Where it runs. :func:`launch` gives the engine a config asks for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Event

from labkit.config import EngineConfig, SpecConfig
from labkit.engine.base import Engine, EngineInfo
from labkit.engine.process import free_port
from labkit.errors import ConfigError

__all__ = ["Engine", "EngineInfo", "check", "launch"]


def check(config: EngineConfig, specs: Sequence[SpecConfig]) -> None:
    """Raise what :func:`launch` would find wrong with the request itself, before anything is started.

    Raises:
        ConfigError: vLLM is not installed, a model is not there, the wanted port is taken, a spec has no URL.
    """
    if config.kind != "remote" and config.port:
        free_port(config.port)
    for spec in specs:
        if config.kind == "vllm":
            from labkit.engine.server import check_vllm

            check_vllm(config, spec)
        elif config.kind == "remote" and spec.label not in config.urls:
            raise ConfigError(f"no URL for {spec.label!r} under 'urls'; given: {', '.join(config.urls)}")


def launch(config: EngineConfig, spec: SpecConfig, *, log_path: Path, stop: Event | None = None) -> Engine:
    """Start (or attach to) the engine that serves ``spec``, ready for requests. ``stop``, once set by another
    thread, ends the waiting for it with an EngineError.

    Raises:
        ConfigError, EngineError: as the engine's own class says.
    """
    if config.kind == "remote":
        from labkit.engine.remote import RemoteEngine

        check(config, [spec])
        return RemoteEngine(config.urls[spec.label], spec, model=config.target)
    if config.kind == "simulated":
        from labkit.engine.simulated import start_simulated

        return start_simulated(config, spec, log_path=log_path, stop=stop)
    from labkit.engine.server import start_vllm

    return start_vllm(config, spec, log_path=log_path, stop=stop)
