"""From a run to what may be recommended: every drafter and K, measured where it was, else predicted.

A prediction joins a replay (tokens per step of any K) with the cost model (seconds per step of any K), at the
running batch that the baseline had with so many users. Of one drafter, K, temperature and concurrency a measurement
is preferred to a prediction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from labkit.analysis import acceptance
from labkit.analysis.cost import CostModel, fit_cost
from labkit.analysis.cost_cells import cost_cells, running_batch
from labkit.analysis.every_k import EveryK, Scores, every_k
from labkit.analysis.pairs import Pairs, by_cell, paired
from labkit.analysis.prediction import Prediction, predict, yields
from labkit.analysis.recommend import Candidate
from labkit.analysis.speedup import speedup
from labkit.errors import PredictionError
from labkit.records import Measurement

__all__ = ["Outlook", "Outcome", "measured_outcomes", "outlook"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One (drafter, K, load): the candidate and, where it was predicted, the prediction and the source of its
    replay."""

    candidate: Candidate
    tokens_per_step: float
    prediction: Prediction | None = None
    source: str = "measured"


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """``outcomes``: measured and predicted ones, a prediction also where there is a measurement to hold it
    against. ``unknown``: one sentence for each thing that cannot be told, with the cell to measure. ``replays``:
    what the predictions rest on."""

    outcomes: tuple[Outcome, ...]
    unknown: tuple[str, ...]
    cost: CostModel | None
    replays: tuple[EveryK, ...] = ()

    def candidates(self) -> list[Candidate]:
        """One for each drafter, K and load, the measured one where there are two."""
        best: dict[tuple, Candidate] = {}
        for outcome in sorted(self.outcomes, key=lambda o: not o.candidate.measured):
            c = outcome.candidate
            best.setdefault((c.drafter, c.k, c.temperature, c.concurrency), c)
        return list(best.values())


def outlook(
    measurements: Sequence[Measurement], scores: Scores | None = None, *, up_to: int = 8, confidence: float = 0.95
) -> Outlook:
    """Everything that ``measurements`` (and outputs scored) tell of K = 1 … ``up_to`` and of each K measured."""
    measured = measured_outcomes(measurements, confidence=confidence)
    try:
        found = cost_cells(measurements)
        cost, unknown = fit_cost(found.cells), list(found.left_out)
    except PredictionError as error:
        return Outlook(outcomes=tuple(measured), unknown=(str(error),), cost=None)
    predicted, replays = [], every_k(measurements, scores, up_to=up_to)
    for drafter in replays:
        for outcome in _predicted(drafter, cost, _batches(measurements, drafter.temperature), confidence):
            unknown.append(outcome) if isinstance(outcome, str) else predicted.append(outcome)
    known = tuple(dict.fromkeys(unknown))
    return Outlook(outcomes=(*measured, *predicted), unknown=known, cost=cost, replays=tuple(replays))


def measured_outcomes(measurements: Sequence[Measurement], *, confidence: float = 0.95) -> list[Outcome]:
    """The measured ones alone."""
    return [_measured(key, pairs, confidence) for key, pairs in paired(measurements).items()]


def _measured(key: tuple, pairs: Pairs, confidence: float) -> Outcome:
    drafter, _, k, temperature, concurrency = key
    result = speedup([(base.records, own.records) for base, own in pairs], confidence=confidence)
    records = [record for _, own in pairs for record in own.records]
    found = acceptance.from_records(records)
    candidate = Candidate(
        drafter=drafter, k=k, temperature=temperature, concurrency=concurrency, speedup=result.interval,
        mean_acceptance_length=found.mean_acceptance_length if found and found.steps else None,
        flags=tuple(sorted({flag.name for pair in pairs for m in pair for flag in m.flags})),
    )  # fmt: skip
    return Outcome(candidate=candidate, tokens_per_step=acceptance.tokens_per_step(records))


def _batches(measurements: Sequence[Measurement], temperature: float) -> dict[int, float]:
    """The baseline's mean running batch by concurrency."""
    found = by_cell([m for m in measurements if not m.cell.spec.k], baseline=True)
    return {key[4]: running_batch([m.records for m in own]) for key, own in found.items() if key[3] == temperature}


def _predicted(
    drafter: EveryK, cost: CostModel, batches: Mapping[int, float], confidence: float
) -> Iterator[Outcome | str]:
    """Every K at every load with a baseline; a sentence where the cost is not determined."""
    lengths, per_step = drafter.replay.mean_acceptance_length(), drafter.replay.tokens_per_step()
    given_at = yields(drafter.replay, drafter.prompts)
    for j, (k, given) in enumerate(zip(drafter.replay.ks, given_at, strict=True)):
        for concurrency, batch in sorted(batches.items()):
            try:
                made = predict(cost, drafter.drafter, k, batch, given, confidence=confidence)
            except PredictionError as error:
                yield str(error)
                continue
            candidate = Candidate(
                drafter=drafter.drafter, k=k, temperature=drafter.temperature, concurrency=concurrency,
                speedup=made.speedup, measured=False, whole_interval=made.fit_error is not None,
                mean_acceptance_length=float(lengths[j]),
            )  # fmt: skip
            yield Outcome(
                candidate=candidate, tokens_per_step=float(per_step[j]), prediction=made, source=drafter.source
            )
