"""How often does `labkit compare` call two equal runs changed, and how often does it find an 8 % slowdown?

    python benchmarks/compare_power.py [RUN] [--noise RUN] [--pairs 100] [--prompts 64] [--blocks 3]
        [--slowdown 0.08] [--chance REQUEST MOMENT LAUNCH BLOCK]

Pairs of runs are simulated from the cells and requests of RUN (default: drafters): the decode time of each request is
stretched by chance, and its steps are drawn anew, as sampling would, so that the figures of acceptance can alarm as
well. The slowdown is planted into one cell of the second run, every speculative cell in turn.

The size of chance comes from a run that launched its cells several times (--noise; default: the recorded one made for
this). Four parts of the logarithm of the step time are told apart by the variance between cells × blocks × prompts:
of one request alone; of a moment, which the same prompt shares in all cells of a block (their prompts ran in turn); of
one launch; and of a block, which all its cells share. Cells whose steps are of two kinds (ngram drafts on some only) do
not tell. The blocks of that run are also compared with each other, each half with the other, as they are and with the
slowdown planted into one cell of one half.

Wanted: "no change" in ≥ 97 of 100 equal pairs, the slowdown found in ≥ 90 of 100.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from labkit.analysis.acceptance import decode_steps
from labkit.analysis.compare import compare
from labkit.analysis.pairs import Key, by_cell, cell_key
from labkit.records import Measurement, RequestRecord
from labkit.repetition import is_looping
from labkit.store import open_run


class Chance(NamedTuple):
    """Standard deviations of the log step time: of a request, of a moment that all cells of a block share, of a launch,
    and of a block."""

    request: float
    moment: float
    launch: float
    block: float


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("run", nargs="?", default="drafters")
    options.add_argument("--noise", metavar="RUN", default="repeats", help="A run that launched its cells again.")
    names = tuple(name.upper() for name in Chance._fields)
    options.add_argument("--chance", type=float, nargs=len(names), metavar=names, help="Its size, instead.")
    options.add_argument("--pairs", type=int, default=100)
    options.add_argument("--prompts", type=int, default=64)
    options.add_argument("--blocks", type=int, default=3)
    options.add_argument("--slowdown", type=float, default=0.08)
    asked = options.parse_args()
    factor = 1 + asked.slowdown
    size = Chance(*asked.chance) if asked.chance else noise(asked.noise)
    made = Simulation(open_run(asked.run).measurements(), size, prompts=asked.prompts, blocks=asked.blocks)
    equal, found = made.equal(asked.pairs), made.slower(asked.pairs, factor)
    runs = f"{len(made.cells)} cells of {asked.run}, {asked.prompts} prompts, {asked.blocks} blocks"
    print(f"{runs}: equal runs called unchanged in {equal} of {asked.pairs} pairs")
    print(f"{runs}: a slowdown of {asked.slowdown:.0%} in one cell found in {found} of {asked.pairs} pairs")
    if not asked.chance:
        unchanged, seen = halves(open_run(asked.noise).measurements(), factor)
        print(f"halves of {asked.noise} as measured: unchanged in {sum(unchanged)} of {len(unchanged)}, ", end="")
        print(f"a slowdown of {asked.slowdown:.0%} found in {sum(seen)} of {len(seen)}")


def halves(measurements: Sequence[Measurement], factor: float) -> tuple[list[bool], list[bool]]:
    """Every half of the blocks of a run against the rest: whether nothing is called changed; and whether ``factor`` is
    found where it is planted into the rest, into each speculative cell in turn."""
    cells = by_cell(measurements, baseline=True)
    blocks = sorted({m.cell.block for m in measurements})
    unchanged, found = [], []
    for half in combinations(blocks, len(blocks) // 2):
        before, after = ([m for m in measurements if (m.cell.block in half) == side] for side in (True, False))
        unchanged.append(compare(before, after).verdict == "no change")
        for key in (key for key in cells if key[2]):
            later = [slowed(m, factor) if cell_key(m) == key else m for m in after]
            found.append(finds(before, later, key))
    return unchanged, found


def finds(before: Sequence[Measurement], after: Sequence[Measurement], key: Key) -> bool:
    """Whether the speed of the cell ``key`` is called a regression."""
    return any(f.relative and f.after_key == key for f in compare(before, after).regressions)


def slowed(m: Measurement, factor: float) -> Measurement:
    return replace(m, records=tuple(
        replace(r, t_last=r.t_first + factor * r.decode_seconds) if r.tpot else r for r in m.records
    ))  # fmt: skip


def noise(name: str) -> Chance:
    """The size of chance in the run ``name``; says it."""
    found = chance(open_run(name).measurements())
    if not found:
        raise SystemExit(
            f"no two cells of {name} were launched twice beside each other, so the size of chance is not known: "
            "measure two blocks of a plan or more and name the run with --noise, or give --chance"
        )
    print(f"{name}: chance per " + ", ".join(f"{part} {value:.1%}" for part, value in found._asdict().items()))
    return found


def chance(measurements: Sequence[Measurement]) -> Chance | None:
    """Of a run; None where it has no load with two cells of two blocks."""
    tables = [log_step_table(own) for own in by_load(measurements).values()]
    usable = [t for t in tables if min(t.shape) > 1]
    return told_apart(usable) if usable else None


def told_apart(tables: Sequence[np.ndarray]) -> Chance:
    """The parts of tables [cell, block, prompt], each the mean of the tables' weighted by their degrees of freedom."""
    found = [parts(table) for table in tables]
    pooled = (np.average([v for v, _ in own], weights=[df for _, df in own]) for own in zip(*found, strict=True))
    return Chance(*(float(np.sqrt(max(0.0, variance))) for variance in pooled))


def parts(table: np.ndarray) -> Chance:
    """Of each part of chance, its variance, by the mean squares of [cell, block, prompt] with random blocks, and the
    degrees of freedom of that mean square. What differs between cells and prompts, and stays, is in none."""
    cells, blocks, prompts = table.shape
    left = table - table.mean(axis=1, keepdims=True)
    block = left.mean(axis=(0, 2), keepdims=True)
    moment, launch = left.mean(axis=0, keepdims=True) - block, left.mean(axis=2, keepdims=True) - block
    freedom = Chance(
        request=(cells - 1) * (blocks - 1) * (prompts - 1),
        moment=(blocks - 1) * (prompts - 1),
        launch=(cells - 1) * (blocks - 1),
        block=blocks - 1,
    )
    deviations = (left - block - moment - launch, moment, launch, block)
    count = Chance(*(table.size // each.size for each in deviations))  # values in a mean
    mean = Chance(*(n * (d**2).sum() / df for n, d, df in zip(count, deviations, freedom, strict=True)))
    variance = Chance(
        request=mean.request,
        moment=(mean.moment - mean.request) / count.moment,
        launch=(mean.launch - mean.request) / count.launch,
        block=(mean.block - mean.moment - mean.launch + mean.request) / count.block,
    )
    return Chance(*zip(variance, freedom, strict=True))


def by_load(measurements: Sequence[Measurement]) -> dict[tuple, list[list[Measurement]]]:
    """The launches of each cell whose steps are all alike, by temperature and concurrency."""
    loads: dict[tuple, list[list[Measurement]]] = defaultdict(list)
    for key, own in by_cell(measurements, baseline=True).items():
        if all(map(one_kind, own)):
            loads[key[3:]].append(own)
    return loads


def log_step_table(cells: Sequence[Sequence[Measurement]]) -> np.ndarray:
    """[cell, block, prompt], over the blocks that all cells have and the prompts that all finished in these."""
    by_block = [{m.cell.block: log_steps(m) for m in own} for own in cells]
    blocks = sorted(set.intersection(*map(set, by_block)))
    launches = [own[block] for own in by_block for block in blocks]
    prompts = sorted(set.intersection(*map(set, launches))) if launches else []
    values = np.array([[launch[p] for p in prompts] for launch in launches])
    return values.reshape(len(cells), len(blocks), len(prompts))


def log_steps(m: Measurement) -> dict[str, float]:
    """Log of the seconds a decode step took, by prompt."""
    timed = (r for r in m.records if r.tpot and not r.error)
    return {r.prompt_id: float(np.log(r.decode_seconds / (decode_steps(r) or r.decode_tokens))) for r in timed}


def one_kind(m: Measurement) -> bool:
    """Whether all steps of the cell are alike: none drafts, or every one."""
    known = [r for r in m.records if r.per_step_accepted is not None]
    return not m.cell.spec.k or (
        bool(known) and all((decode_steps(r) or 0) <= len(r.per_step_accepted) + 1 for r in known)
    )


class Simulation:
    """Runs like a recorded one, with chance of a given size."""

    def __init__(
        self, recorded: Sequence[Measurement], chance: Chance, *, prompts: int = 64, blocks: int = 3, seed: int = 0
    ) -> None:
        self.cells = {key: own[0] for key, own in by_cell(recorded, baseline=True).items()}
        self.chance, self.prompts, self.blocks = chance, prompts, blocks
        self.rng = np.random.default_rng(seed)

    def equal(self, pairs: int) -> int:
        """In how many of ``pairs`` nothing is called changed."""
        return sum(compare(*self.pair()).verdict == "no change" for _ in range(pairs))

    def slower(self, pairs: int, factor: float) -> int:
        """In how many of ``pairs`` the speed of the one slower cell is called a regression."""
        arms = [key for key in self.cells if key[2]]
        found = 0
        for number in range(pairs):
            key = arms[number % len(arms)]
            found += finds(*self.pair({key: factor}), key)
        return found

    def pair(self, slower: dict[Key, float] | None = None) -> tuple[list[Measurement], list[Measurement]]:
        """Two runs over the same prompts, drawn from the recorded ones that loop in no cell."""
        known = set.intersection(*(self._usable(m) for m in self.cells.values()))
        drawn = self.rng.choice(sorted(known), size=self.prompts)
        return self._run(drawn, {}), self._run(drawn, slower or {})

    def _usable(self, m: Measurement) -> set[str]:
        return {r.prompt_id for r in m.records if r.tpot and not r.error and not is_looping(r)}

    def _run(self, drawn: np.ndarray, slower: dict[Key, float]) -> list[Measurement]:
        made = []
        for block in range(self.blocks):
            pace = self.rng.normal(0, self.chance.block) + self.rng.normal(0, self.chance.moment, len(drawn))
            made += [self._launch(m, drawn, block, pace + np.log(slower.get(key, 1))) for key, m in self.cells.items()]
        return made

    def _launch(self, m: Measurement, drawn: np.ndarray, block: int, shared: np.ndarray) -> Measurement:
        own = self.rng.normal(0, self.chance.launch) + self.rng.normal(0, self.chance.request, len(drawn))
        by_prompt, stretch = {r.prompt_id: r for r in m.records}, np.exp(shared + own)
        records = [self._request(by_prompt[p], i, s) for i, (p, s) in enumerate(zip(drawn, stretch, strict=True))]
        return replace(m, cell=replace(m.cell, block=block), records=tuple(records))

    def _request(self, r: RequestRecord, number: int, stretch: float) -> RequestRecord:
        steps = r.per_step_accepted
        again = self.rng.integers(len(steps), size=len(steps)) if steps else []
        return replace(
            r,
            prompt_id=f"{r.prompt_id}/{number}",
            t_last=r.t_first + r.decode_seconds * stretch,
            per_step_accepted=steps and tuple(steps[i] for i in again),
            per_step_drafted=steps and tuple(r.per_step_drafted[i] for i in again),
        )


if __name__ == "__main__":
    main()
