"""What every K of every drafter of a run would give, from as few of its cells as tell.

*Sources*, the best first: outputs scored position by position ("scored": exact); the steps of the largest K of a
draft model that drafts greedily ("steps": exact but for the positions of bonus tokens, whose drafts are taken for
wrong, so that no figure is too high); the steps of the largest K cut to each smaller one ("cut": approximate; see
:mod:`labkit.analysis.truncated`).
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
        own = [key for key in cells if (key[0], key[3]) == (drafter, temperature)]
        largest = max(key[2] for key in own)
        keys = [key for key in own if key[2] == largest]
        if made := _from_steps(keys[0], [m for key in keys for m in cells[key]]):
            found[drafter, temperature] = made
    return [found[key] for key in sorted(found)]


def _from_steps(key: Key, measurements: Sequence[Measurement]) -> EveryK | None:
    """From the cells of the largest K, ``key``; None where no record holds its steps."""
    drafter, method, k, temperature, _ = key
    records = [r for r in sound(measurements) if decode_steps(r)]
    if not records:
        return None
    ks, prompts = range(1, k + 1), tuple(r.prompt_id for r in records)
    if method == "draft_model" and (runs := _runs(records, k)):
        made = EveryK(
            drafter=drafter, temperature=temperature, source="steps", replay=replay(runs, ks), prompts=prompts
        )
    else:
        outputs = [Steps(r.per_step_accepted, r.per_step_drafted, r.output_tokens - 1) for r in records]
        cut = truncated(outputs, ks, k=k)
        made = EveryK(drafter=drafter, temperature=temperature, source="cut", replay=cut, prompts=prompts)
    return made


def _runs(records: Sequence[RequestRecord], k: int) -> list[np.ndarray] | None:
    """Run lengths; None where a step drafted fewer than K (near the longest context, say)."""
    if any(d != k for r in records for d in r.per_step_drafted):
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
