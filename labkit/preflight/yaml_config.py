"""A config file of ``vllm serve --config`` → arguments."""

from __future__ import annotations

import re

import yaml

from labkit.errors import ConfigError
from labkit.preflight.arguments import Argument, argument_of, flag_kind

__all__ = ["read_yaml", "refuse_manifest"]

_FIRST = re.compile(r"(?:\s|#[^\n]*\n|---[ \t]*\n)*(?:[\"']?[A-Za-z][\w.-]*[\"']?[ \t]*:(?:\s|\Z)|\{\s*[\"'])")
_MANIFEST = re.compile(r"^(?:apiVersion|services|containers|spec)[ \t]*:", re.MULTILINE)


def refuse_manifest(text: str) -> None:
    """A compose file or a pod holds more than a launch; rewriting it is not ours.

    Raises:
        ConfigError: ``text`` is one.
    """
    if _MANIFEST.search(text):
        raise ConfigError("this is a manifest of containers; give the command or the arguments of the one that serves")


def read_yaml(text: str) -> tuple[list[Argument], list[str]] | None:
    """Arguments and notes of a mapping of settings; None where ``text`` is something else.

    Raises:
        ConfigError: it begins like one and is none.
    """
    if not _FIRST.match(text):
        return None
    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        where = f"line {mark.line + 1}: " if (mark := getattr(error, "problem_mark", None)) else ""
        problem = getattr(error, "problem", None) or str(error) or "nested too deeply"
        raise ConfigError(f"this begins like a YAML config and cannot be read; {where}{problem}") from None
    if not isinstance(found, dict):
        return None
    if not any(flag_kind(str(key).replace("_", "-")) for key in found):
        return None
    notes, arguments = [], []
    for key, value in found.items():
        name = "model" if key in ("model_tag", "model-tag") else str(key)
        if made := argument_of(name, value):
            arguments.append(made)
        else:
            notes.append(f"{name} left out: {value} is the default")
    return arguments, notes
