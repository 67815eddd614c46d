"""From a run to what may be recommended: every drafter and K, measured where it was, else predicted.

A prediction joins a replay (tokens per step of any K) with the cost model (seconds per step of any K), at the
running batch that the baseline had with so many users. Of one drafter, K, temperature and concurrency a measurement
is preferred to a prediction, unless it has fewer prompts than its baseline, no interval, or a flag that bars it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from labkit.analysis import acceptance
from labkit.analysis.cost import CostModel, fit_cost
from labkit.analysis.cost_cells import cost_cells, running_batch
from labkit.analysis.every_k import EveryK, Scores, every_k
from labkit.analysis.pairs import Pairs, by_cell, paired, sound
from labkit.analysis.prediction import Prediction, predict, yields
from labkit.analysis.recommend import Candidate, barred
from labkit.analysis.related import related
from labkit.analysis.speedup import cell_tpot, speedup
from labkit.errors import PredictionError
from labkit.records import Measurement, RequestRecord

__all__ = ["Outlook", "Outcome", "measured_outcomes", "outlook"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One (drafter, K, load): the candidate, the baseline's TPOT (seconds) that it is compared with, and how many
    prompts it rests on; where it was predicted, the prediction and the source of its replay. ``probe``: it was measured
    with fewer prompts than the baseline."""

    candidate: Candidate
    tokens_per_step: float
    baseline_tpot: float
    prompts: int
    prediction: Prediction | None = None
    source: str = "measured"
    probe: bool = False


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
        """One for each drafter, K and load: a measurement where there is one that decides, then a prediction, then
        any other measurement."""
        best: dict[tuple, Candidate] = {}
        for outcome in sorted(self.outcomes, key=_rank):
            c = outcome.candidate
            best.setdefault((c.drafter, c.k, c.temperature, c.concurrency), c)
        return list(best.values())


def _rank(outcome: Outcome) -> int:
    if not outcome.candidate.measured:
        return 1
    return 2 if outcome.probe or barred(outcome.candidate) else 0


def outlook(
    measurements: Sequence[Measurement], scores: Scores | None = None, *, up_to: int = 8, confidence: float = 0.95
) -> Outlook:
    """Everything that ``measurements`` (and outputs scored) tell of K = 1 … ``up_to`` and of each K measured."""
    measured, unknown = measured_outcomes(measurements, confidence=confidence), _without_baseline(measurements)
    try:
        found = cost_cells(measurements)
        cost = fit_cost(found.cells)
    except PredictionError as error:
        return Outlook(outcomes=tuple(measured), unknown=(str(error), *unknown), cost=None)
    unknown += found.left_out
    predicted, replays = [], every_k(measurements, scores, up_to=up_to)
    for drafter in replays:
        flags = _carried(measurements, drafter.drafter)
        for outcome in _predicted(drafter, cost, _batches(measurements, drafter.temperature), flags, confidence):
            unknown.append(outcome) if isinstance(outcome, str) else predicted.append(outcome)
    known = tuple(dict.fromkeys(unknown))
    return Outlook(outcomes=(*measured, *predicted), unknown=known, cost=cost, replays=tuple(replays))


def measured_outcomes(measurements: Sequence[Measurement], *, confidence: float = 0.95) -> list[Outcome]:
    """The measured ones alone. A cell with other prompts than its baseline is left out where several users share the
    engine: it ran at another load."""
    cells = [_measured(key, pairs, confidence) for key, pairs in paired(related(measurements)).items()]
    return [outcome for outcome in cells if not outcome.probe or outcome.candidate.concurrency == 1]


def _measured(key: tuple, pairs: Pairs, confidence: float) -> Outcome:
    drafter, _, k, temperature, concurrency = key
    result = speedup([(base.records, own.records) for base, own in pairs], confidence=confidence)
    records = sound([own for _, own in pairs])
    candidate = Candidate(
        drafter=drafter, k=k, temperature=temperature, concurrency=concurrency, speedup=result.interval,
        mean_acceptance_length=_length(records, [own for _, own in pairs]), prompts=result.prompts,
        one_launch=result.launches != "resampled",
        flags=tuple(sorted({flag.name for pair in pairs for m in pair for flag in m.flags})),
    )  # fmt: skip
    return Outcome(
        candidate=candidate, tokens_per_step=acceptance.tokens_per_step(records), prompts=result.prompts,
        baseline_tpot=cell_tpot(sound([base for base, _ in pairs])),
        probe=any(base.cell.workload != own.cell.workload for base, own in pairs),
    )  # fmt: skip


def _length(records: Sequence[RequestRecord], cells: Sequence[Measurement]) -> float | None:
    """Acceptance length of ``records``; from counters, looping outputs and all, where no record holds its steps."""
    if (found := acceptance.from_records(records)) and found.steps:
        return found.mean_acceptance_length
    counted = [a for m in cells if (a := acceptance.from_counters(m.counters.total))]
    steps = sum(a.steps for a in counted)
    return 1 + sum(a.accepted for a in counted) / steps if steps else None


def _carried(measurements: Sequence[Measurement], drafter: str) -> tuple[str, ...]:
    """Flags of a drafter's cells and of the baselines that a prediction inherits; the others touch the time of a
    step, and the cost model leaves such cells out."""
    of = [m for m in measurements if m.cell.spec.name in (drafter, "baseline")]
    return tuple(sorted({f.name for m in of for f in m.flags} & {"synthetic", "method_mismatch"}))


def _without_baseline(measurements: Sequence[Measurement]) -> list[str]:
    """A sentence for each cell that has nothing to be compared with."""
    alone = by_cell(measurements).keys() - paired(measurements).keys()
    return [
        f"{name} K={k} at T = {temperature:g}, concurrency {users} has no baseline of its block; measure that baseline"
        for name, _, k, temperature, users in sorted(alone, key=str)
    ]


def _batches(measurements: Sequence[Measurement], temperature: float) -> dict[int, float]:
    """The baseline's mean running batch by concurrency."""
    found = by_cell([m for m in measurements if not m.cell.spec.k], baseline=True)
    batches = {key[4]: running_batch([m.records for m in own]) for key, own in found.items() if key[3] == temperature}
    return {users: batch for users, batch in batches.items() if batch > 0}


def _predicted(
    drafter: EveryK, cost: CostModel, batches: Mapping[int, float], flags: tuple[str, ...], confidence: float
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
                mean_acceptance_length=float(lengths[j]), prompts=given.units, flags=flags,
                approximate=drafter.source == "cut" and k != drafter.replay.ks[-1],
            )  # fmt: skip
            yield Outcome(
                candidate=candidate, tokens_per_step=float(per_step[j]), prediction=made, source=drafter.source,
                baseline_tpot=made.tpot.mid * made.speedup.mid, prompts=given.units,
            )  # fmt: skip
