"""What a run adds to a drafter's card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from labkit.records import Measurement
from labkit.view import tables

__all__ = ["served_rows"]

_FIGURES = ["mean_acceptance_length", "low", "high", "speedup", "speedup_low", "speedup_high"]


def served_rows(measurements: Sequence[Measurement], model: str) -> list[dict[str, Any]]:
    """What a run says of the drafter ``model`` (as its plan names it), a row per cell and category and one
    for "all": drafter, category, k, temperature, concurrency, acceptance length and speedup with their
    intervals, n prompts. Looping outputs are left out."""
    names = {m.cell.spec.name for m in measurements if m.cell.spec.drafter and m.cell.spec.drafter.model == model}
    rows = []
    for category in [*sorted({r.category for m in measurements for r in m.records}), "all"]:
        part = [
            replace(m, records=tuple(r for r in m.records if category in ("all", r.category))) for m in measurements
        ]
        speeds = tables.speedups(part).rename(columns={"low": "speedup_low", "high": "speedup_high"})
        both = tables.acceptances(part).merge(speeds.drop(columns="prompts"), on=tables.CELL_KEYS, how="left")
        for _, row in both[both["drafter"].isin(names)].iterrows():
            rows.append(
                {"drafter": row["drafter"], "category": category, "k": int(row["k"]), "n": int(row["prompts"])}
                | {key: row[key] for key in ("temperature", "concurrency")}
                | {key: None if row[key] != row[key] else round(float(row[key]), 4) for key in _FIGURES}
            )
    return rows
