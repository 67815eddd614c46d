"""The task guard over a run: at every setting measured, are answers valid as often as the baseline's?

The outputs are those that were measured anyway, of the first block (later blocks repeat its texts at T = 0), of
categories whose answers can be checked. α is shared among all comparisons of the run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from labkit.analysis.pairs import Key, paired
from labkit.analysis.task_guard import ALPHA, TaskGuard, guard
from labkit.records import Measurement

__all__ = ["CHECK_OF", "Guarded", "guarded"]

#: The check of a category's answers.
CHECK_OF = {"text_to_sql": "sql", "sql": "sql", "code": "python", "python": "python", "json": "json"}


@dataclass(frozen=True, kw_only=True)
class Guarded:
    """The guard of one check at one setting."""

    drafter: str
    k: int
    temperature: float
    concurrency: int
    guard: TaskGuard


def guarded(measurements: Sequence[Measurement]) -> list[Guarded]:
    """One for each setting that has a baseline and each check that its prompts allow; none where no category has
    one."""
    arms = [
        (key, check, own, base)
        for key, pairs in sorted(paired(measurements).items(), key=lambda entry: entry[0])
        for check, (own, base) in _answers(*min(pairs, key=lambda pair: pair[0].cell.block)).items()
    ]
    return [_guarded(key, guard(check, own, base, alpha=ALPHA / len(arms))) for key, check, own, base in arms]


def _guarded(key: Key, found: TaskGuard) -> Guarded:
    drafter, _, k, temperature, concurrency = key
    return Guarded(drafter=drafter, k=k, temperature=temperature, concurrency=concurrency, guard=found)


def _answers(base: Measurement, own: Measurement) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """By check, first answers by prompt with speculation and without, of the prompts that both answered."""
    found: dict[str, tuple[dict[str, str], dict[str, str]]] = defaultdict(lambda: ({}, {}))
    texts = {r.prompt_id: r.text for r in base.records if not r.error and not r.turn}
    for r in own.records:
        if r.category in CHECK_OF and not r.error and not r.turn and r.prompt_id in texts:
            with_speculation, without = found[CHECK_OF[r.category]]
            with_speculation[r.prompt_id], without[r.prompt_id] = r.text, texts[r.prompt_id]
    return found
