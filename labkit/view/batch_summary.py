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

__all__ = ["Outcome", "summary_page"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a report: ``state`` is "done", "kept" from before, "failed" or "waiting"."""

    name: str
    varied: dict[str, Any]
    state: str
    seconds: float = 0.0
    error: str = ""

    def plain(self) -> dict[str, Any]:
        return asdict(self) | {"seconds": round(self.seconds, 1)}


def summary_page(title: str, outcomes: Sequence[Outcome], folder: Path) -> str:
    """HTML of the page; the verdicts come from the executed notebooks in ``folder``. The index lists it like a
    report."""
    names = list(dict.fromkeys(name for outcome in outcomes for name in outcome.varied))
    heads = ["report", *names, "state", "verdict"]
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(_row(outcome, names, folder) for outcome in outcomes)
    counts = Counter(outcome.state for outcome in outcomes)
    said = f"{len(outcomes)} reports: {', '.join(f'{n} {state}' for state, n in counts.items())}."
    table = f"<table class='labkit'><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    text = (
        f"<h1>{escape(title)}</h1><ul class='labkit verdict'><li>{said}</li></ul><div class='tablewrap'>{table}</div>"
    )
    summary = {
        "title": f"{title} (grid)", "created": time.strftime("%Y-%m-%d %H:%M:%S"), "run": "", "target": "", "plan": "",
        "verdict": [said], "best": None, "speedup": None, "at": None,
    }  # fmt: skip
    return page_html(text, title=title, summary=summary, figures=False)


def _row(outcome: Outcome, names: Sequence[str], folder: Path) -> str:
    whole = outcome.state in ("done", "kept")
    link = f"<a href='{quote(outcome.name)}.html'>{escape(outcome.name)}</a>" if whole else escape(outcome.name)
    values = [escape(str(outcome.varied.get(name, "–"))) for name in names]
    said = _verdict(folder / f"{outcome.name}.ipynb") if whole else [outcome.error]
    cells = [link, *values, escape(outcome.state), "<br>".join(escape(line) for line in said)]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _verdict(executed: Path) -> list[str]:
    """The last summary that the executed notebook shows."""
    outputs = [o for cell in nbformat.read(executed, as_version=4).cells for o in cell.get("outputs", ())]
    found = [o.data[SUMMARY_MIME] for o in outputs if SUMMARY_MIME in o.get("data", {})]
    return list(found[-1]["verdict"]) if found else []
