"""A run as tidy tables; figures and sentences are made from these and compute nothing.

*Conventions*: one row per what the function names; times in milliseconds where the column ends in
``_ms``; ``low`` and ``high`` bound an interval at the asked confidence; NaN is unknown. ``drafter`` is
"baseline" at K = 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

import numpy as np
import pandas as pd

from labkit.analysis import acceptance
from labkit.analysis.pairs import Pairs, by_cell, cell_key, paired, sound
from labkit.analysis.related import related
from labkit.analysis.speedup import cell_tpot, speedup
from labkit.records import Measurement, RequestRecord
from labkit.view.audits import audit_tests, losslessness, partings
from labkit.view.claims import claims_table as claims
from labkit.view.claims import sources_table as sources
from labkit.view.comparison import changes_table as changes
from labkit.view.launch_tables import engines_table as engines
from labkit.view.launch_tables import findings_table as findings
from labkit.view.launch_tables import rules_table as rules
from labkit.view.learning import learning_table as learning
from labkit.view.outlook_table import outlook_table as outlook

__all__ = [
    "cells", "speedups", "acceptances", "positions", "steps", "learning", "outlook", "losslessness", "audit_tests",
    "partings", "engines", "findings", "rules", "changes", "claims", "sources", "CELL_KEYS",
]  # fmt: skip

CELL_KEYS = ["drafter", "method", "k", "temperature", "concurrency"]
_CELL_COLUMNS = [
    "requests", "output_tokens", "tokens_per_second", "tpot_ms", "ttft_ms", "acceptance_rate",
    "mean_acceptance_length", "tokens_per_step", "flags",
]  # fmt: skip
_SPEEDUP_COLUMNS = ["speedup", "low", "high", "with_looping", "prompts", "left_out", "blocks", "launches", "cautions"]
_ACCEPTANCE_COLUMNS = [
    "acceptance_rate", "mean_acceptance_length", "low", "high", "request_weighted_length", "tokens_per_step",
    "steps", "prompts",
]  # fmt: skip
#: Flags of a cell that make its speed doubtful.
_TOUCH_SPEED = {
    "contaminated", "not_quiescent", "client_bound", "partial", "machine_busy", "not_warm", "idle_engine", "invariant",
    "cache_mismatch",
}  # fmt: skip
#: A lower bound so many times the tokens per step cannot be the drafter's doing.
IMPLAUSIBLE = 1.03


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
        for m in related(measurements)
    ]
    return _frame(measurements, rows, [*CELL_KEYS, "block"], _CELL_COLUMNS)


def speedups(measurements: Sequence[Measurement], *, by: str | None = None, confidence: float = 0.95) -> pd.DataFrame:
    """One row per cell other than the baseline (and per value of ``by``: "category" or "language"):
    CELL_KEYS, [by], speedup, low, high, with_looping, prompts, left_out, blocks, launches, cautions. Only
    blocks that hold both the cell and its baseline count; discarded cells do not. ``cautions`` names flags of
    either arm that touch speed, and says where a speedup is above the tokens per step: a step with drafts is
    no shorter than one without, so the machine was slower under the baseline."""
    rows = []
    for key, pairs in paired(related(measurements)).items():
        for group in _groups(pairs, by):
            chosen = [(_only(base.records, by, group), _only(arm.records, by, group)) for base, arm in pairs]
            result = speedup(chosen, confidence=confidence)
            per_step = acceptance.tokens_per_step([record for _, arm in chosen for record in arm])
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
                    "cautions": ", ".join(_cautions(pairs, result.interval.low, per_step)),
                }
            )
    return _frame(measurements, rows, [*CELL_KEYS, *([by] if by else [])], _SPEEDUP_COLUMNS)


def _cautions(pairs: Pairs, low: float, per_step: float) -> list[str]:
    found = {flag.name for pair in pairs for m in pair for flag in m.flags if flag.name in _TOUCH_SPEED}
    above = [f"above its {per_step:.2f} tokens per step"] if low > IMPLAUSIBLE * per_step else []
    return sorted(found) + above


def acceptances(measurements: Sequence[Measurement], *, confidence: float = 0.95) -> pd.DataFrame:
    """One row per speculative cell over all blocks, looping outputs left out: CELL_KEYS, acceptance_rate,
    mean_acceptance_length (token-weighted), low, high, request_weighted_length, tokens_per_step, steps,
    prompts. A server without per-step arrays gives its counters: no interval, looping outputs included."""
    rows = []
    for key, cells_of_key in by_cell(measurements).items():
        records, found = sound(cells_of_key), _acceptance(cells_of_key)
        interval = acceptance.length_interval(records, confidence=confidence)
        rows.append(
            dict(zip(CELL_KEYS, key, strict=True))
            | {
                "acceptance_rate": found.rate if found else np.nan,
                "mean_acceptance_length": found.mean_acceptance_length if found else np.nan,
                "low": interval.low,
                "high": interval.high,
                "request_weighted_length": acceptance.request_weighted_length(records),
                "tokens_per_step": acceptance.tokens_per_step(records),
                "steps": found.steps if found else 0,
                "prompts": _prompts(records),
            }
        )
    return _frame(measurements, rows, CELL_KEYS, _ACCEPTANCE_COLUMNS)


def positions(measurements: Sequence[Measurement], *, confidence: float = 0.95) -> pd.DataFrame:
    """One row per speculative cell over all blocks and draft position 1…K, looping outputs left out:
    CELL_KEYS, position, joint, low, high (of joint), conditional, steps, prompts. From counters alone as in
    :func:`acceptances`."""
    rows = []
    for key, cells_of_key in by_cell(measurements).items():
        records, found = sound(cells_of_key), _acceptance(cells_of_key)
        if not found or not found.steps:
            continue
        bounds = acceptance.joint_intervals(records, len(found.per_pos), confidence=confidence)
        for i, (joint, conditional) in enumerate(zip(found.joint, found.conditional, strict=True)):
            low, high = (bounds[i].low, bounds[i].high) if bounds else (np.nan, np.nan)
            rows.append(
                dict(zip(CELL_KEYS, key, strict=True))
                | {"position": i + 1, "joint": joint, "low": low, "high": high, "conditional": conditional}
                | {"steps": found.steps, "prompts": _prompts(records)}
            )
    return _frame(
        measurements, rows, [*CELL_KEYS, "position"], ["joint", "low", "high", "conditional", "steps", "prompts"]
    )


def steps(measurements: Sequence[Measurement]) -> pd.DataFrame:
    """One row per cell over all blocks, the baseline too, looping outputs left out: CELL_KEYS, step_ms (mean
    duration of a decode step of one request), tokens_per_step, tpot_ms, prompts. The article's timeline, with
    own numbers; rows are not paired by prompt, so their ratios are not the speedups."""
    rows = []
    for key, cells_of_key in by_cell(measurements, baseline=True).items():
        records = sound(cells_of_key)
        per_step = 1.0 if key[2] == 0 else acceptance.tokens_per_step(records)
        tpot_ms = 1000 * cell_tpot(records)
        rows.append(
            dict(zip(CELL_KEYS, key, strict=True))
            | {"step_ms": tpot_ms * per_step, "tokens_per_step": per_step, "tpot_ms": tpot_ms}
            | {"prompts": _prompts(records)}
        )
    return _frame(measurements, rows, CELL_KEYS, ["step_ms", "tokens_per_step", "tpot_ms", "prompts"])


def _prompts(records: Sequence[RequestRecord]) -> int:
    return len({r.prompt_id for r in records})


def _acceptance(measurements: Sequence[Measurement]) -> acceptance.Acceptance | None:
    """From the per-step arrays, else from the counters of all cells together."""
    if found := acceptance.from_records(sound(measurements)):
        return found
    totals = [m.counters.total for m in measurements if m.counters]
    return acceptance.from_counters(reduce(lambda a, b: a.combined(b, +1), totals)) if totals else None


def _key_columns(m: Measurement) -> dict[str, object]:
    return dict(zip(CELL_KEYS, cell_key(m), strict=True))


def _groups(pairs: Pairs, by: str | None) -> list[str | None]:
    return sorted({getattr(r, by) for pair in pairs for m in pair for r in m.records}) if by else [None]


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
