"""The picture language: one look for every figure.

Measured is a filled dot with its interval; replayed (exact) a solid line; predicted a dashed line in a
band.  The baseline is grey, each drafter keeps one colour, "no gain" (below 1×) is shaded.  Colours are
those of Okabe and Ito (2008), told apart with every common colour blindness.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import plotly.graph_objects as go

__all__ = ["BASELINE", "NO_GAIN", "PLOTLY_MIME", "TEMPLATE", "colours", "plain", "titled"]

PLOTLY_MIME = "application/vnd.plotly.v1+json"

BASELINE = "#767676"
NO_GAIN = "rgba(213, 94, 0, 0.07)"
_PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_BY_METHOD = {"ngram": 0, "draft_model": 1, "eagle3": 2, "suffix": 3, "eagle": 4, "mtp": 5}

TEMPLATE = go.layout.Template(
    layout={
        "font": {
            "family": "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'Noto Sans CJK SC', sans-serif",
            "size": 13,
            "color": "#1D1D1F",
        },
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "margin": {"l": 64, "r": 24, "t": 92, "b": 92},
        "title": {
            "x": 0,
            "xref": "paper",
            "xanchor": "left",
            "yref": "container",
            "y": 1,
            "yanchor": "top",
            "pad": {"t": 14},
            "font": {"size": 17},
        },
        "xaxis": {
            "gridcolor": "#ECECEC",
            "zeroline": False,
            "linecolor": "#B0B0B0",
            "ticks": "outside",
            "tickcolor": "#B0B0B0",
        },
        "yaxis": {
            "automargin": True,
            "gridcolor": "#ECECEC",
            "zeroline": False,
            "linecolor": "#B0B0B0",
            "ticks": "outside",
            "tickcolor": "#B0B0B0",
        },
        "legend": {
            "orientation": "h",
            "yref": "container",
            "y": 0.01,
            "yanchor": "bottom",
            "x": 0,
            "title": {"text": ""},
        },
        "hoverlabel": {"font": {"size": 13}},
    }
)


def colours(drafters: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """A colour per drafter name from the (name, method) pairs of a run: the method's own for its first
    drafter, the next free one for the others."""
    chosen: dict[str, str] = {"baseline": BASELINE}
    pairs = sorted({(name, method or "") for name, method in drafters if name != "baseline"})
    for name, method in pairs:
        if method in _BY_METHOD and (own := _PALETTE[_BY_METHOD[method]]) not in chosen.values():
            chosen[name] = own
    for name, _ in pairs:
        free = [colour for colour in _PALETTE if colour not in chosen.values()] or _PALETTE
        chosen.setdefault(name, free[0])
    return chosen


def titled(figure: go.Figure, title: str, note: str, *, height: int = 420) -> go.Figure:
    """Give ``figure`` the template, what is seen as its title and n and workload under it."""
    text = f"{plain(title)}<br><span style='font-size:12px;color:#5A5A5A'>{plain(note)}</span>"
    return figure.update_layout(template=TEMPLATE, title={"text": text}, height=height)


def plain(text: str) -> str:
    """``text`` of others, a name above all, for a figure: plotly takes tags for markup and fills in ``%{…}``."""
    return escape(text, quote=False).replace("{", "&#123;")
