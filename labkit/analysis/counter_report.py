"""A metrics page, or the difference of two, as the numbers people ask for."""

from __future__ import annotations

from math import isnan
from typing import Any

from labkit.analysis.acceptance import from_counters
from labkit.measure.flags import counter_flags, counter_state
from labkit.records import Counters, EngineCounters

__all__ = ["counter_report"]


def counter_report(counters: Counters) -> dict[str, Any]:
    """Counts and rates (None where unknown, never 0) summed over engines and per engine, the state and
    the flags. The fields are those of ``labkit metrics --json``."""
    whole = counter_state(counters) != "reset"  # a sum over engines can hide that one went backwards
    return _fields(counters.total, rates=whole) | {
        "model": counters.model_name,
        "per_engine": {name: _fields(engine, rates=True) for name, engine in counters.per_engine.items()},
        "state": counter_state(counters),
        "flags": [{"name": flag.name, "reason": flag.reason} for flag in counter_flags(counters)],
    }


def _fields(counts: EngineCounters, *, rates: bool) -> dict[str, Any]:
    found = from_counters(counts) if rates else None
    return {
        "drafts": counts.drafts,
        "draft_tokens": counts.draft_tokens,
        "accepted_tokens": counts.accepted_tokens,
        "generation_tokens": counts.generation_tokens,
        "acceptance_rate": found.rate if found else None,
        "accepted_per_draft": found.accepted_per_draft if found else None,
        "mean_acceptance_length": found.mean_acceptance_length if found else None,
        "joint": list(found.joint) if found else None,
        "conditional": [None if isnan(rate) else rate for rate in found.conditional] if found else None,
        "censored": found.censored if found else None,
    }
