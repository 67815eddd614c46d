"""What an audit at T = 0 collects: where greedy texts of the engine under test, and of the baseline asked again, part
from the baseline's first text.

At T = 0 a text is determined by the model up to rounding, which depends on what else is in the batch. So the baseline
is asked three times: for the reference, again with as many requests at once, and with another number of them.

*Conventions*: an index counts output tokens from 0. ``gap`` is what the baseline's likeliest token there is ahead of
the less likely one of the two that were taken, as a difference of raw log-probabilities; infinite where a text just
ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from labkit.engine.base import Engine
from labkit.errors import MeasurementError
from labkit.measure.audit import Control, sample_all, whole
from labkit.measure.audit_scores import Sampled, check_models, raw_logprobs, sampled
from labkit.records import RequestRecord

__all__ = ["TESTED", "REPEAT", "OTHER_BATCH", "Parting", "GreedyTexts", "greedy_texts", "first_difference"]

TESTED, REPEAT, OTHER_BATCH = "speculation", "baseline again", "baseline in other batches"


@dataclass(frozen=True, kw_only=True)
class Parting:
    """Where a text leaves the reference."""

    prompt_id: str
    category: str
    index: int
    gap: float


@dataclass(frozen=True, kw_only=True)
class GreedyTexts:
    """``partings`` of each arm, by its name; the other prompts of ``prompts`` gave the reference's text. ``notes``:
    what could not be checked about the two engines."""

    prompts: tuple[str, ...]
    tokens: int
    partings: dict[str, tuple[Parting, ...]]
    notes: tuple[str, ...] = ()


def greedy_texts(tested: Engine | Sampled, control: Control) -> GreedyTexts:
    """Greedy texts of both engines, compared prompt by prompt.

    Raises:
        MeasurementError: the engines serve different models, the baseline does not score, or no prompt was answered
            by all.
    """
    plan = control.plan
    found = tested if isinstance(tested, Sampled) else sampled(tested, sample_all(tested, plan))
    notes, n = check_models(found, control.opinion), len(found.records)
    blocks = [numbers for numbers in plan.blocks() if numbers.start < n]
    other = max(1, plan.concurrency // 2) if plan.concurrency > 1 else 2

    def asked(arm: str, concurrency: int = plan.concurrency) -> list[RequestRecord]:
        return [text for numbers in blocks for text in control.texts(numbers, arm=arm, concurrency=concurrency)]

    reference = asked("")
    arms = {TESTED: found.records, REPEAT: asked(REPEAT), OTHER_BATCH: asked(OTHER_BATCH, other)}
    usable = [i for i in range(n) if whole(reference[i]) and all(whole(records[i]) for records in arms.values())]
    if not usable:
        raise MeasurementError(f"cannot audit: none of {n} prompts was answered by every engine")
    return GreedyTexts(
        prompts=tuple(reference[i].prompt_id for i in usable),
        tokens=sum(len(reference[i].output_token_ids) for i in usable),
        partings={
            name: _partings(control.engine, [(reference[i], records[i]) for i in usable])
            for name, records in arms.items()
        },
        notes=notes,
    )


def first_difference(a: Sequence[int], b: Sequence[int]) -> int | None:
    """Index of the first token that differs, the end of the shorter where one goes on; None for equal texts."""
    shorter = min(len(a), len(b))
    differing = next((i for i in range(shorter) if a[i] != b[i]), shorter)
    return None if differing == len(a) == len(b) else differing


def _partings(baseline: Engine, pairs: Sequence[tuple[RequestRecord, RequestRecord]]) -> tuple[Parting, ...]:
    apart = [
        (a, b, at) for a, b in pairs if (at := first_difference(a.output_token_ids, b.output_token_ids)) is not None
    ]
    sequences = [[*a.prompt_token_ids, *record.output_token_ids[: at + 1]] for a, b, at in apart for record in (a, b)]
    rows = raw_logprobs(baseline, sequences, width=1) if sequences else []
    return tuple(
        Parting(prompt_id=a.prompt_id, category=a.category, index=at, gap=_gap(rows[2 * i : 2 * i + 2], a, b, at))
        for i, (a, b, at) in enumerate(apart)
    )


def _gap(rows: Sequence[Sequence[dict]], a: RequestRecord, b: RequestRecord, at: int) -> float:
    gaps = [0.0]
    for own, record in zip(rows, (a, b), strict=True):
        if at >= len(record.output_token_ids):
            return inf
        last = own[-1]
        best = max(entry["logprob"] for entry in last.values())
        gaps.append(best - last[str(record.output_token_ids[at])]["logprob"])
    return max(gaps)
