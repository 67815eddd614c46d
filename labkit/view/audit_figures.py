"""What the tests of audits found, drawn: each test's ratio to what is right, with its interval."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from labkit.view import findings
from labkit.view.marks import legend_once
from labkit.view.style import BASELINE, colours, titled

__all__ = ["audit_ratios"]


def audit_ratios(table: pd.DataFrame, note: str = "") -> go.Figure:
    """Effective temperature over T (of acceptance: accepted over expected drafts) by test, a dot with its interval per
    drafter, a panel per temperature; a tick marks the smallest ratio that would have been found. ``table``: rows of
    :func:`labkit.view.tables.audit_tests`."""
    drawn = table.dropna(subset=["ratio"])
    drawn = drawn[drawn["test"] != "outside"]
    panels = sorted(drawn.groupby("temperature"), key=lambda group: group[0])
    names = list(dict.fromkeys(drawn["test"]))
    colour = colours(table.attrs.get("drafters") or ((name, None) for name in drawn["drafter"]))
    titles = [f"T = {temperature:g}" for temperature, _ in panels]
    figure = make_subplots(cols=max(1, len(panels)), shared_yaxes=True, subplot_titles=titles, horizontal_spacing=0.04)
    for column, (_, rows) in enumerate(panels, start=1):
        groups = list(rows.groupby("drafter"))
        for number, (drafter, own) in enumerate(groups):
            y = [names.index(test) + 0.6 * ((number + 0.5) / len(groups) - 0.5) for test in own["test"]]
            figure.add_trace(_dots(own, y, str(drafter), colour[str(drafter)]), row=1, col=column)
            figure.add_trace(_ticks(own, y, str(drafter), colour[str(drafter)]), row=1, col=column)
        figure.add_vline(x=1, line={"color": BASELINE, "width": 1.5}, row=1, col=column)
        figure.update_xaxes(title_text="found / right", row=1, col=column)
    figure.update_yaxes(tickmode="array", tickvals=list(range(len(names))), ticktext=names, autorange="reversed")
    return titled(legend_once(figure), findings.audit_title(table), note, height=200 + 28 * len(names))


def _dots(own: pd.DataFrame, y: list[float], name: str, colour: str) -> go.Scatter:
    bars = {"array": own["high"] - own["ratio"], "arrayminus": own["ratio"] - own["low"]}
    hover = "%{text}: %{x:.3f}, %{customdata[0]} tokens, p = %{customdata[1]:.2g}"
    return go.Scatter(
        x=own["ratio"], y=y, mode="markers", name=name, legendgroup=name, marker={"size": 8, "color": colour},
        error_x={"type": "data", **bars, "thickness": 1.5, "width": 3}, text=own["test"],
        customdata=own[["tokens", "p"]], hovertemplate=f"{hover}<extra>{name}</extra>",
    )  # fmt: skip


def _ticks(own: pd.DataFrame, y: list[float], name: str, colour: str) -> go.Scatter:
    return go.Scatter(
        x=own["visible"], y=y, mode="markers", name=f"{name}, would have been found", legendgroup=name,
        marker={"symbol": "line-ns-open", "size": 10, "color": colour},
        hovertemplate="%{x:.3f}<extra>would have been found</extra>",
    )  # fmt: skip
