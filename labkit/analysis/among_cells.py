"""How much time per token a cell takes against what the others of its block take.

What slows the whole machine for an hour slows every cell of a block and is in no ratio between them. How much the
others were slowed is the median over the other drafters, the baseline one of them: one that changed, at every K, does
not move it far, and a cell is never held against its own drafter.

Where most drafters changed, the others seem to have changed the other way. So it counts as a cell's own doing only
where its speedup, against the baseline alone, moved with it by half as much. The change of the baseline is one more
that tells how launches scatter, and not judged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from labkit.analysis.cell_figures import RELATIVE_TPOT, Kind
from labkit.analysis.change import Blocks, Change, Values, change_of, weightings
from labkit.analysis.launch_sums import Turn, finished, log_tpot, looping, other_prompts, shared, timed
from labkit.analysis.matching import Cells
from labkit.records import Measurement

__all__ = ["changes_among", "own_doing", "FEWEST_OTHERS"]

#: The median of two is their mean, which one changed drafter moves as far as it likes.
FEWEST_OTHERS = 3


def changes_among(cells: Sequence[Cells], *, seed: int = 0) -> list[tuple[Cells, Kind, Change]]:
    """The change of each cell against at least three other drafters of the same load and prompts. Blocks that too few
    drafters have are left out, and then cells that miss a block, or half of the prompts that others finished."""
    groups: dict[tuple, list[Cells]] = defaultdict(list)
    for each in cells:
        groups[each.load, each.before[0].cell.workload, each.after[0].cell.workload].append(each)
    return [(each, RELATIVE_TPOT, change) for group in groups.values() for each, change in _among(group, seed)]


def own_doing(relative: float, speedup: float) -> bool:
    """Whether a change of log time against other drafters is the cell's own, by that of its log speedup."""
    return -speedup * relative >= relative**2 / 2


def _among(group: Sequence[Cells], seed: int) -> list[tuple[Cells, Change]]:
    blocks = _common_blocks(group)
    whole = {i: _launches(each, blocks) for i, each in enumerate(group) if _has_all(each, blocks)}
    turns = {i: _turns(sides) for i, sides in whole.items()}
    usable = [i for i, own in turns.items() if own and 2 * len(own) >= max(map(len, turns.values()))]
    drafters = [group[i].after_key[0] for i in usable]
    in_all = sorted(set.intersection(*(set(turns[i]) for i in usable))) if usable else []
    if len(set(drafters)) <= FEWEST_OTHERS or not in_all:
        return []
    figures = [[log_tpot(finished(side, timed), in_all) for side in whole[i]] for i in usable]
    prompts, found = [prompt for prompt, _ in in_all], []
    for weights in weightings(prompts, seed=seed):
        values = [tuple(figure(weights) for figure in sides) for sides in figures]
        found.append([_against_others(values, drafters, own) for own in range(len(usable))])
    changes = [change_of(values, drawn, prompts, blocks) for values, drawn in zip(*found, strict=True)]
    return [(group[i], change) for i, change in zip(usable, changes, strict=True)]


def _against_others(values: Sequence[Values], drafters: Sequence[str], own: int) -> Values:
    """Of one cell, log time per token less that of the other drafters, launch by launch: their mean level over both
    runs, and the median of what they deviate from it."""
    levels, deviations = [], []
    for name in sorted(set(drafters) - {drafters[own]}):
        cells = [cell for cell, drafter in zip(values, drafters, strict=True) if drafter == name]
        level = [sum(side.mean(axis=1, keepdims=True) for side in cell) / 2 for cell in cells]
        apart = [[side - mean for side in cell] for cell, mean in zip(cells, level, strict=True)]
        levels.append(np.mean(level, axis=0))
        deviations.append([np.median(side, axis=0) for side in zip(*apart, strict=True)])
    reference = [np.median(side, axis=0) + np.mean(levels, axis=0) for side in zip(*deviations, strict=True)]
    return values[own][0] - reference[0], values[own][1] - reference[1]


def _common_blocks(group: Sequence[Cells]) -> Blocks:
    """Blocks before and after that the cells of enough drafters have."""
    sides = []
    for run in (0, 1):
        drafters: dict[int, set[str]] = defaultdict(set)
        for each in group:
            for block in each.blocks[run]:
                drafters[block].add(each.after_key[0])
        sides.append(tuple(sorted(block for block, names in drafters.items() if len(names) > FEWEST_OTHERS)))
    return sides[0], sides[1]


def _has_all(cells: Cells, blocks: Blocks) -> bool:
    """Whether the cell was measured in all ``blocks``, once in each."""
    return all(
        wanted and sorted(block for block in own if block in wanted) == list(wanted)
        for wanted, own in zip(blocks, cells.blocks, strict=True)
    )


def _launches(cells: Cells, blocks: Blocks) -> list[list[Measurement]]:
    """Those of ``blocks`` before and after, in their order."""
    sides = zip((cells.before, cells.after), blocks, strict=True)
    return [sorted((m for m in own if m.cell.block in wanted), key=lambda m: m.cell.block) for own, wanted in sides]


def _turns(sides: Sequence[Sequence[Measurement]]) -> list[Turn]:
    measured = [m for side in sides for m in side]
    return shared(finished(measured, timed), looping(measured) | other_prompts(measured))
