"""How often does an audit cry wolf, and how often does it find a fault that was planted?

    PYTHONPATH=. python benchmarks/audit_power.py [--null 500] [--planted 100]

On the simulated engine, in this process: its own sampler with its planted faults, scores from its own model, whole
audits with control, watched every 1,250 tokens and ended by a clear fault. T = 0.8 and 1.0 in turn, greedy drafts,
top_k = 20 (5 of every fourth text).

The rule, fixed before the first run, as are the seeds, which no earlier run had:

- Without a fault, 500 audits at α = .005 (3,000 tokens, K = 1 … 4 in turn, every fifth with prompt lookup): at most 7
  may say "fault". A refusal is no false alarm and is counted beside them.
- Each of five faults, 100 audits (K = 2, drafts known, up to 10,000 tokens, the last text finished): at least 99 must
  say "fault"; a refusal is a miss. What they name is counted. Every fault has seeds of its own, so that one unlucky
  control does not count five times.
- Of bonus tokens at 1.5·T: how many it takes until their own test says so.

Whatever comes out is written into benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

import numpy as np
from scipy.special import logsumexp

from labkit.analysis.lossless import ALPHA
from labkit.analysis.lossless_bets import WEIGHTS, token_factors
from labkit.analysis.lossless_family import Family, generator
from labkit.analysis.lossless_pit import tokens_of
from labkit.analysis.lossless_steps import BONUS
from labkit.audited import FAULT
from labkit.engine.simulated.model import Speculation
from tests.analysis.simulated_audit import CATEGORIES, simulated_audit, tabled, text

NAMED = {
    "temperature": "temperature", "bonus_temperature": "bonus", "recovered_from_p": "recovered",
    "acceptance": "acceptance", "ignore_top_k": "top_k",
}  # fmt: skip
TEMPERATURES = (0.8, 1.0)
NULL_SEEDS, PLANTED_SEEDS, BONUS_SEEDS = 610_000, 620_000, 640_000


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--null", type=int, default=500)
    options.add_argument("--planted", type=int, default=100)
    asked = options.parse_args()
    if asked.null:
        null(asked.null)
    if asked.planted:
        for number, fault in enumerate(NAMED):
            planted(fault, PLANTED_SEEDS + 1000 * number, asked.planted)
        bonus_tokens(asked.planted)


def null(audits: int) -> None:
    began, verdicts, smallest = time.perf_counter(), Counter(), []
    for i in range(audits):
        found = simulated_audit(
            seed=NULL_SEEDS + i,
            tokens=3000,
            every=1250,
            k=1 + i // 2 % 4,
            temperature=TEMPERATURES[i % 2],
            model_seed=i // 8 % 4,
            lookup=(1, 3) if i % 5 == 4 else None,
        )
        verdicts[found.verdict] += 1
        smallest.append(min(finding.p for finding in found.findings))
    often, seconds = np.mean(np.array(smallest) < 0.05), time.perf_counter() - began
    print(f"without a fault, {audits} audits: {dict(verdicts)}; smallest corrected p {min(smallest):.3f}", flush=True)
    print(f"  below .05 in {often:.1%} ({seconds:.0f} s)", flush=True)


def planted(fault: str, first: int, audits: int) -> None:
    began, tokens, named, missed = time.perf_counter(), [], Counter(), Counter()
    for i in range(audits):
        found = simulated_audit(
            seed=first + i, tokens=10_000, every=1250, faults=(fault,), temperature=TEMPERATURES[i % 2]
        )
        if found.verdict != FAULT:
            missed[found.verdict] += 1
            continue
        tokens.append(found.tokens)
        named[", ".join(origin.name for origin in found.origins)] += 1
    print(f"{fault}: found in {len(tokens)} of {audits}, missed {dict(missed)}, named {dict(named)}", flush=True)
    median, most, seconds = np.median(tokens), max(tokens), time.perf_counter() - began
    print(f"  tokens to the verdict: median {median:.0f}, most {most} ({seconds:.0f} s)", flush=True)


def bonus_tokens(audits: int) -> None:
    """Bonus tokens at 1.5·T until the e-value of that test alone reaches what Holm asks of the first (m / α)."""
    wanted = np.log(len(Family(k=2, categories=CATEGORIES, drafts=True).names) / ALPHA)
    spec = Speculation(method="draft_model", model="d", k=2)
    for temperature in TEMPERATURES:
        asked = {"spec": spec, "faults": ("bonus_temperature",), "temperature": temperature}
        needed = [_until(wanted, i, asked) for i in range(audits)]
        half, most, all_ = np.quantile(needed, [0.5, 0.9, 0.99], method="higher")
        print(f"bonus token at 1.5·T, T = {temperature}, {audits} audits:", flush=True)
        print(f"  found within {half:.0f} bonus tokens in 50 %, {most:.0f} in 90 %, {all_:.0f} in 99 %", flush=True)


def _until(wanted: float, i: int, asked: dict) -> float:
    tokens = tokens_of([text(tabled(i % 4), j, seed=BONUS_SEEDS + i, **asked) for j in range(60)])
    bonus = tokens.where((tokens.place == BONUS) & tokens.inside)
    factors = token_factors(bonus.logp, bonus.column, generator(0)).cumsum(axis=0)
    reached = np.flatnonzero(logsumexp(factors, axis=1, b=WEIGHTS) >= wanted)
    return reached[0] + 1 if len(reached) else np.inf


if __name__ == "__main__":
    main()
