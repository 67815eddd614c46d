"""How often does `labkit compare` call two equal runs changed, and how often does it find an 8 % slowdown?

    python benchmarks/compare_power.py [RUN] [--pairs 100] [--prompts 64] [--blocks 3] [--slowdown 0.08]

Pairs of runs are simulated from a recorded one (default: drafters): its cells and requests, the decode time of each
request stretched by chance, per launch and per request, of the size that the recorded run shows; the steps of each
request are drawn anew in every block, as sampling would, so that the figures of acceptance can alarm as well. The
slowdown is planted into one cell of the second run, every speculative cell in turn.

Chance per request: the logarithm of the step time, less the mean of its launch and of its prompt. Chance per launch:
the scatter of blocks around their mean where cells were launched more than once; else how far stretches of a launch, as
long as a simulated launch or half of the recorded one, lie from its mean: the machine's pace wanders within minutes.
Cells whose steps are of two kinds (ngram drafts on some only) tell neither. Wanted: "no change" in ≥ 97 of 100 equal
pairs, the slowdown found in ≥ 90 of 100.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from labkit.analysis.acceptance import decode_steps
from labkit.analysis.compare import compare
from labkit.analysis.pairs import Key, by_cell, cell_key
from labkit.records import Measurement, RequestRecord
from labkit.repetition import is_looping
from labkit.store import open_run


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("run", nargs="?", default="drafters")
    options.add_argument("--pairs", type=int, default=100)
    options.add_argument("--prompts", type=int, default=64)
    options.add_argument("--blocks", type=int, default=3)
    options.add_argument("--slowdown", type=float, default=0.08)
    options.add_argument("--launch-sd", type=float, help="Use this instead of the estimate.")
    asked = options.parse_args()
    recorded = open_run(asked.run).measurements()
    request, launch, how = chance(recorded, prompts=asked.prompts)
    print(f"{asked.run}: chance per request {request:.1%}, per launch {launch:.1%} (from {how})")
    launch = launch if asked.launch_sd is None else asked.launch_sd
    made = Simulation(recorded, request, launch, prompts=asked.prompts, blocks=asked.blocks)
    equal, found = made.equal(asked.pairs), made.slower(asked.pairs, 1 + asked.slowdown)
    size = f"{asked.prompts} prompts, {asked.blocks} blocks, {launch:.1%} per launch"
    print(f"{size}: equal runs called unchanged in {equal} of {asked.pairs} pairs")
    print(f"{size}: a slowdown of {asked.slowdown:.0%} in one cell found in {found} of {asked.pairs} pairs")


def chance(measurements: Sequence[Measurement], *, prompts: int = 64) -> tuple[float, float, str]:
    """Standard deviations of the log step time per request and per launch of so many prompts, and where the second
    comes from."""
    launches = [log_steps(m) for m in measurements if not m.cell.spec.k or every_step_drafts(m)]
    shared = [p for p in launches[0] if all(p in launch for launch in launches)]
    table = np.array([[launch[p] for p in shared] for launch in launches])
    rest = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()
    request = (rest**2).sum() / ((len(launches) - 1) * (len(shared) - 1))
    repeated = [own for own in by_cell(measurements, baseline=True).values() if len(own) > 1]
    if repeated:
        between, each, how = among(blocks(repeated)), len(shared), "blocks"
    else:
        each = min(prompts, len(shared) // 2)
        between, how = wander(rest, each), f"stretches of {each} requests: no cell was launched twice"
    return float(np.sqrt(request)), float(np.sqrt(max(0.0, between - request / each))), how


def wander(rest: np.ndarray, length: int) -> float:
    """Variance of the mean of ``length`` requests in a row, from every such stretch of every launch [launch, request].
    The means of launches and prompts that were taken away took a part of it with them."""
    launches, requests = rest.shape
    sums = np.cumsum(np.pad(rest, ((0, 0), (1, 0))), axis=1)
    means = (sums[:, length:] - sums[:, :-length]) / length
    return float((means**2).mean()) / (1 - length / requests) / (1 - 1 / launches)


def log_steps(m: Measurement) -> dict[str, float]:
    """Log of the seconds a decode step took, by prompt in the order they were sent."""
    sent = sorted((r for r in m.records if r.tpot and not r.error), key=lambda r: r.sent)
    return {r.prompt_id: float(np.log(r.decode_seconds / (decode_steps(r) or r.decode_tokens))) for r in sent}


def every_step_drafts(m: Measurement) -> bool:
    known = [r for r in m.records if r.per_step_accepted is not None]
    return bool(known) and all((decode_steps(r) or 0) <= len(r.per_step_accepted) + 1 for r in known)


def blocks(repeated: Sequence[Sequence[Measurement]]) -> list[list[float]]:
    """Means of the log step time of every block of each cell, over the prompts that all have."""
    tables = [[log_steps(m) for m in own] for own in repeated]
    shared = [set.intersection(*map(set, launches)) for launches in tables]
    return [
        [float(np.mean([launch[p] for p in both])) for launch in own] for own, both in zip(tables, shared, strict=True)
    ]


def among(groups: Sequence[Sequence[float]]) -> float:
    """Variance inside the groups, pooled."""
    freedom = sum(len(group) - 1 for group in groups)
    return sum(float(((np.array(group) - np.mean(group)) ** 2).sum()) for group in groups) / freedom


class Simulation:
    """Runs like a recorded one, with chance of a given size."""

    def __init__(
        self, recorded: Sequence[Measurement], request: float, launch: float, *, prompts: int = 64, blocks: int = 3,
        seed: int = 0,
    ) -> None:  # fmt: skip
        self.cells = {key: own[0] for key, own in by_cell(recorded, baseline=True).items()}
        self.request, self.launch, self.prompts, self.blocks = request, launch, prompts, blocks
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
            worse = compare(*self.pair({key: factor})).regressions
            found += any(f.relative and f.after_key == key for f in worse)
        return found

    def pair(self, slower: dict[Key, float] | None = None) -> tuple[list[Measurement], list[Measurement]]:
        """Two runs over the same prompts, drawn from the recorded ones that loop in no cell."""
        known = set.intersection(*(self._usable(m) for m in self.cells.values()))
        drawn = self.rng.choice(sorted(known), size=self.prompts)
        return self._run(drawn, {}), self._run(drawn, slower or {})

    def _usable(self, m: Measurement) -> set[str]:
        return {r.prompt_id for r in m.records if r.tpot and not r.error and not is_looping(r)}

    def _run(self, drawn: np.ndarray, slower: dict[Key, float]) -> list[Measurement]:
        return [
            self._launch(m, drawn, block, slower.get(cell_key(m), 1.0))
            for block in range(self.blocks)
            for m in self.cells.values()
        ]

    def _launch(self, m: Measurement, drawn: np.ndarray, block: int, factor: float) -> Measurement:
        by_prompt = {r.prompt_id: r for r in m.records}
        pace = factor * np.exp(self.launch * self.rng.standard_normal())
        stretch = pace * np.exp(self.request * self.rng.standard_normal(len(drawn)))
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
