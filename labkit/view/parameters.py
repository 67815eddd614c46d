"""Values for a notebook's parameters, read strictly: papermill itself only logs an unknown name and guesses
types from text (``2_5`` becomes 25, ``false`` a true string)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from labkit.errors import ConfigError, did_you_mean

__all__ = ["typed_values"]

_TEXT = {
    "int": (r"[+-]?\d+", int),
    "float": (r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", float),
    "bool": (r"(?i:true|false)", lambda text: text.lower() == "true"),
    "list": (r"(?s:\[.*\])", json.loads),
    "dict": (r"(?s:\{.*\})", json.loads),
}
_KINDS = {"int": int, "float": (int, float), "bool": bool, "str": str, "list": list, "dict": dict}


def typed_values(given: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]], *, where: str) -> dict[str, Any]:
    """``given`` turned into the types of the ``known`` parameters (papermill's inspection of a notebook).

    Raises:
        ConfigError: an unknown name, or a value that is not of the parameter's type; lists the valid ones.
    """
    described = ", ".join(f"{n} ({p['inferred_type_name']}, default {p['default']})" for n, p in known.items())
    values = {}
    for name, value in given.items():
        if name not in known:
            raise ConfigError(f"{where} has no parameter {name!r}; it has {described}{did_you_mean(name, known)}")
        kind = known[name]["inferred_type_name"]
        try:
            values[name] = _typed(value, kind)
        except ValueError:
            raise ConfigError(f"{where}: {name!r} must be of type {kind}; got {value!r}; it has {described}") from None
    return values


def _typed(value: Any, kind: str) -> Any:
    if isinstance(value, str) and kind in _TEXT:
        pattern, read = _TEXT[kind]
        if not re.fullmatch(pattern, value):
            raise ValueError(value)
        return read(value)
    plain = value.item() if hasattr(value, "item") else value  # a numpy scalar
    if kind in _KINDS and (not isinstance(plain, _KINDS[kind]) or isinstance(plain, bool) != (kind == "bool")):
        raise ValueError(value)
    return float(plain) if kind == "float" else plain
