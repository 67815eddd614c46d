"""What a notebook shows of a run besides figures: readable tables, the run's facts, its summary.

Everything here escapes what it shows: model output and file names are untrusted text.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from html import escape
from typing import Any

import pandas as pd

from labkit.records import FLAGS, Measurement
from labkit.store import Run
from labkit.view import findings, tables

__all__ = ["Html", "show", "facts", "summary", "finish", "SUMMARY_MIME", "DONE_MIME"]

SUMMARY_MIME = "application/vnd.labkit.summary+json"
DONE_MIME = "application/vnd.labkit.done+json"

_NAMES = {
    "k": "K", "temperature": "T", "concurrency": "users", "tpot_ms": "TPOT (ms)", "ttft_ms": "TTFT (ms)",
    "tokens_per_second": "tok/s", "acceptance_rate": "acceptance rate", "mean_acceptance_length": "acceptance length",
    "tokens_per_step": "tokens per step", "output_tokens": "output tokens",
    "request_weighted_length": "length, by request",
    "with_looping": "with looping", "left_out": "looping", "step_ms": "step (ms)",
    "tokens_seen": "tokens seen",
}  # fmt: skip
_DIGITS = {"tpot_ms": 1, "ttft_ms": 0, "step_ms": 1, "tokens_per_second": 1, "temperature": None}


class Html:
    """Ready HTML for a notebook cell, with a plain text twin and, where a program reads it, ``data`` under a
    MIME type of its own."""

    def __init__(self, html: str, text: str, *, mime: str = "", data: dict[str, Any] | None = None) -> None:
        self._html, self._text, self._mime, self.data = html, text, mime, data

    def __repr__(self) -> str:
        return self._text

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/plain": self._text, "text/html": self._html}
        return bundle | ({self._mime: self.data} if self._mime else {})


def show(table: pd.DataFrame) -> Html:
    """A table for people: readable headings, few digits, "–" for unknown, all text escaped."""
    text = pd.DataFrame({_NAMES.get(name, name): [_cell(name, value) for value in table[name]] for name in table})
    html = text.to_html(index=False, escape=True, border=0, classes="labkit")
    return Html(f"<div class='tablewrap'>{html}</div>", text.to_string(index=False))


def _cell(column: str, value: Any) -> str:
    if value is None or (isinstance(value, float) and pd.isna(value)):
        return "–"
    if isinstance(value, float):
        digits = _DIGITS.get(column, 3)
        return f"{value:g}" if digits is None else f"{value:.{digits}f}"
    return str(value)


def facts(run: Run) -> Html:
    """Where the numbers come from: engine, device, target, workload, plan, cells, flags."""
    measured = run.measurements()
    first = measured[0].provenance if measured else None
    rows = {
        "run": run.id,
        "plan": f"{run.plan.name} ({run.plan.id})",
        "target": run.plan.engine.target,
        "engine": f"{first.engine_kind} {first.engine_version or ''} on {first.device}" if first else "–",
        "repairs": (first.cpu_fixes or "none") if first else "–",
        "workload": f"{len(measured[0].records)} requests a cell, hash {run.workload_hash}" if measured else "–",
        "order": f"{run.plan.blocks} block(s), seed {run.plan.seed}, warmed up once per {run.plan.warmup}",
        "cells": f"{len(measured)} measured, {len(run.missing())} missing",
        "measured": time.strftime("%Y-%m-%d %H:%M", time.localtime(first.started_at)) if first else "–",
    }
    rows |= {f"flag: {name}": f"{FLAGS[name]} ({count} cells)" for name, count in _flag_counts(measured).items()}
    rows |= {f"failed: {label}": cause for label, cause in run.failures().items()}
    body = "".join(f"<tr><th>{escape(key)}</th><td>{escape(str(value))}</td></tr>" for key, value in rows.items())
    return Html(
        f"<table class='labkit facts'>{body}</table>", "\n".join(f"{key}: {value}" for key, value in rows.items())
    )


def _flag_counts(measured: Sequence[Measurement]) -> dict[str, int]:
    names = [flag.name for m in measured for flag in m.flags]
    return {name: names.count(name) for name in dict.fromkeys(names)}


def summary(run: Run, *, against: Run | None = None, confidence: float = 0.95) -> Html:
    """The verdict of a run, and the same as data for the index of reports; ``against`` an earlier run, what changed
    since."""
    measured = run.measurements()
    if against is not None:
        changed = tables.changes(against.measurements(), measured, confidence=confidence)
        return _verdict(run, changed.attrs["sentences"])
    table = tables.speedups(measured, confidence=confidence)
    best = findings.best_arm(table.dropna(subset=["low"]))  # a figure without an interval is no best
    return _verdict(run, findings.verdict(table) or [_nothing_to_compare(measured)], best)


def _verdict(run: Run, said: list[str], best: pd.Series | None = None) -> Html:
    data = {
        "run": run.id,
        "target": run.plan.engine.target,
        "plan": run.plan.name,
        "verdict": said,
        "best": findings.arm_text(best) if best is not None else None,
        "speedup": [float(best[c]) for c in ("low", "speedup", "high")] if best is not None else None,
        "at": findings.where_text(best["temperature"], best["concurrency"]) if best is not None else None,
    }
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in data["verdict"])
    return Html(f"<ul class='labkit verdict'>{items}</ul>", "\n".join(data["verdict"]), mime=SUMMARY_MIME, data=data)


def _nothing_to_compare(measured: Sequence[Measurement]) -> str:
    if not measured:
        return "Nothing was measured."
    if any(m.cell.spec.k == 0 for m in measured):
        return "Only the baseline was measured: nothing to compare with."
    return "The baseline was not measured: no speedup can be told."


def finish(run: Run) -> Html:
    """The last cell of a report: says that the run is whole. A report without it is not whole.

    Raises:
        MeasurementError: cells of the plan were not measured; names them and how to go on.
    """
    run.check()
    text = f"All {len(run.plan.cells())} cells of the plan were measured."
    return Html(f"<p>{text}</p>", text, mime=DONE_MIME, data={"run": run.id})
