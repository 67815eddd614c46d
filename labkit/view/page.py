"""One HTML page that needs no network: plotly.js is in it once, compressed, and unpacked by the browser.

Figures are JSON beside the page's text and drawn when the library is ready; every ``<`` in them is escaped, so no
figure can end its script element or keep it open. The page's policy lets a browser run its own scripts alone, and
load nothing from anywhere, whatever stands in the body.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from functools import cache
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from labkit.view.library import plotly_gzip, plotly_js
from labkit.view.phrases import phrases

__all__ = ["asset", "figure_html", "json_script", "page_html", "write_page"]

_STYLE = ("page.css", "board.css")
_DRAWING = ("library.js", "static_board.js", "page.js")
#: plotly compiles code of its own for traces that WebGL draws, and makes images as blobs.
_POLICY = (
    "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
    "base-uri 'none'; form-action 'none'"
)
_NO_SCRIPT = "Figures and controls of this page need a browser that runs scripts."
#: Pixels of a figure that does not say its height: plotly's own.
_HEIGHT = 450


def json_script(data: Any, *, id: str | None = None) -> str:
    """``data`` as a JSON script element that nothing inside it can close."""
    name = f' id="{id}"' if id else ""
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")  # neither </script> nor <!--<script>
    return f'<script type="application/json"{name}>{text}</script>'


def figure_html(figure: dict[str, Any]) -> str:
    """A place for a plotly figure given as its JSON form (``data``, ``layout``), as high as it will be."""
    height = int(figure["layout"].get("height") or _HEIGHT)
    return f'<div class="figure"><div style="min-height:{height}px"></div>{json_script(figure)}</div>'


def page_html(
    body: str,
    *,
    title: str,
    summary: dict[str, Any] | None = None,
    language: str = "en",
    figures: bool = True,
    script: str = "",
) -> str:
    """A whole page around ``body``, which is HTML already. ``figures``: whether it has any; if not, ``script`` is all
    that runs."""
    library, allowed, warning = "", [], ""
    if figures:
        script = "".join(map(asset, _DRAWING))
        library = f'<script type="text/plain" id="plotly">{base64.b64encode(plotly_gzip()).decode()}</script>'
        allowed = [_plotly_hash(), "'unsafe-eval'"]
        warning = f"<noscript><p>{escape(phrases(language).say(_NO_SCRIPT))}</p></noscript>"
    if script:
        allowed = [_hash(script), *allowed]
        script = f"<script>{script}</script>"
    policy = _POLICY.format(scripts=" ".join(allowed) or "'none'")
    return (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><style>{"".join(map(asset, _STYLE))}</style></head><body>{warning}{body}'
        f"{json_script(summary, id='labkit-summary') if summary else ''}{library}{script}</body></html>"
    )


@cache
def asset(name: str) -> str:
    """The text of a style sheet or script that lies beside this module."""
    return resources.files("labkit.view").joinpath(name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """How a policy names a script: by its text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


@cache
def _plotly_hash() -> str:
    return _hash(plotly_js())


def write_page(path: Path, text: str) -> None:
    """Write a page whole or not at all: another report may read the folder for the index meanwhile."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
