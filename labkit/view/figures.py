"""Tables drawn. A function takes a table of ``tables`` and a note for under the title; it computes no
statistics."""

from __future__ import annotations

from itertools import cycle

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from labkit.view import findings
from labkit.view.learning import LiveCurve, learning_curve
from labkit.view.style import BASELINE, NO_GAIN, colours, titled

_K_SYMBOLS = ("circle", "square", "triangle-up", "diamond", "star")

__all__ = [
    "LiveCurve", "acceptance_by_position", "learning_curve", "speedup_by_category", "speedup_by_k", "step_timeline",
]  # fmt: skip


def speedup_by_k(table: pd.DataFrame, note: str = "") -> go.Figure:
    """Measured speedup over K, a dot with its interval per drafter, one panel per temperature and
    concurrency. ``table``: :func:`labkit.view.tables.speedups`."""
    figure, panels, colour = _panelled(table)
    for place, rows in panels:
        for number, (drafter, own) in enumerate(rows.groupby("drafter")):
            figure.add_trace(_dots(own, own["k"] + 0.08 * number, "speedup", drafter, colour[drafter], "×"), **place)
        ticks = sorted(table["k"].unique())
        figure.update_xaxes(title_text="K (num_speculative_tokens)", tickmode="array", tickvals=ticks, **place)
        _shade_no_gain(figure, table, place)
    figure.update_yaxes(title_text="speedup over no speculation (×)", row=1, col=1)
    return titled(_legend_once(figure), findings.speedup_title(table), note)


def acceptance_by_position(table: pd.DataFrame, note: str = "") -> go.Figure:
    """Joint (dots with intervals) and conditional (open marks) acceptance by draft position, one panel per
    temperature and concurrency, each drafter at its largest K. ``table``:
    :func:`labkit.view.tables.positions`."""
    largest = table[table["k"] == table.groupby("drafter")["k"].transform("max")]
    figure, panels, colour = _panelled(largest)
    for place, rows in panels:
        for number, (drafter, own) in enumerate(rows.groupby("drafter")):
            x = own["position"] + 0.06 * number
            joint = _dots(own, x, "joint", f"{drafter}, at least this many", colour[drafter], "")
            figure.add_trace(joint, **place)
            figure.add_trace(_conditional(own, x, drafter, colour[drafter]), **place)
        figure.update_xaxes(title_text="draft position", dtick=1, **place)
    figure.update_yaxes(title_text="share of drafted steps accepted", range=[-0.02, 1.02], row=1, col=1)
    return titled(_legend_once(figure), findings.acceptance_title(largest), note)


def speedup_by_category(table: pd.DataFrame, note: str = "") -> go.Figure:
    """Measured speedup per prompt category, each drafter at each K, one panel per temperature and
    concurrency. ``table``: :func:`labkit.view.tables.speedups` with ``by="category"``."""
    figure, panels, colour = _panelled(table)
    order = sorted(table["category"].unique())
    symbol = dict(zip(sorted(table["k"].unique()), cycle(_K_SYMBOLS), strict=False))
    for place, rows in panels:
        arms = list(rows.groupby(["drafter", "k"]))
        for number, ((drafter, k), own) in enumerate(arms):
            x = [order.index(c) + 0.7 * ((number + 0.5) / len(arms) - 0.5) for c in own["category"]]
            trace = _dots(own, x, "speedup", f"{drafter} K={k}", colour[drafter], "×")
            figure.add_trace(trace.update(marker_symbol=symbol[k]), **place)
        figure.update_xaxes(tickmode="array", tickvals=list(range(len(order))), ticktext=order, **place)
        _shade_no_gain(figure, table, place)
    figure.update_yaxes(title_text="speedup over no speculation (×)", row=1, col=1)
    return titled(_legend_once(figure), findings.category_title(table), note, height=460)


def step_timeline(table: pd.DataFrame, note: str = "", *, tokens: int = 5) -> go.Figure:
    """The article's picture with own numbers: how long ``tokens`` output tokens take, step by step, without
    speculation and with each drafter at the K with its shortest time per token. ``table``:
    :func:`labkit.view.tables.steps`, of one temperature and concurrency."""
    known = table.dropna(subset=["step_ms", "tokens_per_step"])
    lanes = known.loc[known.groupby("drafter")["tpot_ms"].idxmin()].sort_values("k")
    colour, figure = _colours(table), go.Figure()
    for _, lane in lanes.iterrows():
        name = "no speculation" if lane["k"] == 0 else f"{lane['drafter']} K={lane['k']}"
        steps = tokens / lane["tokens_per_step"]
        whole = [1.0] * int(steps) + ([steps % 1] if steps % 1 > 1e-9 else [])
        for i, share in enumerate(whole):
            figure.add_trace(
                go.Bar(
                    y=[name],
                    x=[lane["step_ms"] * share],
                    base=[lane["step_ms"] * i],
                    orientation="h",
                    showlegend=False,
                    marker={"color": colour[lane["drafter"]], "line": {"color": "white", "width": 2}},
                    text=[f"{lane['tokens_per_step'] * share:.2g}"],
                    textposition="inside",
                    insidetextanchor="middle",
                    hovertemplate=f"step {i + 1}: {lane['step_ms']:.1f} ms, {lane['tokens_per_step']:.2f} tokens"
                    f"<extra>{name}</extra>",
                )
            )
        figure.add_annotation(
            y=name,
            x=lane["tpot_ms"] * tokens,
            text=f"{lane['tpot_ms'] * tokens:.0f} ms",
            showarrow=False,
            xanchor="left",
            xshift=6,
        )
    figure.update_xaxes(
        title_text=f"time for {tokens} output tokens (ms); a block is a step, with the tokens it yields on average"
    )
    return titled(figure, findings.timeline_title(table), note, height=170 + 56 * len(lanes)).update_layout(
        barmode="stack", margin_b=56, yaxis_autorange="reversed"
    )


def _panelled(table: pd.DataFrame) -> tuple[go.Figure, list[tuple[dict[str, int], pd.DataFrame]], dict[str, str]]:
    """A figure with a column per (temperature, concurrency) of ``table``, in order; where each column is and
    the rows it shows; a colour per drafter."""
    groups = sorted(table.groupby(["temperature", "concurrency"]), key=lambda group: group[0]) or [((0.0, 1), table)]
    names = [findings.where_text(*key) for key, _ in groups]
    figure = make_subplots(cols=len(groups), shared_yaxes=True, subplot_titles=names, horizontal_spacing=0.04)
    return figure, [({"row": 1, "col": i}, rows) for i, (_, rows) in enumerate(groups, start=1)], _colours(table)


def _colours(table: pd.DataFrame) -> dict[str, str]:
    return colours(table.attrs.get("drafters") or zip(table["drafter"], table["method"], strict=True))


def _legend_once(figure: go.Figure) -> go.Figure:
    """Name each mark in the legend at its first trace: a drafter may be missing from the first panel."""
    seen: set[str] = set()
    for trace in figure.data:
        trace.showlegend = trace.name not in seen
        seen.add(trace.name)
    return figure


def _dots(own: pd.DataFrame, x: object, column: str, name: str, colour: str, unit: str) -> go.Scatter:
    """Measured: filled dots with their intervals."""
    bars = {"array": own["high"] - own[column], "arrayminus": own[column] - own["low"]}
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


def _conditional(own: pd.DataFrame, x: object, drafter: str, colour: str) -> go.Scatter:
    return go.Scatter(
        x=x,
        y=own["conditional"],
        mode="markers",
        name=f"{drafter}, given the one before",
        legendgroup=f"{drafter}, conditional",
        marker={"symbol": "diamond-open", "size": 8, "color": colour},
        hovertemplate="position %{x:.0f}: %{y:.3f}<extra>conditional</extra>",
    )


def _shade_no_gain(figure: go.Figure, table: pd.DataFrame, place: dict[str, int]) -> None:
    lowest = table[["low", "speedup"]].min().min()
    bottom = 0.9 if pd.isna(lowest) else min(0.9, float(lowest) - 0.05)
    figure.add_hrect(y0=bottom, y1=1, fillcolor=NO_GAIN, line_width=0, layer="below", **place)
    figure.add_hline(y=1, line={"color": BASELINE, "width": 1.5}, **place)
