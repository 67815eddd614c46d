"""Which cell of one run is which of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labkit.analysis.pairs import Blocks, Key, Pairs, by_cell, paired
from labkit.records import Measurement

__all__ = ["Cells", "cell_name", "matched"]


@dataclass(frozen=True, kw_only=True)
class Cells:
    """One cell in both runs: its blocks, and those of them that have a baseline, as (baseline, own)."""

    before_key: Key
    after_key: Key
    before: Sequence[Measurement]
    after: Sequence[Measurement]
    before_pairs: Pairs
    after_pairs: Pairs

    @property
    def blocks(self) -> Blocks:
        """Of :attr:`before` and :attr:`after`, in their order."""
        return _block_numbers(self.before), _block_numbers(self.after)

    @property
    def paired_blocks(self) -> Blocks:
        """Of :attr:`before_pairs` and :attr:`after_pairs`, in their order."""
        return _block_numbers([own for _, own in self.before_pairs]), _block_numbers(
            [own for _, own in self.after_pairs]
        )

    @property
    def load(self) -> tuple[float, int]:
        return self.after_key[3], self.after_key[4]

    @property
    def label(self) -> str:
        renamed = "" if self.before_key[0] == self.after_key[0] else f"{self.before_key[0]} → "
        return renamed + cell_name(self.after_key)

    @property
    def all(self) -> list[Measurement]:
        """Both sides with their baselines."""
        return [*self.before, *self.after, *(base for base, _ in (*self.before_pairs, *self.after_pairs))]

    @property
    def flags(self) -> tuple[str, ...]:
        return tuple(sorted({flag.name for m in self.all for flag in m.flags}))


def _block_numbers(launches: Sequence[Measurement]) -> tuple[int, ...]:
    return tuple(m.cell.block for m in launches)


def cell_name(key: Key) -> str:
    """``ngram K=4, T = 0.8, concurrency 4``."""
    drafter, _, k, temperature, users = key
    return f"{drafter}{f' K={k}' if k else ''}, T = {temperature:g}, concurrency {users}"


def matched(before: Sequence[Measurement], after: Sequence[Measurement]) -> tuple[list[Cells], list[str]]:
    """The cells of both runs: same drafter, K, temperature and concurrency, or, where only the name of the drafter
    differs, the one of the same method. And the others, in words."""
    first, second = by_cell(before, baseline=True), by_cell(after, baseline=True)
    same = {key: key for key in first if key in second}
    for key in first.keys() - same.keys():
        rivals = [k for k in first if k not in second and k[1:] == key[1:]]
        heirs = [k for k in second if k not in first and k[1:] == key[1:]]
        if len(rivals) == len(heirs) == 1:
            same[key] = heirs[0]
    pairs = paired(before), paired(after)
    both = [
        Cells(
            before_key=key,
            after_key=same[key],
            before=first[key],
            after=second[same[key]],
            before_pairs=pairs[0].get(key, []),
            after_pairs=pairs[1].get(same[key], []),
        )
        for key in first
        if key in same
    ]
    alone = [f"{cell_name(key)}: only before" for key in first if key not in same]
    return both, alone + [f"{cell_name(key)}: only after" for key in second if key not in same.values()]
