"""plotly.js as pages and panels carry it: that of the installed plotly, compressed once. ``library.js`` unpacks it."""

from __future__ import annotations

import gzip
from functools import cache

import plotly.offline

__all__ = ["plotly_gzip", "plotly_js"]


def plotly_js() -> str:
    """The code of plotly.js, the whole of it."""
    return plotly.offline.get_plotlyjs()


@cache
def plotly_gzip() -> bytes:
    return gzip.compress(plotly_js().encode(), mtime=0)
