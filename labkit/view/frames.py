"""What the panel shows of one choice of prompts (category, language) and confidence: tables, made once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isnan
from typing import Any

from labkit.analysis.every_k import Scores
from labkit.analysis.objections import Evidence, weighed
from labkit.analysis.outlook import Outlook, measured_outcomes, outlook
from labkit.analysis.pairs import by_cell, sound
from labkit.analysis.recommend import recommend_by_load
from labkit.records import Measurement
from labkit.view import tables
from labkit.view.outlook_table import as_table, outcome_rows
from labkit.view.selection import ALL

__all__ = ["HERE", "RANK", "Frames", "Row", "filtered"]

Row = dict[str, Any]
#: The kind of what was measured with the panel, beside "measured", "predicted" and "interpolated".
HERE = "measured here"
#: Which kind is shown where there are several, the first first.
RANK = {HERE: 0, "measured": 1, "predicted": 2, "interpolated": 3}


class Frames:
    """Tables of ``measurements`` and of what was measured ``here``: rows of the outlook, positions, the recommendation
    and the baseline's records by load, the span of figures. ``empty``: no prompt is left."""

    def __init__(
        self, measurements: Sequence[Measurement], here: Sequence[Measurement], scores: Scores, largest_k: int,
        confidence: float, evidence: Evidence,
    ) -> None:  # fmt: skip
        self.empty = not measurements
        self.outlook: Outlook = outlook(measurements, scores, up_to=largest_k, confidence=confidence)
        table = as_table(self.outlook, measurements)
        own = outcome_rows(measured_outcomes(here, confidence=confidence), dict(table.attrs["drafters"]))
        self.rows: list[Row] = [*table.to_dict("records"), *own.assign(kind=HERE).to_dict("records")]
        self.rows.sort(key=lambda row: (row["drafter"], row["k"], row["temperature"], row["concurrency"]))
        self.ranges = {"speedup": _span(self.rows, "speedup", "low", "high")}
        self.ranges["tokens_per_step"] = _span(self.rows, "tokens_per_step")
        self.positions: list[Row] = [
            row | {"kind": kind}
            for kind, cells in ((HERE, here), ("measured", measurements))
            for row in tables.positions(cells, confidence=confidence).to_dict("records")
        ]
        self.recommended = recommend_by_load(weighed(self.outlook.candidates(), evidence))
        self.baseline = {key[3:]: sound(own) for key, own in by_cell(measurements, baseline=True).items() if not key[2]}


def filtered(
    measurements: Sequence[Measurement], scores: Scores, category: str, language: str
) -> tuple[list[Measurement], Scores]:
    """The records and traces of one category and language; cells without any are gone."""
    if category == ALL and language == ALL:
        return list(measurements), scores

    def wanted(record) -> bool:
        return category in (ALL, record.category) and language in (ALL, record.language)

    kept = [replace(m, records=tuple(filter(wanted, m.records))) for m in measurements]
    prompts = {r.prompt_id for m in kept for r in m.records}
    return [m for m in kept if m.records], {
        key: [trace for trace in traces if trace.prompt_id in prompts] for key, traces in scores.items()
    }


def _span(rows: Sequence[Row], *names: str) -> tuple[float, float]:
    """Lowest and highest of the known figures ``names``; NaN without any."""
    known = [row[name] for row in rows for name in names if row[name] is not None and not isnan(row[name])]
    return (min(known), max(known)) if known else (float("nan"), float("nan"))
