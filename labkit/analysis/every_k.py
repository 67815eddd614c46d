"""What every K of every drafter of a run would give, from as few of its cells as tell.

*Sources*, the best first: outputs scored position by position ("scored": exact); the steps of the largest K of a
draft model that drafts greedily ("steps": exact but for the positions of bonus tokens, whose drafts are taken for
wrong, so that no figure is too high); the steps of the largest K cut to each smaller one ("cut": approximate; see
:mod:`labkit.analysis.truncated`). The largest K is the largest whose cells hold many prompts: a K measured with a few
only tells what its steps cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from labkit.analysis.acceptance import decode_steps
from labkit.analysis.pairs import Key, by_cell, sound
from labkit.analysis.replay import Replay, replay
from labkit.analysis.replay_report import replay_traces
from labkit.analysis.run_lengths import run_lengths_from_steps
from labkit.analysis.truncated import Steps, truncated
from labkit.measure.traces import Trace
from labkit.records import Measurement, RequestRecord

__all__ = ["EveryK", "Scores", "every_k"]

#: A K counts as measured for its steps with this share of the prompts of the K with most.
_ENOUGH = 0.5

#: Traces by (drafter, temperature).
Scores = Mapping[tuple[str, float], Sequence[Trace]]


@dataclass(frozen=True, kw_only=True)
class EveryK:
    """A drafter at one temperature, replayed for every K up to ``replay.ks[-1]``; ``prompts`` names the prompt of
    each request of the replay."""

    drafter: str
    temperature: float
    source: str
    replay: Replay
    prompts: tuple[str, ...]


def every_k(measurements: Sequence[Measurement], scores: Scores | None = None, *, up_to: int = 8) -> list[EveryK]:
    """Replays of every drafter and temperature that ``measurements`` or ``scores`` hold. Looping outputs are left
    out. Scored ones reach at least ``up_to``, the others the largest K measured."""
    cells = by_cell(measurements)
    looping = _looping(measurements)
    found = {}
    for (drafter, temperature), traces in (scores or {}).items():
        kept = [t for t in traces if (t.prompt_id, temperature) not in looping]
        largest = max([key[2] for key in cells if key[0] == drafter], default=up_to)
        if kept:
            found[drafter, temperature] = EveryK(
                drafter=drafter, temperature=temperature, source="scored",
                replay=replay_traces(kept, range(1, max(largest, up_to) + 1)),
                prompts=tuple(t.prompt_id or t.where for t in kept),
            )  # fmt: skip
    for drafter, temperature in sorted({(key[0], key[3]) for key in cells} - found.keys()):
        own = {key: cells[key] for key in cells if (key[0], key[3]) == (drafter, temperature)}
        if made := _of_the_largest(own):
            found[drafter, temperature] = made
    return [found[key] for key in sorted(found)]


def _of_the_largest(own: Mapping[Key, Sequence[Measurement]]) -> EveryK | None:
    """From the largest K with enough prompts; ``own`` are the cells of one drafter and temperature."""
    by_k: dict[int, list[Measurement]] = {}
    for key, measurements in own.items():
        by_k.setdefault(key[2], []).extend(measurements)
    kept = {k: [r for r in sound(ms) if decode_steps(r)] for k, ms in by_k.items()}
    prompts = {k: len({r.prompt_id for r in records}) for k, records in kept.items()}
    enough = [k for k, n in prompts.items() if n and n >= _ENOUGH * max(prompts.values())]
    if not enough:
        return None
    largest = max(enough)
    return _from_steps(by_k[largest][0], kept[largest])


def _from_steps(one: Measurement, records: Sequence[RequestRecord]) -> EveryK:
    """From the ``records`` of one K; ``one`` is a measurement of it."""
    spec, temperature = one.cell.spec, one.cell.sampling.temperature
    ks, prompts = range(1, spec.k + 1), tuple(r.prompt_id for r in records)
    runs = _runs(records, spec.k) if _drafts_greedily(one) else None
    if runs is not None:
        source, made = "steps", replay(runs, ks)
    else:
        outputs = [
            Steps(
                r.per_step_accepted, r.per_step_drafted, r.output_tokens - 1,
                undrafted=decode_steps(r) - len(r.per_step_accepted),
            )
            for r in records
        ]  # fmt: skip
        source, made = "cut", truncated(outputs, ks, k=spec.k)
    return EveryK(drafter=spec.name, temperature=temperature, source=source, replay=made, prompts=prompts)


def _drafts_greedily(one: Measurement) -> bool:
    """Whether it is a draft model whose draft at a position does not depend on the step or on chance."""
    drafter = one.cell.spec.drafter
    sampled = drafter.options.get("draft_sample_method") == "probabilistic" and one.cell.sampling.temperature > 0
    return drafter.method == "draft_model" and not sampled


def _runs(records: Sequence[RequestRecord], k: int) -> list[np.ndarray] | None:
    """Run lengths; None where a step drafted fewer than K or not at all (near the longest context, say)."""
    if any(d != k for r in records for d in r.per_step_drafted):
        return None
    if any(decode_steps(r) != len(r.per_step_accepted) for r in records):
        return None
    return [
        run_lengths_from_steps(r.per_step_accepted, k=k, n=r.output_tokens - 1, resolve="reject").run_lengths
        for r in records
    ]


def _looping(measurements: Sequence[Measurement]) -> set[tuple[str, float]]:
    """(prompt, temperature) of every baseline output that loops."""
    kept = {id(r) for r in sound(measurements)}
    return {
        (r.prompt_id, m.cell.sampling.temperature)
        for m in measurements
        if not m.cell.spec.k
        for r in m.records
        if id(r) not in kept
    }
