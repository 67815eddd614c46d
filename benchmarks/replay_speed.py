"""How long does a replay take?

    python benchmarks/replay_speed.py [--tokens 1000000] [--k 16] [--repeats 7]

Simulated outputs of 500 tokens, every K from 1 on: the median seconds of the exact scan and of the recursion over
probabilities, for a drafter that is right on 0, 60 and 95 % of the tokens. Compiling is left out (it happens once).
Wanted: the scan of 1,000,000 tokens for K = 1…16 in ≤ 0.3 s on 2 cores. Then everything that a new selection may need:
200 requests × 500 tokens replayed for K = 1…8, each K predicted with its interval, one table. Wanted: ≤ 20 ms.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from labkit.analysis.cost import CostCell, CostModel, fit_cost
from labkit.analysis.outlook import Outcome
from labkit.analysis.prediction import predict, yields
from labkit.analysis.recommend import Candidate
from labkit.analysis.replay import replay, replay_expected
from labkit.analysis.run_lengths import run_lengths_from_drafts
from labkit.view.outlook_table import outcome_rows

OUTPUT = 500


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tokens", type=int, default=1_000_000)
    options.add_argument("--k", type=int, default=16)
    options.add_argument("--repeats", type=int, default=7)
    asked = options.parse_args()
    ks, requests, rng = range(1, asked.k + 1), asked.tokens // OUTPUT, np.random.default_rng(0)
    for right in (0.0, 0.6, 0.95):
        drafts = (rng.random((requests, OUTPUT)) >= right).astype(int)  # an output of zeros: 0 is right
        runs = [run_lengths_from_drafts(np.zeros(OUTPUT, int), row) for row in drafts]
        probs = list(rng.beta(9 * right + 0.5, 9 * (1 - right) + 0.5, (requests, OUTPUT - 1)))
        scan = median_seconds(lambda runs=runs: replay(runs, ks), asked.repeats)
        expected = median_seconds(lambda probs=probs: replay_expected(probs, ks), asked.repeats)
        print(f"{right:4.0%} right, {requests * OUTPUT:,} tokens, K = 1…{asked.k}: "
              f"scan {scan:.3f} s, recursion {expected:.3f} s")  # fmt: skip
    drafts = (rng.random((200, OUTPUT)) >= 0.6).astype(int)
    runs, model = [run_lengths_from_drafts(np.zeros(OUTPUT, int), row) for row in drafts], cost_model()
    answered = median_seconds(lambda: answer(runs, model), 5 * asked.repeats)
    print(f"replay, prediction and table of 200 × {OUTPUT} tokens, K = 1…8: {1000 * answered:.1f} ms")


def cost_model() -> CostModel:
    def cell(k: int) -> CostCell:
        return CostCell(drafter="d" if k else None, k=k, batch=1.0, step_seconds=0.03 + 0.002 * k)

    return fit_cost([cell(k) for k in (0, 1, 2, 8)])


def answer(runs: list[np.ndarray], model: CostModel) -> pd.DataFrame:
    """The rows of K = 1…8 from run lengths, one prompt a request."""
    replayed = replay(runs, range(1, 9))
    outcomes = []
    for k, given in zip(replayed.ks, yields(replayed, [str(i) for i in range(len(runs))]), strict=True):
        made = predict(model, "d", k, 1.0, given)
        candidate = Candidate(
            drafter="d", k=k, temperature=0.0, concurrency=1, speedup=made.speedup, measured=False,
            whole_interval=True, mean_acceptance_length=given.tokens_per_step,
        )  # fmt: skip
        outcomes.append(
            Outcome(candidate=candidate, tokens_per_step=given.tokens_per_step, prediction=made,
                    baseline_tpot=made.tpot.mid * made.speedup.mid, prompts=given.units)
        )  # fmt: skip
    return outcome_rows(outcomes, {"d": "draft_model"})


def median_seconds(work: Callable[[], object], repeats: int) -> float:
    work()  # compiles
    seconds = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begun)
    return statistics.median(seconds)


if __name__ == "__main__":
    main()
