"""Audits as they are kept, for what shows them: really judged, of simulated engines in this process."""

from __future__ import annotations

from functools import cache

from labkit.analysis.lossless_greedy import audit_greedy
from labkit.audited import Audited
from labkit.measure.audit_greedy import OTHER_BATCH, REPEAT, TESTED, GreedyTexts, Parting
from tests.analysis.simulated_audit import simulated_audit


@cache
def audited(drafter="draft", k=2, temperature=0.8, faults=()) -> Audited:
    """An audit of 1,500 tokens, of twice as many where there is a fault, at T = 0 of 40 prompts of which 3 part."""
    if temperature:
        asked = {"k": k, "faults": faults, "temperature": temperature, "tokens": 3000 if faults else 1500}
        found = simulated_audit(seed=3, every=500, **asked)
    else:
        found = audit_greedy(greedy())
    return Audited(
        drafter=drafter, k=k, temperature=temperature, engine="simulated 1 on cpu", at=1.8e9, found=found.plain()
    )


def greedy() -> GreedyTexts:
    parted = tuple(Parting(prompt_id=f"p{i}", category="c", index=4, gap=0.01) for i in range(3))
    prompts = tuple(f"p{i}" for i in range(40))
    return GreedyTexts(prompts=prompts, tokens=2400, partings={TESTED: parted, REPEAT: parted[:1], OTHER_BATCH: ()})
