"""A run as tidy tables; figures and sentences are made from these and compute nothing.

*Conventions*: one row per what the function names; times in milliseconds where the column ends in
``_ms``; ``low`` and ``high`` bound an interval at the asked confidence; NaN is unknown. ``drafter`` is
"baseline" at K = 0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from labkit.analysis import acceptance
from labkit.analysis.speedup import cell_tpot, speedup
from labkit.records import Measurement, RequestRecord

__all__ = ["cells", "speedups", "acceptances", "positions", "steps", "CELL_KEYS"]

CELL_KEYS = ["drafter", "method", "k", "temperature", "concurrency"]
_CELL_COLUMNS = [
    "requests", "output_tokens", "tokens_per_second", "tpot_ms", "ttft_ms", "acceptance_rate",
    "mean_acceptance_length", "tokens_per_step", "flags",
]  # fmt: skip
_SPEEDUP_COLUMNS = ["speedup", "low", "high", "with_looping", "prompts", "left_out", "blocks", "launches"]
_ACCEPTANCE_COLUMNS = [
    "acceptance_rate", "mean_acceptance_length", "low", "high", "request_weighted_length", "tokens_per_step",
    "steps", "requests",
]  # fmt: skip
Key = tuple[str, str | None, int, float, int]


def cells(measurements: Sequence[Measurement]) -> pd.DataFrame:
    """One row per measured cell: CELL_KEYS, block, requests, output_tokens, tokens_per_second, tpot_ms,
    ttft_ms (median), acceptance_rate, mean_acceptance_length, tokens_per_step, flags (text)."""
    rows = [
        _key_columns(m)
        | {
            "block": m.cell.block,
            "requests": len(m.records),
            "output_tokens": _output_tokens(m.records),
            "tokens_per_second": _output_tokens(m.records) / m.wall_seconds,
            "tpot_ms": 1000 * cell_tpot(m.records),
            "ttft_ms": 1000 * _median(r.t_first for r in m.records),
        }
        | _acceptance_columns(m.records, m)
        | {"flags": "; ".join(f"{flag.name}: {flag.reason}" for flag in m.flags)}
        for m in measurements
    ]
    return _frame(measurements, rows, [*CELL_KEYS, "block"], _CELL_COLUMNS)


def speedups(measurements: Sequence[Measurement], *, by: str | None = None, confidence: float = 0.95) -> pd.DataFrame:
    """One row per cell other than the baseline (and per value of ``by``: "category" or "language"):
    CELL_KEYS, [by], speedup, low, high, with_looping, prompts, left_out, blocks, launches. Only blocks
    that hold both the cell and its baseline count; discarded cells do not."""
    rows = []
    for key, pairs in _paired(measurements).items():
        for group in _groups(pairs, by):
            chosen = [(_only(base, by, group), _only(arm, by, group)) for base, arm in pairs]
            result = speedup(chosen, confidence=confidence)
            rows.append(
                dict(zip(CELL_KEYS, key, strict=True))
                | ({by: group} if by else {})
                | {
                    "speedup": result.interval.mid,
                    "low": result.interval.low,
                    "high": result.interval.high,
                    "with_looping": result.with_looping,
                    "prompts": result.prompts,
                    "left_out": result.left_out,
                    "blocks": result.blocks,
                    "launches": result.launches,
                }
            )
    return _frame(measurements, rows, [*CELL_KEYS, *([by] if by else [])], _SPEEDUP_COLUMNS)


def acceptances(measurements: Sequence[Measurement], *, confidence: float = 0.95) -> pd.DataFrame:
    """One row per speculative cell over all blocks: CELL_KEYS, acceptance_rate,
    mean_acceptance_length (token-weighted), low, high, request_weighted_length, tokens_per_step, steps,
    requests."""
    rows = []
    for key, records in _pooled(measurements).items():
        interval = acceptance.length_interval(records, confidence=confidence)
        found = acceptance.from_records(records)
        rows.append(
            dict(zip(CELL_KEYS, key, strict=True))
            | {
                "acceptance_rate": found.rate if found else np.nan,
                "mean_acceptance_length": interval.mid,
                "low": interval.low,
                "high": interval.high,
                "request_weighted_length": acceptance.request_weighted_length(records),
                "tokens_per_step": acceptance.tokens_per_step(records),
                "steps": found.steps if found else 0,
                "requests": len(records),
            }
        )
    return _frame(measurements, rows, CELL_KEYS, _ACCEPTANCE_COLUMNS)


def positions(measurements: Sequence[Measurement], *, confidence: float = 0.95) -> pd.DataFrame:
    """One row per speculative cell over all blocks and draft position 1…K: CELL_KEYS, position, joint,
    low, high (of joint), conditional, steps."""
    rows = []
    for key, records in _pooled(measurements).items():
        found = acceptance.from_records(records)
        if not found or not found.steps:
            continue
        bounds = acceptance.joint_intervals(records, len(found.per_pos), confidence=confidence)
        for i, (interval, conditional) in enumerate(zip(bounds, found.conditional, strict=True), start=1):
            rows.append(
                dict(zip(CELL_KEYS, key, strict=True))
                | {"position": i, "joint": interval.mid, "low": interval.low, "high": interval.high}
                | {"conditional": conditional, "steps": found.steps}
            )
    return _frame(measurements, rows, [*CELL_KEYS, "position"], ["joint", "low", "high", "conditional", "steps"])


def steps(measurements: Sequence[Measurement]) -> pd.DataFrame:
    """One row per cell over all blocks, the baseline too: CELL_KEYS, step_ms (mean duration of a decode
    step of one request), tokens_per_step, tpot_ms. The article's timeline, with own numbers."""
    rows = []
    for key, records in _pooled(measurements, baseline=True).items():
        per_step = 1.0 if key[2] == 0 else acceptance.tokens_per_step(records)
        tpot_ms = 1000 * cell_tpot(records)
        rows.append(
            dict(zip(CELL_KEYS, key, strict=True))
            | {"step_ms": tpot_ms * per_step, "tokens_per_step": per_step, "tpot_ms": tpot_ms}
        )
    return _frame(measurements, rows, CELL_KEYS, ["step_ms", "tokens_per_step", "tpot_ms"])


def _key(m: Measurement) -> Key:
    return (m.cell.spec.name, m.cell.spec.method, m.cell.spec.k, m.cell.sampling.temperature, m.cell.concurrency)


def _key_columns(m: Measurement) -> dict[str, object]:
    return dict(zip(CELL_KEYS, _key(m), strict=True))


def _pooled(measurements: Sequence[Measurement], *, baseline: bool = False) -> dict[Key, list[RequestRecord]]:
    pooled: dict[Key, list[RequestRecord]] = defaultdict(list)
    for m in measurements:
        if not m.discarded and (baseline or m.cell.spec.k):
            pooled[_key(m)] += [r for r in m.records if not r.error]
    return pooled


def _paired(measurements: Sequence[Measurement]) -> dict[Key, list[tuple]]:
    """Per speculative cell, (baseline records, own records) of each block that has both."""
    usable = [m for m in measurements if not m.discarded]
    base = {
        (m.cell.block, m.cell.sampling.temperature, m.cell.concurrency): m.records for m in usable if not m.cell.spec.k
    }
    pairs: dict[Key, list[tuple]] = defaultdict(list)
    for m in usable:
        where = (m.cell.block, m.cell.sampling.temperature, m.cell.concurrency)
        if m.cell.spec.k and where in base:
            pairs[_key(m)].append((base[where], m.records))
    return pairs


def _groups(pairs: Sequence[tuple], by: str | None) -> list[str | None]:
    return sorted({getattr(r, by) for pair in pairs for records in pair for r in records}) if by else [None]


def _only(records: Iterable[RequestRecord], by: str | None, group: str | None) -> list[RequestRecord]:
    return [r for r in records if not by or getattr(r, by) == group]


def _acceptance_columns(records: Sequence[RequestRecord], m: Measurement) -> dict[str, float]:
    found = acceptance.from_records(records) or (acceptance.from_counters(m.counters.total) if m.counters else None)
    if not m.cell.spec.k or not found:
        return {"acceptance_rate": np.nan, "mean_acceptance_length": np.nan, "tokens_per_step": np.nan}
    return {
        "acceptance_rate": found.rate,
        "mean_acceptance_length": found.mean_acceptance_length,
        "tokens_per_step": acceptance.tokens_per_step(records),
    }


def _output_tokens(records: Sequence[RequestRecord]) -> float:
    """Tokens received; NaN where a finished request does not tell."""
    counts = [r.output_tokens for r in records if not (r.error and r.output_tokens is None)]
    return np.nan if None in counts else sum(counts)


def _median(values: Iterable[float | None]) -> float:
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else float("nan")


def _frame(
    measurements: Sequence[Measurement], rows: list[dict[str, object]], order: list[str], columns: list[str]
) -> pd.DataFrame:
    """Rows sorted by ``order``; without any, the same columns. ``attrs["drafters"]`` holds (name, method) of
    the run's drafters, so that each keeps its colour also where a table lacks another."""
    frame = pd.DataFrame(rows, columns=[*order, *columns])
    frame = frame.sort_values(order, kind="stable").reset_index(drop=True)
    frame.attrs["drafters"] = sorted({(m.cell.spec.name, m.cell.spec.method) for m in measurements if m.cell.spec.k})
    return frame
