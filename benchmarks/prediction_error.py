"""How wrong are predictions on cells that were not used for them?

    python benchmarks/prediction_error.py [RUN_FOLDER]          (default: the recorded demo)

Every speculative cell of the run is held out and its TPOT predicted from the rest (replay × cost model), twice: with
the cell alone held out, and with every cell of its drafter and K, at all temperatures and loads. The error is
predicted / measured − 1; looping outputs are left out of both. Wanted: median ≤ 5 %, 90th percentile ≤ 12 %.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np

from labkit.analysis.every_k import Scores
from labkit.analysis.outlook import outlook
from labkit.analysis.pairs import Key, by_cell, cell_key, sound
from labkit.analysis.speedup import cell_tpot
from labkit.measure.scored import read_scores
from labkit.records import Measurement
from labkit.store import open_run, recorded


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("run", nargs="?")
    asked = options.parse_args()
    run = open_run(asked.run) if asked.run else recorded("demo")
    measurements, scores = run.measurements(), read_scores(run)
    for title, same in (("the cell alone", lambda a, b: a == b), ("all cells of its drafter and K", _same_spec)):
        print(f"held out: {title}")
        report(errors(measurements, scores, same))


def errors(
    measurements: Sequence[Measurement], scores: Scores, same: Callable[[Key, Key], bool]
) -> dict[Key, float | None]:
    """Error by cell; None where the rest does not determine it."""
    found = {}
    for key, own in by_cell(measurements).items():
        rest = [m for m in measurements if not m.cell.spec.k or not same(cell_key(m), key)]
        wanted = (key[0], key[2], key[3], key[4])
        made = [
            o.prediction.tpot.mid
            for o in outlook(rest, scores, up_to=max(8, key[2])).outcomes
            if o.prediction
            and (o.candidate.drafter, o.candidate.k, o.candidate.temperature, o.candidate.concurrency) == wanted
        ]
        found[key] = made[0] / cell_tpot(sound(own)) - 1 if made else None
    return found


def report(found: dict[Key, float | None]) -> None:
    for (drafter, _, k, temperature, users), error in sorted(found.items(), key=str):
        said = "refused: the rest does not determine it" if error is None else f"{100 * error:+6.1f} %"
        print(f"  {drafter:<10} K={k:<2} T={temperature:<4g} {users} users  {said}")
    known = np.abs([error for error in found.values() if error is not None])
    if known.size:
        median, ninety = 100 * np.median(known), 100 * np.quantile(known, 0.9)
        print(f"  n = {known.size} of {len(found)}: median {median:.1f} %, 90th percentile {ninety:.1f} %")


def _same_spec(a: Key, b: Key) -> bool:
    return (a[0], a[2]) == (b[0], b[2])


if __name__ == "__main__":
    main()
