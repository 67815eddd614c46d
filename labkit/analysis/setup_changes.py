"""What differs between two runs besides their figures: versions, device, model, prompts, server options."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from labkit.analysis.matching import Cells
from labkit.records import Measurement

__all__ = ["setup_changes"]

_OF_A_RUN: dict[str, Callable[[Measurement], Any]] = {
    "engine": lambda m: f"{m.provenance.engine_kind} {m.provenance.engine_version or 'of unknown version'}",
    "device": lambda m: m.provenance.device,
    "target": lambda m: m.provenance.model,
    "repairs": lambda m: m.provenance.cpu_fixes or "none",
    "labkit": lambda m: m.provenance.labkit_version,
    "prompts": lambda m: m.provenance.workload_hash,
    "longest output": lambda m: m.cell.workload.max_tokens,
    "sampling": lambda m: m.cell.sampling.mode,
}


def setup_changes(cells: Sequence[Cells]) -> list[str]:
    """One line for each thing that differs, in words."""
    sides = ([m for c in cells for m in c.before], [m for c in cells for m in c.after])
    lines = []
    for name, value in _OF_A_RUN.items():
        before, after = (_listed(map(value, side)) for side in sides)
        if before != after:
            lines.append(f"{name}: {before} → {after}")
    lines += _option_lines(*sides)
    for c in cells:
        before, after = (_listed(_spec(m) for m in side) for side in (c.before, c.after))
        if before != after:
            lines.append(f"{c.label}: speculative config {before} → {after}")
    return lines


def _option_lines(before: Sequence[Measurement], after: Sequence[Measurement]) -> list[str]:
    """Server options that only one side was started with."""
    first, second = (set.union(*map(_options, side)) for side in (before, after))
    gone, new = " ".join(sorted(first - second)), " ".join(sorted(second - first))
    return [f"server options: {gone or 'none'} → {new or 'none'}"] if gone or new else []


def _options(m: Measurement) -> set[str]:
    """``--name value`` pairs of the server's line, without those that name a place or the drafter."""
    found, name = set(), ""
    for word in m.provenance.argv:
        if word.startswith("--"):
            name = word
            found.add(name)
        elif name:
            found.discard(name)
            found.add(f"{name} {word}")
    skipped = ("--port", "--host", "--model", "--served-model-name", "--speculative-config")
    return {option for option in found if not option.startswith(skipped)}


def _spec(m: Measurement) -> str:
    return json.dumps(m.provenance.speculative_config, sort_keys=True)


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(sorted({str(value) for value in values}))
