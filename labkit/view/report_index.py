"""``reports/index.html``: every report of a folder, newest first, read from the reports themselves, in the language of
the newest."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from labkit.view.page import asset, page_html, write_page
from labkit.view.phrases import phrases

__all__ = ["build_index", "sparkline"]

_SUMMARY = re.compile(r'<script type="application/json" id="labkit-summary">(.*?)</script>', re.S)
_HEADS = ("question", "target", "best drafter", "speedup", "over K", "verdict")
_WORDS = {"question": "said", "best drafter": "said brief", "verdict": "said"}  # columns of labkit's words
_WIDTH, _HEIGHT, _EDGE = 96, 26, 4


def build_index(folder: Path) -> Path:
    """(Re)build ``index.html`` from the reports in ``folder``."""
    rows = []
    for path in folder.glob("*.html"):
        if path.name != "index.html" and (found := _SUMMARY.search(path.read_text(encoding="utf-8", errors="replace"))):
            rows.append((json.loads(found[1]), path))
    rows.sort(key=lambda row: (row[0]["created"], row[1].name), reverse=True)
    language = rows[0][0].get("language", "en") if rows else "en"
    head = "".join(f"{_tag('th', name)}{name}</th>" for name in _HEADS)
    body = "".join(_row(summary, path) for summary, path in rows)
    table = f"<table class='labkit'><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    chosen = _filter(sorted({summary["target"] for summary, _ in rows}))
    whole = f"<h1>Reports</h1><div class='reports'>{chosen}<div class='tablewrap'>{table}</div></div>"
    say, script = phrases(language), asset("report_index.js") if chosen else ""
    page = folder / "index.html"
    text = page_html(say.html(whole), title=say.say("labkit reports"), language=language, figures=False, script=script)
    write_page(page, text)
    return page


def _filter(targets: Sequence[str]) -> str:
    """A choice of target; nothing to choose, no control."""
    if len(targets) < 2:
        return ""
    options = "".join(f'<option value="{escape(target)}">{escape(target)}</option>' for target in targets)
    return f'<label>target <select id="target"><option value="">all targets</option>{options}</select></label>'


def _row(summary: dict[str, Any], path: Path) -> str:
    best, speedup = "–", "–"
    if summary.get("speedup"):
        low, mid, high = summary["speedup"]
        best = f"{escape(summary['best'])}<br><span class='stamp'>{escape(summary['at'])}</span>"
        speedup = f"{mid:.2f}× [{low:.2f}, {high:.2f}]"
    link = f"<a href='{quote(path.name)}'>{escape(summary['title'])}</a>"
    cells = [
        f"{link}<br><span class='stamp'>{escape(summary['created'])}</span>",
        escape(summary["target"]),
        best,
        speedup,
        sparkline(summary.get("curve") or []),
        "<br>".join(escape(sentence) for sentence in summary["verdict"]),
    ]
    body = "".join(f"{_tag('td', head)}{cell}</td>" for head, cell in zip(_HEADS, cells, strict=True))
    return f'<tr data-target="{escape(summary["target"])}">{body}</tr>'


def _tag(name: str, head: str) -> str:
    return f"<{name} class='{_WORDS[head]}'>" if head in _WORDS else f"<{name}>"


def sparkline(points: Sequence[tuple[float, float]]) -> str:
    """Speedup over K, small: dots where it was measured, a grey line at 1×; "–" without points."""
    if not points:
        return "–"
    ks, values = [k for k, _ in points], [value for _, value in points]
    low, high = min(1.0, *values), max(1.0, *values)

    def x(k: float) -> float:
        return _EDGE + (_WIDTH - 2 * _EDGE) * (k - min(ks)) / ((max(ks) - min(ks)) or 1)

    def y(value: float) -> float:
        return _HEIGHT - _EDGE - (_HEIGHT - 2 * _EDGE) * (value - low) / ((high - low) or 1)

    places = [(round(x(k), 1), round(y(value), 1)) for k, value in points]
    line = " ".join(f"{left},{top}" for left, top in places)
    dots = "".join(f'<circle cx="{left}" cy="{top}" r="2.5"/>' for left, top in places)
    said = ", ".join(f"K={k:g} {value:.2f}×" for k, value in points)
    one = round(y(1.0), 1)
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{said}" fill="currentColor">'
        f"<title>{said}</title>"
        f'<line x1="0" x2="{_WIDTH}" y1="{one}" y2="{one}" stroke="#767676" stroke-dasharray="2 2"/>'
        f'<polyline points="{line}" fill="none" stroke="currentColor" stroke-width="1.5"/>{dots}</svg>'
    )
