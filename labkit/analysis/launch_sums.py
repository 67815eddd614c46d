"""What launches are compared by: the requests that all of them finished, and figures as ratios of sums over these."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from labkit.analysis.change import Figure, ratio_of_sums
from labkit.analysis.pairs import Pairs
from labkit.records import Measurement, RequestRecord
from labkit.repetition import is_looping

__all__ = [
    "Read", "Requests", "Turn", "arms", "finished", "log_tpot", "looping", "minus", "other_prompts", "ratio", "shared",
    "timed", "turn_of",
]  # fmt: skip

Turn = tuple[str, int]
#: The usable requests of one launch by prompt and turn.
Requests = dict[Turn, RequestRecord]
Read = Callable[[RequestRecord], float]
Usable = Callable[[RequestRecord], bool]


def turn_of(r: RequestRecord) -> Turn:
    return r.prompt_id, r.turn


def finished(launches: Sequence[Measurement], usable: Usable) -> list[Requests]:
    """The ``usable`` requests of each launch."""
    return [{turn_of(r): r for r in m.records if usable(r)} for m in launches]


def arms(pairs: Pairs, usable: Usable) -> tuple[list[Requests], list[Requests]]:
    """Those of the baseline and of the cell's own launches, block by block."""
    return finished([base for base, _ in pairs], usable), finished([own for _, own in pairs], usable)


def shared(launches: Sequence[Requests], without: set[Turn]) -> list[Turn]:
    """The turns that every launch finished."""
    return sorted(set.intersection(*map(set, launches)) - without)


def looping(measurements: Sequence[Measurement]) -> set[Turn]:
    """Turns whose output repeats itself in any launch."""
    return {turn_of(r) for m in measurements for r in m.records if is_looping(r)}


def other_prompts(measurements: Sequence[Measurement]) -> set[Turn]:
    """Turns that share an id but no prompt: ids of imported prompts may be mere numbers. Looked at only where the sets
    of prompts differ, since a chat template may put the day into each; later turns hold the model's own words."""
    if len({m.provenance.workload_hash for m in measurements}) == 1:
        return set()
    seen: dict[Turn, set[tuple[int, ...]]] = defaultdict(set)
    for r in (r for m in measurements for r in m.records if r.prompt_token_ids and not r.turn):
        seen[turn_of(r)].add(r.prompt_token_ids)
    return {turn for turn, prompts in seen.items() if len(prompts) > 1}


def timed(r: RequestRecord) -> bool:
    """Whether the request has a time per token."""
    return bool(r.tpot) and not r.error


def ratio(launches: Sequence[Requests], turns: Sequence[Turn], top: Read, bottom: Read) -> Figure:
    """Σ ``top`` / Σ ``bottom`` over ``turns``, by launch."""
    arrays = [np.array([[read(r[t]) for t in turns] for r in launches], dtype=float) for read in (top, bottom)]
    return ratio_of_sums(*arrays)


def log_tpot(launches: Sequence[Requests], turns: Sequence[Turn]) -> Figure:
    """Log of the decode seconds per token over ``turns``, by launch."""
    tpot = ratio(launches, turns, lambda r: r.decode_seconds, lambda r: r.decode_tokens)
    return lambda weights: np.log(tpot(weights))


def minus(one: Figure, other: Figure) -> Figure:
    """The difference of two figures of the same launches; of logs, the log of their ratio."""
    return lambda weights: one(weights) - other(weights)
