"""The figures by which a cell of two runs is compared, as sums over the prompts that both finished in every block."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import nan

import numpy as np

from labkit.analysis.change import Change, Figure, change, ratio_of_sums
from labkit.analysis.matching import Cells
from labkit.analysis.pairs import Pairs
from labkit.records import Measurement, RequestRecord
from labkit.repetition import is_looping

__all__ = ["Kind", "cell_changes", "divergence", "ASSUMED_LAUNCH_SD"]

#: Twelve launches of one configuration were reported to gain from 17 to 27 %, the range of a standard deviation of
#: 2.5 %. It stands in where launches were not repeated.
ASSUMED_LAUNCH_SD = 0.025

Turn = tuple[str, int]
#: The usable requests of one launch by prompt and turn.
Requests = dict[Turn, RequestRecord]
Read = Callable[[RequestRecord], float]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A figure: whether its change is on a log scale, the sign of a change for the worse, the standard deviation
    between launches to assume where they were not repeated, and its share in the false alarms of a comparison."""

    name: str
    logarithmic: bool = False
    worse: int = -1
    assumed: float = 0.0
    share: float = 1 / 40
    position: int | None = None


#: The time per token is what a user feels and what all else acts on: it has nine tenths of the false alarms.
TPOT = Kind(name="tpot", logarithmic=True, worse=+1, assumed=ASSUMED_LAUNCH_SD, share=9 / 10)
SPEEDUP = Kind(name="speedup", logarithmic=True, assumed=ASSUMED_LAUNCH_SD)
LENGTH = Kind(name="acceptance_length")
JOINT = Kind(name="joint_rate")
DIVERGENCE = Kind(name="divergence", worse=+1)


def cell_changes(cells: Cells, *, seed: int = 0) -> list[tuple[Kind, Change]]:
    """Every figure by which the cell can be compared, with its change."""
    others = _other_prompts(cells.all)
    without = others | {_turn(r) for m in cells.all for r in m.records if is_looping(r)}
    found = _tpot(cells, without, seed)
    if cells.before_pairs and cells.after_pairs:
        found += _speedup(cells, without, seed) + (_divergence(cells, others, seed) if cells.load[0] == 0 else [])
    return found + (_acceptance(cells, without, seed) if cells.after_key[2] else [])


def _other_prompts(measurements: Sequence[Measurement]) -> set[Turn]:
    """Turns that share an id but no prompt: ids of imported prompts may be mere numbers. Looked at only where the sets
    of prompts differ, since a chat template may put the day into each; later turns hold the model's own words."""
    if len({m.provenance.workload_hash for m in measurements}) == 1:
        return set()
    seen: dict[Turn, set[tuple[int, ...]]] = defaultdict(set)
    for r in (r for m in measurements for r in m.records if r.prompt_token_ids and not r.turn):
        seen[_turn(r)].add(r.prompt_token_ids)
    return {turn for turn, prompts in seen.items() if len(prompts) > 1}


def _tpot(cells: Cells, without: set[Turn], seed: int) -> list[tuple[Kind, Change]]:
    before, after = (_requests(side, _timed) for side in (cells.before, cells.after))
    turns = _shared(before + after, without)
    return _changed(TPOT, _log_tpot(before, turns), _log_tpot(after, turns), turns, seed)


def _speedup(cells: Cells, without: set[Turn], seed: int) -> list[tuple[Kind, Change]]:
    (base, own), (later_base, later_own) = (_arms(pairs, _timed) for pairs in (cells.before_pairs, cells.after_pairs))
    turns = _shared(base + own + later_base + later_own, without)
    before = _minus(_log_tpot(base, turns), _log_tpot(own, turns))
    after = _minus(_log_tpot(later_base, turns), _log_tpot(later_own, turns))
    return _changed(SPEEDUP, before, after, turns, seed)


def _acceptance(cells: Cells, without: set[Turn], seed: int) -> list[tuple[Kind, Change]]:
    """Acceptance length and joint rates; nothing where a launch has no per-step counts or never drafted."""
    before, after = (_requests(side, _counted) for side in (cells.before, cells.after))
    turns = _shared(before + after, without)
    drafted = [[count for turn in turns for count in launch[turn].per_step_drafted] for launch in before + after]
    if not all(drafted):
        return []
    lengths = [_ratio(side, turns, lambda r: sum(r.per_step_accepted) + _steps(r), _steps) for side in (before, after)]
    found = _changed(LENGTH, *lengths, turns, seed)
    for position in range(1, max(map(max, drafted)) + 1):
        rates = [_ratio(side, turns, _reaching(position), _steps) for side in (before, after)]
        found += _changed(replace(JOINT, position=position), *rates, turns, seed)
    return found


def _divergence(cells: Cells, others: set[Turn], seed: int) -> list[tuple[Kind, Change]]:
    """Share of prompts whose greedy output is not the baseline's of the same block."""
    arms = [_arms(pairs, lambda r: not r.error) for pairs in (cells.before_pairs, cells.after_pairs)]
    turns = _shared([launch for bases, owns in arms for launch in bases + owns], others)
    figures = []
    for bases, owns in arms:
        unlike = [[_unlike(base[t], own[t]) for t in turns] for base, own in zip(bases, owns, strict=True)]
        figures.append(ratio_of_sums(np.array(unlike, dtype=float), np.ones((len(owns), len(turns)))))
    return _changed(DIVERGENCE, *figures, turns, seed)


def divergence(blocks: Sequence[tuple[Sequence[RequestRecord], Sequence[RequestRecord]]]) -> float:
    """The same share over ``blocks`` of (baseline, own) of one run; NaN where no prompt was finished in both."""
    pairs = [({_turn(r): r for r in base if not r.error}, [r for r in own if not r.error]) for base, own in blocks]
    unlike = [_unlike(base[_turn(r)], r) for base, own in pairs for r in own if _turn(r) in base]
    return sum(unlike) / len(unlike) if unlike else nan


def _changed(kind: Kind, before: Figure, after: Figure, turns: Sequence[Turn], seed: int) -> list[tuple[Kind, Change]]:
    return [(kind, change(before, after, [prompt for prompt, _ in turns], seed=seed))] if turns else []


def _turn(r: RequestRecord) -> Turn:
    return r.prompt_id, r.turn


def _requests(launches: Sequence[Measurement], usable: Callable[[RequestRecord], bool]) -> list[Requests]:
    return [{_turn(r): r for r in m.records if usable(r)} for m in launches]


def _arms(pairs: Pairs, usable: Callable[[RequestRecord], bool]) -> tuple[list[Requests], list[Requests]]:
    return _requests([base for base, _ in pairs], usable), _requests([own for _, own in pairs], usable)


def _shared(launches: Sequence[Requests], without: set[Turn]) -> list[Turn]:
    return sorted(set.intersection(*map(set, launches)) - without)


def _ratio(launches: Sequence[Requests], turns: Sequence[Turn], top: Read, bottom: Read) -> Figure:
    arrays = [np.array([[read(r[t]) for t in turns] for r in launches], dtype=float) for read in (top, bottom)]
    return ratio_of_sums(*arrays)


def _log_tpot(launches: Sequence[Requests], turns: Sequence[Turn]) -> Figure:
    tpot = _ratio(launches, turns, lambda r: r.decode_seconds, lambda r: r.decode_tokens)
    return lambda weights: np.log(tpot(weights))


def _minus(one: Figure, other: Figure) -> Figure:
    return lambda weights: one(weights) - other(weights)


def _timed(r: RequestRecord) -> bool:
    return bool(r.tpot) and not r.error


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
