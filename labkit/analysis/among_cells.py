"""How much time per token a cell takes against what the others of its block take.

What slows the whole machine for an hour slows every cell of a block and is in no ratio between them. How much the
others were slowed is the median over the other drafters, the baseline one of them: one that changed, at every K, does
not move it far, and a cell is never held against its own drafter.

Where most drafters changed, the others seem to have changed the other way. So it counts as a cell's own doing only
where its speedup, against the baseline alone, moved with it by half as much. (A drafter that became slower along with
the baseline is left to its own time per token.) The change of the baseline is one more that tells how launches scatter,
and not judged.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from labkit.analysis.cell_figures import RELATIVE_TPOT, Kind
from labkit.analysis.change import Change, Values, change_of, weightings
from labkit.analysis.launch_sums import Turn, finished, log_tpot, looping, other_prompts, shared, timed
from labkit.analysis.matching import Cells
from labkit.analysis.pairs import Blocks
from labkit.records import Measurement

__all__ = ["changes_among", "own_doing"]

#: The median of two is their mean, which one changed drafter moves as far as it likes.
FEWEST_OTHERS = 3


def changes_among(cells: Sequence[Cells], *, seed: int = 0) -> list[tuple[Cells, Kind, Change]]:
    """The change of each cell against at least three other drafters of the same load and prompts, as the log of a ratio
    of times per token, over the prompts that all of them finished in the same blocks. Blocks that few cells have are
    left out, and then cells that miss one, or that would leave less than half of the prompts."""
    groups: dict[tuple, list[Cells]] = defaultdict(list)
    for each in cells:
        groups[each.load, each.before[0].cell.workload, each.after[0].cell.workload].append(each)
    return [(each, RELATIVE_TPOT, change) for group in groups.values() for each, change in _among(group, seed)]


def own_doing(relative: float, speedup: float) -> bool:
    """Whether a change of log time against other drafters is the cell's own, by that of its log speedup."""
    return -speedup * relative >= relative**2 / 2


def _among(group: Sequence[Cells], seed: int) -> list[tuple[Cells, Change]]:
    blocks = _common_blocks([each.blocks[0] for each in group]), _common_blocks([each.blocks[1] for each in group])
    whole = {i: _launches(each, blocks) for i, each in enumerate(group) if _has_all(each, blocks)}
    usable, turns = _in_common({i: _turns(sides) for i, sides in whole.items()})
    drafters = [group[i].after_key[0] for i in usable]
    if len(set(drafters)) <= FEWEST_OTHERS:
        return []
    figures = [[log_tpot(finished(side, timed), turns) for side in whole[i]] for i in usable]
    prompts, found = [prompt for prompt, _ in turns], []
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


def _common_blocks(cells: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Of the blocks that each of ``cells`` has, those that leave most launches where a cell has to have all of them."""
    count = Counter(block for own in cells for block in set(own))
    ordered = sorted(count, key=lambda block: (-count[block], block))
    choices = [set(ordered[:n]) for n in range(1, len(ordered) + 1)]
    best = max(choices, key=lambda choice: len(choice) * sum(choice <= set(own) for own in cells), default=set())
    return tuple(sorted(best))


def _in_common(turns: Mapping[int, Sequence[Turn]]) -> tuple[list[int], list[Turn]]:
    """Which cells finished at least half of the most prompts together, and these."""
    most, usable, common = max(map(len, turns.values()), default=0), [], set()
    for i in sorted(turns, key=lambda i: -len(turns[i])):
        left = common & set(turns[i]) if usable else set(turns[i])
        if left and 2 * len(left) >= most:
            usable, common = [*usable, i], left
    return sorted(usable), sorted(common)


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
