"""What a notebook shows besides figures: readable tables; facts of a run, a drafter, a launch; summaries of a run, a
launch.

Everything here escapes what it shows: model output and file names are untrusted text.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from labkit.analysis.related import related
from labkit.drafters.card import Card
from labkit.errors import ConfigError
from labkit.paths import DATA
from labkit.preflight import Look
from labkit.records import FLAGS, Measurement
from labkit.store import Run
from labkit.view import findings, tables
from labkit.view.audits import allowed
from labkit.view.csv_text import csv_text
from labkit.view.phrases import phrases
from labkit.view.readable import readable

__all__ = ["Html", "show", "facts", "summary", "finish", "SUMMARY_MIME", "DONE_MIME", "TABLE_MIME"]

SUMMARY_MIME = "application/vnd.labkit.summary+json"
DONE_MIME = "application/vnd.labkit.done+json"
#: ``{"csv": …}``: a shown table, whole, for a page to offer.
TABLE_MIME = "application/vnd.labkit.table+json"

_NAMES = {
    "k": "K", "temperature": "T", "concurrency": "users", "tpot_ms": "TPOT (ms)", "ttft_ms": "TTFT (ms)",
    "tokens_per_second": "tok/s", "acceptance_rate": "acceptance rate", "mean_acceptance_length": "acceptance length",
    "tokens_per_step": "tokens per step", "output_tokens": "output tokens",
    "request_weighted_length": "length, by request",
    "with_looping": "with looping", "left_out": "looping", "step_ms": "step (ms)",
    "tokens_seen": "tokens seen",
}  # fmt: skip
#: Columns that hold words of labkit, which are said in the language of a report; others hold names and text of others.
_SAID = {
    "kind", "source", "note", "cautions", "launches", "flags", "checked", "verdict", "finding", "figure", "claim",
    "claimed", "comparable", "cell", "why", "test", "arm", "fault", "message", "about",
}  # fmt: skip
#: Words of labkit as well, but short: no width is kept for them.
_BRIEF = {"level", "state", "versions", "runner", "tokenizer"}
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
    """A table for people: readable headings, few digits, "–" for unknown, all text escaped and cut where it is long.
    A report offers it whole, as CSV."""
    text = pd.DataFrame(
        {_NAMES.get(name, str(name).replace("_", " ")): [_cell(name, value) for value in table[name]] for name in table}
    )
    said = [_mark(name) for name in table]
    head = "".join(f"<th{kind}>{escape(str(name), quote=False)}</th>" for name, kind in zip(text, said, strict=True))
    tags = [f"<td{kind}>" for kind in said]
    body = "".join(
        f"<tr>{''.join(f'{tag}{escape(cell, quote=False)}</td>' for tag, cell in zip(tags, row, strict=True))}</tr>"
        for row in text.itertuples(index=False, name=None)
    )
    html = f"<table class='labkit'><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    whole = {"csv": csv_text(table.to_dict("records"), list(table))}
    return Html(f"<div class='tablewrap'>{html}</div>", text.to_string(index=False), mime=TABLE_MIME, data=whole)


def _mark(column: str) -> str:
    """Attributes of the cells of a column."""
    if column in _BRIEF:
        return " class='said brief'"
    return " class='said'" if column in _SAID else ""


def _cell(column: str, value: Any) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and pd.isna(value)):
        return "–"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float):
        digits = _DIGITS.get(column, 3)
        return f"{value:g}" if digits is None else f"{value:.{digits}f}"
    return readable(str(value))


def facts(of: Run | Card | Look) -> Html:
    """Where the numbers of a run come from: engine, device, target, workload, plan, cells, flags; what a drafter's card
    says; or how a launch that was looked at is written today, and what is to be known of it."""
    if isinstance(of, Look):
        return _launch_today(of)
    rows = dict(of.rows()) if isinstance(of, Card) else _facts(of)
    body = "".join(f"<tr><th>{escape(key)}</th><td>{escape(str(value))}</td></tr>" for key, value in rows.items())
    return Html(
        f"<table class='labkit facts'>{body}</table>", "\n".join(f"{key}: {value}" for key, value in rows.items())
    )


def _launch_today(looked: Look) -> Html:
    notes = "".join(f"<li>{escape(note)}</li>" for note in looked.notes)
    html = f"<p><code>{escape(looked.command)}</code></p><ul>{notes}</ul>"
    return Html(html, "\n\n".join((looked.command, *looked.notes)))


def _facts(run: Run) -> dict[str, str]:
    measured = run.measurements()
    rows = _origin(run, measured)
    rows |= {f"flag: {name}": f"{FLAGS[name]} ({count} cells)" for name, count in _flag_counts(measured).items()}
    return rows | {f"failed: {label}": readable(cause) for label, cause in run.failures().items()}


def _origin(run: Run, measured: Sequence[Measurement]) -> dict[str, str]:
    first = measured[0].provenance if measured else None
    return {
        "run": run.id,
        "plan": f"{run.plan.name} ({run.plan.id})",
        "target": run.plan.engine.target,
        "engine": f"{first.engine_kind} {first.engine_version or ''} on {first.device}" if first else "–",
        "repairs": (first.cpu_fixes or "none") if first else "–",
        "workload": f"{len(measured[0].records)} requests a cell, hash {run.workload_hash}" if measured else "–",
        "order": f"{run.plan.blocks} block(s), seed {run.plan.seed}, warmed up once per {run.plan.warmup}"
        + (", engines in turn prompt by prompt" if run.plan.together else ""),
        "cells": f"{len(measured)} measured, {len(run.missing())} missing",
        "measured": time.strftime("%Y-%m-%d %H:%M", time.localtime(first.started_at)) if first else "–",
    }


def _flag_counts(measured: Sequence[Measurement]) -> dict[str, int]:
    names = [flag.name for m in related(measured) for flag in m.flags]
    return {name: names.count(name) for name in dict.fromkeys(names)}


def summary(run: Run | Look, *, against: Run | None = None, confidence: float = 0.95, language: str = "en") -> Html:
    """The verdict of a run, and the same as data for the report's origin and the index of reports. A setting that an
    audit or a task guard speaks against is left out, in words. ``against`` an earlier run: what changed since.
    ``language``: what the report is to be in. Of a launch that was looked at the verdict, and what vLLM ends on."""
    if isinstance(run, Look):
        if against is not None:
            raise ConfigError("a launch that was looked at is compared with nothing; leave 'against' out")
        return _verdict_of_launch(run, phrases(language).say)
    measured, say = run.measurements(), phrases(language).say
    if against is not None:
        changed = tables.changes(against.measurements(), measured, confidence=confidence)
        return _verdict(run, measured, list(map(say, changed.attrs["sentences"])), language=language)
    table, barred = allowed(tables.speedups(measured, confidence=confidence), run)
    said = [*findings.verdict(table), *barred] or [_nothing_to_compare(measured)]
    best = findings.best_arm(table.dropna(subset=["low"]))  # a figure without an interval is no best
    if best is None:
        return _verdict(run, measured, list(map(say, said)), language=language)
    return _verdict(
        run,
        measured,
        list(map(say, said)),
        language=language,
        best=findings.arm_text(best),
        speedup=[float(best[c]) for c in ("low", "speedup", "high")],
        at=say(findings.where_text(best["temperature"], best["concurrency"])),
        curve=_curve(table, best),
    )


def _verdict(run: Run, measured: Sequence[Measurement], said: list[str], **known: Any) -> Html:
    """``said`` as a list, and with what else is ``known`` as data."""
    data = {
        "run": run.id,
        "target": run.plan.engine.target,
        "plan": run.plan.name,
        "verdict": said,
        "best": None,
        "speedup": None,
        "at": None,
        "curve": [],
        "folder": _folder(run),
        "facts": list(map(list, _origin(run, measured).items())),  # a stored notebook sorts names
    }
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in said)
    html = f"<ul class='labkit verdict'>{items}</ul>"
    return Html(html, "\n".join(said), mime=SUMMARY_MIME, data=data | known)


def _verdict_of_launch(looked: Look, say: Callable[[str], str]) -> Html:
    verdict, *errors = map(say, (looked.verdict, *looked.errors))
    wrong = "".join(f"<p class='labkit-missing'>{escape(error)}</p>" for error in errors)
    return Html(f"<h3>{escape(verdict)}</h3>{wrong}", "\n".join((verdict, *errors)))


def _curve(table: pd.DataFrame, best: pd.Series) -> list[list[float]]:
    """Measured speedup over K of the best drafter at its load."""
    names = ["drafter", "temperature", "concurrency"]
    own = table[(table[names] == best[names]).all(axis=1)].dropna(subset=["speedup"]).sort_values("k")
    return [[int(k), float(value)] for k, value in zip(own["k"], own["speedup"], strict=True)]


def _folder(run: Run) -> str:
    """Where the run lies as one would type it: from here or from the checkout; else its name."""
    folder = run.folder.resolve()
    near = (folder.relative_to(base) for base in (Path.cwd(), DATA.parent) if folder.is_relative_to(base))
    return str(next(near, run.id))


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
