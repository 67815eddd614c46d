"""How a cell changed while its run went on: the anchor cells.

The baseline of the lowest temperature and load is measured in every block, so it is the anchor of the machine's speed;
the largest K of each drafter there is that of its acceptance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, nan

from labkit.analysis.acceptance import from_records
from labkit.analysis.pairs import Key, by_cell, sound
from labkit.analysis.speedup import cell_tpot
from labkit.records import Measurement

__all__ = ["Drift", "drifts", "relative_drift", "NOTABLE"]

#: A drift from here on deserves a word; the warm-up of a cell ends at the same 5 %.
NOTABLE = 0.05


@dataclass(frozen=True, kw_only=True)
class Drift:
    """Values of an anchor cell in the order they were measured; ``run`` is "before" or "after", ``figure`` "tpot" or
    "acceptance_length"."""

    run: str
    key: Key
    figure: str
    values: tuple[float, ...]

    @property
    def relative(self) -> float:
        return relative_drift(self.values)

    @property
    def notable(self) -> bool:
        return abs(self.relative) > NOTABLE


def relative_drift(values: Sequence[float]) -> float:
    """Last value against the first: 3.05, 2.96, 2.84 drifted by −6.9 %."""
    return values[-1] / values[0] - 1


def drifts(measurements: Sequence[Measurement], *, run: str) -> list[Drift]:
    """Drift of every anchor cell that was measured more than once."""
    cells = by_cell(measurements, baseline=True)
    load = min(((key[3], key[4]) for key in cells), default=None)
    here = {key: sorted(own, key=_when) for key, own in cells.items() if (key[3], key[4]) == load and len(own) > 1}
    largest = {drafter: max(k for name, _, k, *_ in here if name == drafter) for drafter, *_ in here}
    found = []
    for key, own in here.items():
        if key[2] != largest[key[0]]:
            continue
        values = tuple(_value(m) for m in own)
        if all(map(isfinite, values)):
            figure = "acceptance_length" if key[2] else "tpot"
            found.append(Drift(run=run, key=key, figure=figure, values=values))
    return found


def _value(m: Measurement) -> float:
    """The anchor figure of one block; NaN where nothing tells."""
    if not m.cell.spec.k:
        return cell_tpot(sound([m]))
    known = from_records(sound([m]))
    return known.mean_acceptance_length if known else nan


def _when(m: Measurement) -> tuple[float, int]:
    return m.provenance.started_at, m.cell.block
