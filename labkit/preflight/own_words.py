"""What the installed vLLM itself says to a launch: its own validation, run in a process of its own.

``EngineArgs(…).create_engine_config()`` reads configs and loads no weights. It does not decide everything: what
only a worker refuses (a draft model's tensor parallel size, a head of the wrong size) is not seen here.
"""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from labkit.errors import ConfigError, EngineError
from labkit.preflight.check import Report
from labkit.preflight.launch import Launch
from labkit.preflight.rules import Finding

__all__ = ["Answer", "ask", "with_own_words"]

_ASK = """
import json, os, sys
os.environ.setdefault("HF_HUB_OFFLINE", "1")
answers = []
from vllm.engine.arg_utils import EngineArgs
for arguments in json.load(sys.stdin):
    try:
        EngineArgs(**arguments).create_engine_config()
        answers.append(None)
    except Exception as error:
        answers.append(f"{type(error).__name__}: {error}")
print("ANSWERS " + json.dumps(answers))
"""
#: Fields of a launch that are arguments of the engine, by the engine's name.
_ARGUMENTS = {
    "tp": "tensor_parallel_size", "pp": "pipeline_parallel_size", "dp": "data_parallel_size",
    "max_model_len": "max_model_len", "max_num_seqs": "max_num_seqs", "lora": "enable_lora",
    "max_num_batched_tokens": "max_num_batched_tokens",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Answer:
    """``words`` are vLLM's own, empty where it accepts."""

    accepted: bool
    words: str = ""


def ask(launches: Sequence[Launch], *, timeout: float = 300.0) -> list[Answer]:
    """vLLM's answer to each launch; importing vLLM takes about ten seconds, once for all.

    Raises:
        EngineError: vLLM is not installed, or its process failed.
    """
    if importlib.util.find_spec("vllm") is None:
        raise EngineError("vLLM is not installed here, so it cannot be asked; leave --ask-vllm out")
    try:
        done = subprocess.run(
            [sys.executable, "-c", _ASK], input=json.dumps([_arguments(launch) for launch in launches]),
            capture_output=True, text=True, timeout=timeout,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise EngineError(f"vLLM did not answer within {timeout:.0f} s") from None
    found = re.search(r"^ANSWERS (.*)$", done.stdout, re.M)
    if not found:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise EngineError(f"vLLM could not be asked (exit {done.returncode}): {last}")
    return [Answer(accepted=words is None, words=_shortened(words or "")) for words in json.loads(found[1])]


def with_own_words(report: Report) -> Report:
    """The report with vLLM's own answer as a finding, first where it refuses.

    Raises:
        ConfigError: a model is not on this machine.
        EngineError: as :func:`ask` says.
    """
    case = report.case
    if absent := [model.name for model in (case.target, case.draft) if model and not model.folder]:
        raise ConfigError(f"vLLM can be asked about models on this machine only; not here: {', '.join(absent)}")
    (answer,) = ask([replace(case.launch, target=case.target.name, draft=case.draft.name if case.draft else None)])
    state = "supported" if answer.accepted else "unsupported"
    said = "The installed vLLM accepts this configuration." if answer.accepted else f"vLLM says: {answer.words}"
    finding = Finding(rule="vllm", state=state, message=said, source="EngineArgs.create_engine_config()")
    ordered = (finding, *report.findings) if not answer.accepted else (*report.findings, finding)
    return replace(report, findings=ordered)


def _arguments(launch: Launch) -> dict[str, Any]:
    given = {name: getattr(launch, ours) for ours, name in _ARGUMENTS.items() if getattr(launch, ours)}
    given |= {"model": launch.target, "enforce_eager": True}
    if drafter := launch.drafter:
        config = {"method": drafter.method, "num_speculative_tokens": launch.k, **launch.options}
        config |= {"model": drafter.model} if drafter.model else {}
        config |= {"draft_tensor_parallel_size": launch.draft_tp} if launch.draft_tp else {}
        given["speculative_config"] = {key: value for key, value in config.items() if value is not None}
    return given


def _shortened(words: str) -> str:
    """Without pydantic's frame: the sentences a person wrote."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    kept = [line for line in lines if not re.match(r"For further information|\w*Error: \d+ validation error", line)]
    said = re.sub(r" \[type=.*", "", " ".join(kept or lines))
    return said if len(said) <= 400 else f"{said[:400]} …"
