"""One page for a grid of reports: what became of each, with its verdict and a link."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import nbformat

from labkit.view.page import page_html
from labkit.view.present import SUMMARY_MIME

__all__ = ["Outcome", "summary_page", "told"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a report: ``state`` is "done", "kept" from before, "failed" or "waiting". ``varied``: those of its
    parameters that differ between reports; ``target`` and ``verdict``: what it says."""

    name: str
    varied: dict[str, Any]
    state: str
    seconds: float = 0.0
    error: str = ""
    target: str = ""
    verdict: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        return self.state in ("done", "kept")

    def plain(self) -> dict[str, Any]:
        return asdict(self) | {"seconds": round(self.seconds, 1)}


def told(executed: Path) -> dict[str, Any]:
    """Target and verdict of an executed notebook, from the last summary it shows."""
    outputs = [o for cell in nbformat.read(executed, as_version=4).cells for o in cell.get("outputs", ())]
    shown = [o.data[SUMMARY_MIME] for o in outputs if SUMMARY_MIME in o.get("data", {})]
    return {"target": shown[-1]["target"], "verdict": tuple(shown[-1]["verdict"])} if shown else {}


def summary_page(title: str, outcomes: Sequence[Outcome]) -> str:
    """HTML of the page. The index lists it like a report."""
    varied = list(dict.fromkeys(name for outcome in outcomes for name in outcome.varied))
    head = "".join(f"<th>{escape(name)}</th>" for name in ["report", *varied, "state", "verdict"])
    body = "".join(_row(outcome, varied) for outcome in outcomes)
    counts = Counter(outcome.state for outcome in outcomes)
    said = f"{len(outcomes)} reports: {', '.join(f'{n} {state}' for state, n in counts.items())}."
    table = f"<table class='labkit'><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    text = (
        f"<h1>{escape(title)}</h1><ul class='labkit verdict'><li>{said}</li></ul><div class='tablewrap'>{table}</div>"
    )
    targets = sorted({outcome.target for outcome in outcomes} - {""})
    summary = {
        "title": f"{title} (grid)", "created": time.strftime("%Y-%m-%d %H:%M:%S"), "run": "", "plan": "",
        "target": targets[0] if len(targets) == 1 else "several" if targets else "–",
        "verdict": [said], "best": None, "speedup": None, "at": None,
    }  # fmt: skip
    return page_html(text, title=title, summary=summary, figures=False)


def _row(outcome: Outcome, varied: Sequence[str]) -> str:
    name = escape(outcome.name)
    link = f"<a href='{quote(outcome.name)}.html'>{name}</a>" if outcome.whole else name
    values = [escape(str(outcome.varied.get(name, "–"))) for name in varied]
    said = outcome.verdict if outcome.whole else (outcome.error,)
    cells = [link, *values, escape(outcome.state), "<br>".join(escape(line) for line in said)]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
