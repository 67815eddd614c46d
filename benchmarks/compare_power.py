"""How often does `labkit compare` call two equal runs changed, and how often does it find an 8 % slowdown?

    python benchmarks/compare_power.py [RUN] [--noise RUN] [--pairs 100] [--prompts 64] [--blocks 3] [--slowdown 0.08]

Pairs of runs are simulated from the cells and requests of RUN (default: drafters): the decode time of each request is
stretched by chance, per launch and per request, and its steps are drawn anew, as sampling would, so that the figures of
acceptance can alarm as well. The slowdown is planted into one cell of the second run, every speculative cell in turn.

The size of chance comes from a run that launched its cells several times (--noise; default: the recorded one). Of the
logarithm of the step time, what the means of launches and of prompts leave is chance per request; how far the means of
launches lie apart, less what requests explain of it, is chance per launch. Cells whose steps are of two kinds (ngram
drafts on some only) do not tell. `labkit compare` takes launches of different cells for independent; --shared 1 shows
what comes of it where the launches of a block share their pace.

Wanted: "no change" in ≥ 97 of 100 equal pairs, the slowdown found in ≥ 90 of 100.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from labkit.analysis.acceptance import decode_steps
from labkit.analysis.compare import compare
from labkit.analysis.pairs import Key, by_cell, cell_key
from labkit.paths import DATA
from labkit.records import Measurement, RequestRecord
from labkit.repetition import is_looping
from labkit.store import open_run


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("run", nargs="?", default="drafters")
    options.add_argument("--noise", metavar="RUN", help="A run that launched its cells at least twice.")
    options.add_argument("--chance", type=float, nargs=2, metavar=("REQUEST", "LAUNCH"), help="Its size, instead.")
    options.add_argument("--pairs", type=int, default=100)
    options.add_argument("--prompts", type=int, default=64)
    options.add_argument("--blocks", type=int, default=3)
    options.add_argument("--slowdown", type=float, default=0.08)
    options.add_argument("--shared", type=float, default=0.0, help="Part of a launch's chance that its block shares.")
    asked = options.parse_args()
    request, launch = asked.chance or noise(asked.noise)
    recorded = open_run(asked.run).measurements()
    size = {"prompts": asked.prompts, "blocks": asked.blocks, "shared": asked.shared}
    made = Simulation(recorded, request, launch, **size)
    equal, found = made.equal(asked.pairs), made.slower(asked.pairs, 1 + asked.slowdown)
    runs = f"{len(made.cells)} cells of {asked.run}, " + ", ".join(f"{name} {value:g}" for name, value in size.items())
    print(f"{runs}: equal runs called unchanged in {equal} of {asked.pairs} pairs")
    print(f"{runs}: a slowdown of {asked.slowdown:.0%} in one cell found in {found} of {asked.pairs} pairs")


def noise(name: str | None) -> tuple[float, float]:
    """Chance per request and per launch of the run ``name``, or of the first recorded one that tells; says which."""
    for known in [name] if name else sorted(path.parent.name for path in (DATA / "recorded").glob("*/plan.json")):
        if found := chance(open_run(known).measurements()):
            print(f"{known}: chance per request {found[0]:.1%}, per launch {found[1]:.1%}")
            return found
    raise SystemExit(
        f"no cell of {name or 'any recorded run'} was launched twice, so the size of chance is not known: measure two "
        "blocks of a plan or more and name the run with --noise, or give --chance"
    )


def chance(measurements: Sequence[Measurement]) -> tuple[float, float] | None:
    """Standard deviations of the log step time per request and per launch; None where no cell was launched twice."""
    cells = [own for own in by_cell(measurements, baseline=True).values() if len(own) > 1 and all(map(one_kind, own))]
    if not cells:
        return None
    tables = [log_step_table(own) for own in cells]
    freedom = sum(len(t) - 1 for t in tables)
    rest = [t - t.mean(axis=0) - t.mean(axis=1, keepdims=True) + t.mean() for t in tables]
    request = sum((r**2).sum() for r in rest) / sum((len(t) - 1) * (t.shape[1] - 1) for t in tables)
    apart = sum(((t.mean(axis=1) - t.mean()) ** 2).sum() for t in tables) / freedom
    explained = request * sum((len(t) - 1) / t.shape[1] for t in tables) / freedom
    return float(np.sqrt(request)), float(np.sqrt(max(0.0, apart - explained)))


def log_step_table(launches: Sequence[Measurement]) -> np.ndarray:
    """Of one cell [launch, prompt], over the prompts that all launches finished."""
    known = [log_steps(m) for m in launches]
    shared = sorted(set.intersection(*map(set, known)))
    return np.array([[launch[p] for p in shared] for launch in known])


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
        self, recorded: Sequence[Measurement], request: float, launch: float, *, prompts: int = 64, blocks: int = 3,
        shared: float = 0.0, seed: int = 0,
    ) -> None:  # fmt: skip
        self.cells = {key: own[0] for key, own in by_cell(recorded, baseline=True).items()}
        self.request, self.prompts, self.blocks = request, prompts, blocks
        self.launch, self.block = launch * np.sqrt(1 - shared), launch * np.sqrt(shared)
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
        paces = np.exp(self.block * self.rng.standard_normal(self.blocks))
        return [
            self._launch(m, drawn, block, pace * slower.get(cell_key(m), 1.0))
            for block, pace in enumerate(paces)
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
