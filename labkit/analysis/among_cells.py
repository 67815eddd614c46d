"""How much time per token a cell takes against what the others of its block take.

What slows the whole machine for an hour slows every cell of a block and is in no ratio between them. How much the
others were slowed is the median over the other drafters, the baseline one of them: one that changed, at every K, does
not move it far, and a cell is never held against its own drafter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from labkit.analysis.cell_figures import RELATIVE_TPOT, Kind, changed
from labkit.analysis.change import Change, Figure
from labkit.analysis.launch_sums import finished, log_tpot, looping, other_prompts, shared, timed
from labkit.analysis.matching import Cells
from labkit.records import Measurement

__all__ = ["changes_among", "FEWEST_OTHERS"]

#: The median of two is their mean, which one changed drafter moves as far as it likes.
FEWEST_OTHERS = 3


def changes_among(cells: Sequence[Cells], *, seed: int = 0) -> list[tuple[Cells, Kind, Change]]:
    """The change of each cell against at least three other drafters of the same load and prompts, in the blocks of
    these; none of a cell that misses a block, or has too few others."""
    groups: dict[tuple, list[Cells]] = defaultdict(list)
    for each in cells:
        groups[each.load, each.before[0].cell.workload, each.after[0].cell.workload].append(each)
    return [found for group in groups.values() for found in _among(group, seed)]


def _among(group: Sequence[Cells], seed: int) -> list[tuple[Cells, Kind, Change]]:
    blocks = [{_block(m) for each in group for m in side(each)} for side in (_before, _after)]
    whole = [each for each in group if [{_block(m) for m in side(each)} for side in (_before, _after)] == blocks]
    drafters = [each.after_key[0] for each in whole]
    if len(set(drafters)) <= FEWEST_OTHERS:
        return []
    measured = [m for each in whole for m in (*each.before, *each.after)]
    sides = [[finished(sorted(side(each), key=_block), timed) for each in whole] for side in (_before, _after)]
    turns = shared([launch for side in sides for launches in side for launch in launches],
                   other_prompts(measured) | looping(measured))  # fmt: skip
    before, after = ([log_tpot(launches, turns) for launches in side] for side in sides)
    return [
        (each, *found)
        for each, figures in zip(whole, _against_others(before, after, drafters), strict=True)
        for found in changed(RELATIVE_TPOT, *figures, turns, seed)
    ]


def _against_others(
    before: Sequence[Figure], after: Sequence[Figure], drafters: Sequence[str]
) -> list[tuple[Figure, Figure]]:
    """Of each cell, log time per token less that of the other drafters, launch by launch: their mean level over both
    runs, and the median of what they deviate from it."""

    def others(weights: np.ndarray, own: int) -> list[np.ndarray]:
        of_drafter = [
            [i for i, d in enumerate(drafters) if d == name] for name in sorted(set(drafters) - {drafters[own]})
        ]
        levels, deviations = [], []
        for cells in of_drafter:
            sides = [np.stack([side[i](weights) for i in cells], axis=-1) for side in (before, after)]
            level = sum(side.mean(axis=1, keepdims=True) for side in sides) / 2
            levels.append(level.mean(axis=-1))
            deviations.append([np.median(side - level, axis=-1) for side in sides])
        return [np.median(side, axis=0) + np.mean(levels, axis=0) for side in zip(*deviations, strict=True)]

    def against(own: int) -> tuple[Figure, Figure]:
        return (
            lambda weights: before[own](weights) - others(weights, own)[0],
            lambda weights: after[own](weights) - others(weights, own)[1],
        )

    return [against(own) for own in range(len(before))]


def _before(cells: Cells) -> Sequence[Measurement]:
    return cells.before


def _after(cells: Cells) -> Sequence[Measurement]:
    return cells.after


def _block(m: Measurement) -> int:
    return m.cell.block
