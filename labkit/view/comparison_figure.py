"""What changed between two runs, drawn: a dot with its interval for each cell, one panel a kind of figure."""

from __future__ import annotations

from math import isnan

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from labkit.view import findings
from labkit.view.comparison import headline
from labkit.view.marks import legend_once, table_colours
from labkit.view.style import BASELINE, NO_GAIN, titled

__all__ = ["change_by_cell"]

#: Figure, its title, axis, factor from table to axis, and the side on which it is worse.
_PANELS = (
    ("tpot", "time per token", "change (%)", 100, +1),
    ("relative_tpot", "against other drafters", "change (%)", 100, +1),
    ("speedup", "speedup", "change (%)", 100, -1),
    ("acceptance_length", "acceptance length", "change (tokens)", 1, -1),
    ("joint_rate", "joint rate by position", "change (points)", 100, -1),
)


def change_by_cell(table: pd.DataFrame, note: str = "") -> go.Figure:
    """Change of each cell from the run before to the run after; the shaded side is worse. Of joint rates, a dot for
    each draft position, the first on top. A panel for each kind of figure that the table has.
    ``table``: :func:`labkit.view.tables.changes`."""
    names = _names(table)
    rows = {name: number for number, name in enumerate(dict.fromkeys(names))}
    colour = table_colours(table) | {"baseline": BASELINE}
    panels = [panel for panel in _PANELS if panel[0] in set(table["figure"])]
    figure = make_subplots(
        cols=len(panels), shared_yaxes=True, subplot_titles=[panel[1] for panel in panels], horizontal_spacing=0.03
    )
    for column, (kind, _, axis, factor, worse) in enumerate(panels, start=1):
        own, place = table[table["figure"] == kind].dropna(subset=["change"]), {"row": 1, "col": column}
        for drafter, some in own.groupby("drafter"):
            heights = [rows[names[i]] + _offset(p) for i, p in zip(some.index, some["position"], strict=True)]
            figure.add_trace(_dots(some, heights, factor, axis, str(drafter), colour[str(drafter)]), **place)
        reach = 1.1 * factor * max([0.01, *own[["low", "high", "change"]].abs().max().dropna()])
        figure.add_vrect(x0=0, x1=worse * reach, fillcolor=NO_GAIN, line_width=0, layer="below", **place)
        figure.add_vline(x=0, line={"color": BASELINE, "width": 1.5}, **place)
        figure.update_xaxes(title_text=axis, range=[-reach, reach], nticks=4, **place)
        figure.update_yaxes(tickvals=list(rows.values()), ticktext=list(rows), range=[len(rows) - 0.4, -0.6], **place)
    figure = titled(legend_once(figure), headline(table.attrs["comparison"]), note, height=240 + 44 * len(rows))
    return figure.update_layout(margin_b=110)


def _names(table: pd.DataFrame) -> list[str]:
    """A name for the cell of each row; the load is in it where there are several."""
    several = len(table[["temperature", "concurrency"]].drop_duplicates()) > 1
    return [
        (findings.arm_text(row) if row["k"] else "baseline")
        + (f"<br>{findings.where_text(row['temperature'], row['concurrency'])}" if several else "")
        for _, row in table.iterrows()
    ]


def _offset(position: float | None) -> float:
    return 0.0 if position is None or isnan(position) else 0.14 * (position - 2)


def _dots(own: pd.DataFrame, heights: list[float], factor: float, axis: str, name: str, colour: str) -> go.Scatter:
    change, low, high = (factor * own[column] for column in ("change", "low", "high"))
    decided = [verdict in ("regression", "improvement") for verdict in own["verdict"]]
    return go.Scatter(
        x=change,
        y=heights,
        mode="markers",
        name=name,
        legendgroup=name,
        marker={"size": [11 if sure else 8 for sure in decided], "color": colour},
        error_x={"type": "data", "array": high - change, "arrayminus": change - low, "thickness": 1.5, "width": 4},
        text=own["verdict"],
        customdata=pd.DataFrame({"low": low, "high": high, "p": own["p"]}),
        hovertemplate=f"%{{x:+.2f}} [%{{customdata[0]:+.2f}}, %{{customdata[1]:+.2f}}] {axis.split()[1]}"
        f", %{{text}} (p = %{{customdata[2]:.2g}})<extra>{name}</extra>",
    )
