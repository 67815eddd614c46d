"""Measurements put together: the blocks of a cell, and every cell with its baseline."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from labkit.records import Measurement, RequestRecord
from labkit.repetition import is_looping

__all__ = ["Blocks", "Key", "Pairs", "by_cell", "cell_key", "paired", "sound"]

#: (drafter, method, K, temperature, concurrency)
Key = tuple[str, str | None, int, float, int]
#: (baseline, own measurement), one for each block that has both.
Pairs = list[tuple[Measurement, Measurement]]
#: Numbers of the blocks of a run before, and of those of a run after.
Blocks = tuple[tuple[int, ...], tuple[int, ...]]


def cell_key(m: Measurement) -> Key:
    return (m.cell.spec.name, m.cell.spec.method, m.cell.spec.k, m.cell.sampling.temperature, m.cell.concurrency)


def by_cell(measurements: Sequence[Measurement], *, baseline: bool = False) -> dict[Key, list[Measurement]]:
    """The blocks of every speculative cell, and with ``baseline`` of every other; discarded ones left out."""
    found: dict[Key, list[Measurement]] = defaultdict(list)
    for m in measurements:
        if not m.discarded and (baseline or m.cell.spec.k):
            found[cell_key(m)].append(m)
    return found


def paired(measurements: Sequence[Measurement]) -> dict[Key, Pairs]:
    """Every speculative cell with the baselines of its blocks; discarded measurements left out."""
    usable = [m for m in measurements if not m.discarded]
    base = {_place(m): m for m in usable if not m.cell.spec.k}
    pairs: dict[Key, Pairs] = defaultdict(list)
    for m in usable:
        if m.cell.spec.k and _place(m) in base:
            pairs[cell_key(m)].append((base[_place(m)], m))
    return pairs


def sound(measurements: Sequence[Measurement]) -> list[RequestRecord]:
    """Records without an error whose output does not loop."""
    return [r for m in measurements for r in m.records if not r.error and not is_looping(r)]


def _place(m: Measurement) -> tuple[int, float, int]:
    return m.cell.block, m.cell.sampling.temperature, m.cell.concurrency
