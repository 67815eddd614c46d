"""One HTML page that needs no network: plotly.js is in it once, compressed, and unpacked by the browser.

Figures are JSON beside the page's text and drawn when the library is ready; every ``<`` in them is
escaped, so no figure can end its script element or keep it open.
"""

from __future__ import annotations

import base64
import gzip
import json
from functools import cache
from html import escape
from importlib import resources
from typing import Any

__all__ = ["figure_html", "page_html", "json_script"]

_CSS = """
:root { color-scheme: light; --ink: #1d1d1f; --soft: #5a5a5a; --line: #e4e4e4; --accent: #0072B2; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1080px; padding: 32px 28px 64px; color: var(--ink); background: white;
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "Noto Sans", "Noto Sans CJK SC", sans-serif; }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 12px; } h2 { font-size: 21px; margin: 44px 0 8px; }
p { max-width: 72ch; } a { color: var(--accent); } .stamp { color: var(--soft); font-size: 14px; }
.figure { margin: 8px 0 4px; } .tablewrap { overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; margin: 10px 0; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 5px 12px; border-bottom: 1px solid var(--line); white-space: nowrap; }
thead th { color: var(--soft); font-weight: 600; } th:first-child, td:first-child { text-align: left; }
td:last-child, .facts td, .facts th { white-space: normal; text-align: left; vertical-align: top; }
.facts th { color: var(--soft); font-weight: 600; }
ul.verdict { padding: 14px 18px 14px 34px; margin: 14px 0; border-left: 4px solid var(--accent);
  background: #f3f8fb; font-size: 17px; }
details { margin: 10px 0; color: var(--soft); }
pre { overflow-x: auto; font-size: 12.5px; white-space: pre-wrap; overflow-wrap: anywhere; }
.error { border-left: 4px solid #D55E00; padding-left: 14px; }
@media print { body { max-width: none; padding: 0; } .figure { break-inside: avoid; } }
"""

_SCRIPT = """
(async () => {
  const packed = Uint8Array.from(atob(document.getElementById('plotly').textContent), c => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  const code = document.createElement('script');
  code.textContent = await new Response(stream).text();
  document.head.appendChild(code);
  for (const element of document.querySelectorAll('.figure')) {
    const figure = JSON.parse(element.querySelector('script').textContent);
    await Plotly.newPlot(element.querySelector('div'), figure.data, figure.layout,
      {responsive: true, displayModeBar: false});
  }
  document.body.dataset.ready = 'yes';
})();
"""


def json_script(data: Any, *, id: str | None = None) -> str:
    """``data`` as a JSON script element that nothing inside it can close."""
    name = f' id="{id}"' if id else ""
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")  # neither </script> nor <!--<script>
    return f'<script type="application/json"{name}>{text}</script>'


def figure_html(figure: dict[str, Any]) -> str:
    """A place for a plotly figure given as its JSON form (``data``, ``layout``)."""
    return f'<div class="figure"><div></div>{json_script(figure)}</div>'


def page_html(body: str, *, title: str, summary: dict[str, Any] | None = None, figures: bool = True) -> str:
    """A whole page around ``body``, which is HTML already."""
    library = (
        f'<script type="text/plain" id="plotly">{_plotly_packed()}</script><script>{_SCRIPT}</script>'
        if figures
        else ""
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><style>{_CSS}</style></head><body>{body}'
        f"{json_script(summary, id='labkit-summary') if summary else ''}{library}</body></html>"
    )


@cache
def _plotly_packed() -> str:
    code = resources.files("plotly").joinpath("package_data/plotly.min.js").read_bytes()
    return base64.b64encode(gzip.compress(code, 9, mtime=0)).decode()
