"""Flags that no cell shows by itself, only beside others of its run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from labkit.analysis.drift import Drift, drifts
from labkit.analysis.pairs import cell_key, paired
from labkit.records import Flag, Measurement

__all__ = ["CACHE_TOLERANCE", "related"]

#: Shares of prompt tokens that came from the prefix cache may differ by a point before it counts: a cache that one
#: arm alone had once made its curve 2.3 times too fast (vllm issue 54227).
CACHE_TOLERANCE = 0.01
#: What a drift is told of, with the factor and the unit of its values.
_FIGURES = {"tpot": ("time per token", 1000, " ms"), "acceptance_length": ("acceptance length", 1, "")}


def related(measurements: Sequence[Measurement]) -> list[Measurement]:
    """The same, with ``cache_mismatch`` on a cell whose prefix cache hit otherwise than its baseline's on the same
    prompts, and ``drift`` on every block of an anchor cell that moved."""
    found: dict[str, list[Flag]] = defaultdict(list)
    for base, own in (pair for pairs in paired(measurements).values() for pair in pairs):
        if flag := _cache_mismatch(base, own):
            found[own.id].append(flag)
    for drift in drifts(measurements, run=""):
        if drift.notable:
            for m in measurements:
                if cell_key(m) == drift.key:
                    found[m.id].append(_drifted(drift))
    return [replace(m, flags=(*m.flags, *found[m.id])) if m.id in found else m for m in measurements]


def _cache_mismatch(base: Measurement, own: Measurement) -> Flag | None:
    theirs, ours = _hit_rate(base), _hit_rate(own)
    if theirs is None or ours is None or base.cell.workload != own.cell.workload:
        return None
    if abs(ours - theirs) <= CACHE_TOLERANCE:
        return None
    reason = f"{ours:.1%} of the prompt tokens came from the prefix cache, {theirs:.1%} in the baseline"
    return Flag(name="cache_mismatch", reason=reason)


def _hit_rate(m: Measurement) -> float | None:
    """Tokens found over tokens asked for; None where the page does not tell or nothing was asked."""
    total = m.counters.total if m.counters else None
    if total is None or total.prefix_cache_hits is None or not total.prefix_cache_queries:
        return None
    return total.prefix_cache_hits / total.prefix_cache_queries


def _drifted(drift: Drift) -> Flag:
    name, scale, unit = _FIGURES[drift.figure]
    values = ", ".join(f"{scale * value:.2f}" for value in drift.values)
    return Flag(name="drift", reason=f"{drift.relative:+.1%} in {name} ({values}{unit} by block)")
