"""The marks that figures share: panels by load, dots with intervals, bands, the "no gain" shade."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from labkit.view import findings
from labkit.view.style import BASELINE, NO_GAIN, colours, plain

__all__ = ["dots", "legend_once", "panelled", "shade_no_gain", "table_colours"]


def panelled(table: pd.DataFrame) -> tuple[go.Figure, list[tuple[dict[str, int], pd.DataFrame]], dict[str, str]]:
    """A figure with a column per (temperature, concurrency) of ``table``, in order; where each column is and
    the rows it shows; a colour per drafter."""
    groups = sorted(table.groupby(["temperature", "concurrency"]), key=lambda group: group[0]) or [((0.0, 1), table)]
    names = [findings.where_text(*key) for key, _ in groups]
    figure = make_subplots(cols=len(groups), shared_yaxes=True, subplot_titles=names, horizontal_spacing=0.04)
    return figure, [({"row": 1, "col": i}, rows) for i, (_, rows) in enumerate(groups, start=1)], table_colours(table)


def table_colours(table: pd.DataFrame) -> dict[str, str]:
    return colours(table.attrs.get("drafters") or zip(table["drafter"], table["method"], strict=True))


def legend_once(figure: go.Figure) -> go.Figure:
    """Name each mark in the legend at its first trace: a drafter may be missing from the first panel."""
    seen: set[str] = set()
    for trace in figure.data:
        if trace.showlegend is None:  # a band says that it has none
            trace.showlegend = trace.name not in seen
        seen.add(trace.name)
    return figure


def dots(own: pd.DataFrame, x: object, column: str, name: str, colour: str, unit: str) -> go.Scatter:
    """Measured: filled dots with their intervals."""
    bars = {"array": own["high"] - own[column], "arrayminus": own[column] - own["low"]}
    name = plain(name)
    return go.Scatter(
        x=x,
        y=own[column],
        mode="markers",
        name=name,
        legendgroup=name,
        marker={"size": 9, "color": colour},
        error_y={"type": "data", **bars, "thickness": 1.5, "width": 4},
        customdata=own[["low", "high"]],
        hovertemplate=f"%{{y:.3f}}{unit} [%{{customdata[0]:.3f}}, %{{customdata[1]:.3f}}]<extra>{name}</extra>",
    )


def shade_no_gain(figure: go.Figure, table: pd.DataFrame, place: dict[str, int]) -> None:
    lowest = table[["low", "speedup"]].min().min()
    bottom = 0.9 if pd.isna(lowest) else min(0.9, float(lowest) - 0.05)
    figure.add_hrect(y0=bottom, y1=1, fillcolor=NO_GAIN, line_width=0, layer="below", **place)
    figure.add_hline(y=1, line={"color": BASELINE, "width": 1.5}, **place)
