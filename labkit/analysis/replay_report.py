"""Traces replayed, as the numbers people ask for."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Any

from labkit.analysis.replay import Replay, replay, replay_expected
from labkit.analysis.run_lengths import run_lengths_from_drafts
from labkit.errors import ConfigError
from labkit.measure.traces import Trace

__all__ = ["replay_traces", "replay_report"]


def replay_traces(traces: Sequence[Trace], ks: Sequence[int]) -> Replay:
    """Every trace at every K of ``ks``.

    Raises:
        ConfigError: there is no trace, K < 1, a run length that cannot be (named by file and line), or some traces
            hold probabilities and others do not.
    """
    names, drafted = [trace.where for trace in traces], [trace.drafted for trace in traces]
    probs = [trace.acceptance_probs for trace in traces if trace.acceptance_probs is not None]
    if probs and len(probs) < len(traces):
        raise ConfigError(f"{len(probs)} of {len(traces)} traces hold acceptance_probs; all must, or none")
    if probs:
        return replay_expected(probs, ks, drafted=drafted, names=names)
    runs = [
        trace.run_lengths
        if trace.draft_token_ids is None
        else run_lengths_from_drafts(trace.output_token_ids, trace.draft_token_ids)
        for trace in traces
    ]
    return replay(runs, ks, drafted=drafted, names=names)


def replay_report(replayed: Replay) -> dict[str, Any]:
    """All steps, accepted drafts, acceptance length and joint rates by K; None where nothing was drafted. The
    fields are those of ``labkit replay --json``."""
    return {"k": {str(k): _fields(replayed, k) for k in replayed.ks}}


def _fields(replayed: Replay, k: int) -> dict[str, Any]:
    found = replayed.at(k)
    return {
        "steps": replayed.steps[:, replayed.ks.index(k)].sum().item(),
        "accepted": found.accepted,
        "mean_acceptance_length": _known(found.mean_acceptance_length),
        "joint": [_known(rate) for rate in found.joint],
    }


def _known(value: float) -> float | None:
    return None if isnan(value) else value
