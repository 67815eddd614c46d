"""Is the (drafter, K) that a minimal plan recommends as good as the best of the whole grid, and what does it save?

    python benchmarks/choice_regret.py [--plan data/plans/regret.yaml] [--blocks 5] [--out DIR]

On the real engine: the minimal plan for K = 1 … 8 of every drafter, its recommendation, the whole grid, and then the
two winners head to head in interleaved blocks. Reported: wall seconds of both searches, start-ups counted (wanted:
≤ 1/3), the seconds of the head-to-head apart, and the ratio of their TPOTs with its interval (wanted: reaches .98).
Goes on where it was stopped when it is given the same --out.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from labkit.analysis.outlook import outlook
from labkit.analysis.recommend import Candidate, recommend
from labkit.analysis.speedup import speedup
from labkit.config import SpecConfig
from labkit.measure.progress import each_cell
from labkit.measure.scored import read_scores, score_run
from labkit.measure.sweep import sweep
from labkit.plan import Plan, load_plan
from labkit.store import Run

UP_TO = 8


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--plan", default="data/plans/regret.yaml")
    options.add_argument("--blocks", type=int, default=5)
    options.add_argument("--out", type=Path, default=Path("runs/choice-regret"))
    asked = options.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    grid = load_plan(asked.plan).with_(k=tuple(range(1, UP_TO + 1)), blocks=1)
    few, few_seconds = timed(grid.minimal(up_to=UP_TO), asked.out / "minimal", scored=True)
    whole, grid_seconds = timed(grid, asked.out / "grid")
    chosen, best = choice(few), choice(whole)
    print(f"minimal plan: {few_seconds:.0f} s, chooses {name(chosen)}")
    print(f"whole grid: {grid_seconds:.0f} s, best is {name(best)}; cost {few_seconds / grid_seconds:.2f} of it")
    if name(chosen) == name(best):
        print("the same choice: no regret to measure")
        return
    arms = [spec(few, chosen), spec(whole, best)]
    duel, seconds = timed(head_to_head(grid, arms, asked.blocks), asked.out / "duel")
    blocks = [[m for m in duel.measurements() if m.cell.block == block] for block in range(asked.blocks)]
    sides = [[next(m.records for m in block if m.cell.spec == arm) for arm in reversed(arms)] for block in blocks]
    found = speedup(sides).interval
    print(f"head to head, {asked.blocks} blocks, {seconds:.0f} s: {name(chosen)} is {found.mid:.3f} × as fast as "
          f"{name(best)} [{found.low:.3f}, {found.high:.3f}], width {found.high - found.low:.3f}")  # fmt: skip


def timed(plan: Plan, folder: Path, *, scored: bool = False) -> tuple[Run, float]:
    """The finished run, and its wall seconds, those of earlier parts included."""
    clock, begun = folder.with_name(f"{folder.name}-seconds.json"), time.monotonic()
    before = json.loads(clock.read_text()) if clock.exists() else 0.0
    try:
        run = sweep(plan, out=folder, resume=True, progress=each_cell())
        if scored:
            score_run(run)
    finally:  # what a part that was stopped has used counts too
        seconds = before + time.monotonic() - begun
        clock.write_text(json.dumps(seconds))
    run.check()
    return run, seconds


def choice(run: Run) -> Candidate | None:
    return recommend(outlook(run.measurements(), read_scores(run), up_to=UP_TO).candidates()).choice


def name(candidate: Candidate | None) -> str:
    return candidate.label if candidate else "off"


def spec(run: Run, candidate: Candidate | None) -> SpecConfig:
    if candidate is None:
        return SpecConfig()
    drafter = next(d for d in run.plan.drafters if d.name == candidate.drafter)
    return SpecConfig(drafter=drafter, k=candidate.k)


def head_to_head(grid: Plan, arms: list[SpecConfig], blocks: int) -> Plan:
    """Both arms and the baseline in every block."""
    drafters = {arm.name: arm.drafter for arm in arms if arm.drafter}
    ks = {drafter: tuple(sorted({arm.k for arm in arms if arm.name == drafter})) for drafter in drafters}
    return grid.with_(drafters=tuple(drafters.values()), k=ks, blocks=blocks, name=f"{grid.name}-duel")


if __name__ == "__main__":
    main()
