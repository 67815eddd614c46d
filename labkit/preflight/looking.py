"""A launch command or a preset, looked at: the command in today's words, and what the rules say of it.

looked = look("vllm serve /models/Qwen2.5-72B-Instruct --speculative-model /models/Qwen2.5-0.5B-Instruct …")
looked.command        # migrated
looked.report         # its verdict and findings
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from labkit.preflight.check import Report, judge, preflight
from labkit.preflight.launch import READ_FROM, Launch
from labkit.preflight.legacy import migrate
from labkit.preflight.presets import load_presets, public_id

__all__ = ["Look", "look"]


@dataclass(frozen=True, kw_only=True)
class Look:
    """``errors``: what vLLM will end on, kept in the command. ``notes`` tell every change and every caveat."""

    command: str
    notes: tuple[str, ...]
    report: Report
    errors: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        return "incompatible" if self.errors else self.report.verdict


def look(asked: str) -> Look:
    """``asked``: the name of a preset, or a launch of any vLLM version (shell text, YAML config, Python call). A
    folder of the command that is not here is taken for the public model it is named like, where presets have one.

    Raises:
        ConfigError: it is neither; a folder of the command is missing; or a part that only the shell knows decides.
    """
    if preset := load_presets().get(asked.strip()):
        return Look(command=preset.command, notes=preset.caveats, report=judge(preset.case))
    made = migrate(asked)
    launch, notes = _with_public_models(replace(made.launch(), vllm=READ_FROM))
    report = preflight(launch)
    return Look(command=made.command, notes=(*made.notes, *notes, *report.notes), report=report, errors=made.errors)


def _with_public_models(launch: Launch) -> tuple[Launch, list[str]]:
    folders = {role: getattr(launch, role) for role in ("target", "draft")}
    absent = {role: name for role, name in folders.items() if name and _is_absent(name)}
    known = {role: hub_id for role, name in absent.items() if (hub_id := public_id(name))}
    notes = [f"{absent[role]} is not here: it is taken for {known[role]}, which it is named like" for role in known]
    return replace(launch, **known), notes


def _is_absent(name: str) -> bool:
    """Whether ``name`` is that of a folder, and there is none."""
    return name.startswith(("/", ".", "~")) and not Path(name).expanduser().is_dir()
