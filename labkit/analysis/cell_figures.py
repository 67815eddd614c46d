"""The figures by which a cell of two runs is compared, as sums over the prompts that both finished in every block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan

import numpy as np

from labkit.analysis.change import Change, Figure, change, ratio_of_sums
from labkit.analysis.launch_sums import (
    Read,
    Turn,
    arms,
    finished,
    log_tpot,
    looping,
    minus,
    other_prompts,
    ratio,
    shared,
    timed,
    turn_of,
)
from labkit.analysis.matching import Cells
from labkit.analysis.pairs import Blocks
from labkit.records import RequestRecord

__all__ = ["Kind", "cell_changes", "divergence", "ASSUMED_LAUNCH_SD", "RELATIVE_TPOT", "SPEEDUP"]

#: Twelve launches of one configuration were reported to gain from 17 to 27 %, the range of a standard deviation of
#: 2.5 %. It stands in where launches were not repeated.
ASSUMED_LAUNCH_SD = 0.025


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A figure: whether its change is on a log scale, the sign of a change for the worse, the standard deviation
    between launches to assume where they were not repeated, whether the launches of a block may move in step, and its
    share in the false alarms of a comparison."""

    name: str
    logarithmic: bool = False
    worse: int = -1
    assumed: float = 0.0
    in_step: bool = False
    share: float = 1 / 40
    position: int | None = None


TIMED = {"logarithmic": True, "assumed": ASSUMED_LAUNCH_SD, "in_step": True}
#: The time per token is what a user feels and what all else acts on: nine tenths of the false alarms are for it, half
#: of them against other drafters of its block, where a change shows best. Where nothing can be judged by a kind of
#: figure, the others have its share.
TPOT = Kind(name="tpot", worse=+1, share=9 / 40, **TIMED)
RELATIVE_TPOT = Kind(name="relative_tpot", worse=+1, share=9 / 20, **TIMED)
SPEEDUP = Kind(name="speedup", share=9 / 40, **TIMED)
LENGTH = Kind(name="acceptance_length")
JOINT = Kind(name="joint_rate")
DIVERGENCE = Kind(name="divergence", worse=+1)


def cell_changes(cells: Cells, *, seed: int = 0) -> list[tuple[Kind, Change]]:
    """Every figure by which the cell can be compared, with its change."""
    others = other_prompts(cells.all)
    without = others | looping(cells.all)
    found = _tpot(cells, without, seed)
    if cells.before_pairs and cells.after_pairs:
        found += _speedup(cells, without, seed) + (_divergence(cells, others, seed) if cells.load[0] == 0 else [])
    return found + (_acceptance(cells, without, seed) if cells.after_key[2] else [])


def _tpot(cells: Cells, without: set[Turn], seed: int) -> list[tuple[Kind, Change]]:
    before, after = (finished(side, timed) for side in (cells.before, cells.after))
    turns = shared(before + after, without)
    return _changed(TPOT, log_tpot(before, turns), log_tpot(after, turns), turns, cells.blocks, seed)


def _speedup(cells: Cells, without: set[Turn], seed: int) -> list[tuple[Kind, Change]]:
    (base, own), (later_base, later_own) = (arms(pairs, timed) for pairs in (cells.before_pairs, cells.after_pairs))
    turns = shared(base + own + later_base + later_own, without)
    before = minus(log_tpot(base, turns), log_tpot(own, turns))
    after = minus(log_tpot(later_base, turns), log_tpot(later_own, turns))
    return _changed(SPEEDUP, before, after, turns, cells.paired_blocks, seed)


def _acceptance(cells: Cells, without: set[Turn], seed: int) -> list[tuple[Kind, Change]]:
    """Acceptance length and joint rates; nothing where a launch has no per-step counts or never drafted."""
    before, after = (finished(side, _counted) for side in (cells.before, cells.after))
    turns = shared(before + after, without)
    drafted = [[count for turn in turns for count in launch[turn].per_step_drafted] for launch in before + after]
    if not all(drafted):
        return []
    lengths = [ratio(side, turns, lambda r: sum(r.per_step_accepted) + _steps(r), _steps) for side in (before, after)]
    found = _changed(LENGTH, *lengths, turns, cells.blocks, seed)
    for position in range(1, max(map(max, drafted)) + 1):
        rates = [ratio(side, turns, _reaching(position), _steps) for side in (before, after)]
        found += _changed(replace(JOINT, position=position), *rates, turns, cells.blocks, seed)
    return found


def _divergence(cells: Cells, others: set[Turn], seed: int) -> list[tuple[Kind, Change]]:
    """Share of prompts whose greedy output is not the baseline's of the same block."""
    sides = [arms(pairs, lambda r: not r.error) for pairs in (cells.before_pairs, cells.after_pairs)]
    turns = shared([launch for bases, owns in sides for launch in bases + owns], others)
    figures = []
    for bases, owns in sides:
        unlike = [[_unlike(base[t], own[t]) for t in turns] for base, own in zip(bases, owns, strict=True)]
        figures.append(ratio_of_sums(np.array(unlike, dtype=float), np.ones((len(owns), len(turns)))))
    return _changed(DIVERGENCE, *figures, turns, cells.paired_blocks, seed)


def divergence(blocks: Sequence[tuple[Sequence[RequestRecord], Sequence[RequestRecord]]]) -> float:
    """The same share over ``blocks`` of (baseline, own) of one run; NaN where no prompt was finished in both."""
    pairs = [({turn_of(r): r for r in base if not r.error}, [r for r in own if not r.error]) for base, own in blocks]
    unlike = [_unlike(base[turn_of(r)], r) for base, own in pairs for r in own if turn_of(r) in base]
    return sum(unlike) / len(unlike) if unlike else nan


def _changed(
    kind: Kind, before: Figure, after: Figure, turns: Sequence[Turn], blocks: Blocks, seed: int
) -> list[tuple[Kind, Change]]:
    return [(kind, change(before, after, [prompt for prompt, _ in turns], blocks, seed=seed))] if turns else []


def _counted(r: RequestRecord) -> bool:
    return r.per_step_accepted is not None and r.per_step_drafted is not None and not r.error


def _steps(r: RequestRecord) -> int:
    return len(r.per_step_accepted)


def _reaching(position: int) -> Read:
    return lambda r: sum(count >= position for count in r.per_step_accepted)


def _unlike(base: RequestRecord, own: RequestRecord) -> bool:
    if base.output_token_ids is not None and own.output_token_ids is not None:
        return base.output_token_ids != own.output_token_ids
    return base.text != own.text
