"""Where a report comes from and how to make it again, as a box at its end, and the list of its sections."""

from __future__ import annotations

import json
import platform
import re
import shlex
from collections.abc import Mapping
from html import escape, unescape
from importlib.metadata import version
from typing import Any

__all__ = ["command", "provenance_html", "with_contents"]

_MADE_WITH = ("labkit", "papermill", "nbconvert", "plotly")
_HEADING = re.compile(r"<h2>(.*?)</h2>", re.S)


def command(notebook: str, parameters: Mapping[str, Any]) -> str:
    """The command line that makes the report of ``notebook`` with ``parameters``."""
    given = [part for name, value in parameters.items() for part in ("-p", f"{name}={_text(value)}")]
    return shlex.join(["labkit", "report", notebook, *given])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def provenance_html(facts: Mapping[str, str], made: str, again: str | None, *, created: str) -> str:
    """``facts`` of the run, versions, the command that made the report and the one that shows the same run
    ``again``."""
    software = ", ".join(f"{name} {version(name)}" for name in _MADE_WITH)
    rows = {**facts, "report made": f"{created}, {software}, Python {platform.python_version()}"}
    commands = {"made with": made} | ({"shows the same run": again} if again and again != made else {})
    cells = [f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows.items()]
    cells += [f"<tr><th>{escape(n)}</th><td><code>{escape(c)}</code></td></tr>" for n, c in commands.items()]
    return (
        '<section class="provenance"><h2>Where does this come from?</h2>'
        f"<table class='labkit facts'>{''.join(cells)}</table></section>"
    )


def with_contents(body: str) -> str:
    """``body`` with its sections listed under its title, each a link."""
    names: list[str] = []

    def named(match: re.Match[str]) -> str:
        names.append(unescape(re.sub(r"<[^>]*>", "", match[1])))
        return f'<h2 id="section-{len(names)}">{match[1]}</h2>'

    body = _HEADING.sub(named, body)
    items = "".join(f'<li><a href="#section-{i}">{escape(name)}</a></li>' for i, name in enumerate(names, 1))
    before, end, after = body.partition("</h1>")
    return f'{before}{end}<nav class="contents"><ol>{items}</ol></nav>{after}' if end and names else body
