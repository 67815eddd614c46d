"""Tables drawn. A function takes a table of ``tables`` and a note for under the title; it computes no
statistics. ``board`` takes a run: it draws every table that its controls may ask for."""

from __future__ import annotations

from itertools import cycle

import pandas as pd
import plotly.graph_objects as go

from labkit.view import findings
from labkit.view.audit_figures import audit_ratios
from labkit.view.comparison_figure import change_by_cell
from labkit.view.learning import LiveCurve, learning_curve
from labkit.view.marks import dots, legend_once, panelled, shade_no_gain, table_colours
from labkit.view.outlook_figures import every_k
from labkit.view.static_board import board
from labkit.view.style import plain, titled

_K_SYMBOLS = ("circle", "square", "triangle-up", "diamond", "star")

__all__ = [
    "LiveCurve", "acceptance_by_position", "audit_ratios", "board", "change_by_cell", "every_k", "learning_curve",
    "speedup_by_category",
    "speedup_by_k", "step_timeline",
]  # fmt: skip


def speedup_by_k(table: pd.DataFrame, note: str = "") -> go.Figure:
    """Measured speedup over K, a dot with its interval per drafter, one panel per temperature and
    concurrency. ``table``: :func:`labkit.view.tables.speedups`."""
    figure, panels, colour = panelled(table)
    for place, rows in panels:
        for number, (drafter, own) in enumerate(rows.groupby("drafter")):
            figure.add_trace(dots(own, own["k"] + 0.08 * number, "speedup", drafter, colour[drafter], "×"), **place)
        ticks = sorted(table["k"].unique())
        figure.update_xaxes(title_text="K (num_speculative_tokens)", tickmode="array", tickvals=ticks, **place)
        shade_no_gain(figure, table, place)
    figure.update_yaxes(title_text="speedup over no speculation (×)", row=1, col=1)
    return titled(legend_once(figure), findings.speedup_title(table), note)


def acceptance_by_position(table: pd.DataFrame, note: str = "") -> go.Figure:
    """Joint (dots with intervals) and conditional (open marks) acceptance by draft position, one panel per
    temperature and concurrency, each drafter at its largest K. ``table``:
    :func:`labkit.view.tables.positions`."""
    largest = table[table["k"] == table.groupby("drafter")["k"].transform("max")]
    figure, panels, colour = panelled(largest)
    for place, rows in panels:
        for number, (drafter, own) in enumerate(rows.groupby("drafter")):
            x = own["position"] + 0.06 * number
            joint = dots(own, x, "joint", f"{drafter}, at least this many", colour[drafter], "")
            figure.add_trace(joint, **place)
            figure.add_trace(_conditional(own, x, drafter, colour[drafter]), **place)
        figure.update_xaxes(title_text="draft position", dtick=1, **place)
    figure.update_yaxes(title_text="share of drafted steps accepted", range=[-0.02, 1.02], row=1, col=1)
    return titled(legend_once(figure), findings.acceptance_title(largest), note)


def speedup_by_category(table: pd.DataFrame, note: str = "") -> go.Figure:
    """Measured speedup per prompt category, each drafter at each K, one panel per temperature and
    concurrency. ``table``: :func:`labkit.view.tables.speedups` with ``by="category"``."""
    figure, panels, colour = panelled(table)
    order = sorted(table["category"].unique())
    symbol = dict(zip(sorted(table["k"].unique()), cycle(_K_SYMBOLS), strict=False))
    for place, rows in panels:
        arms = list(rows.groupby(["drafter", "k"]))
        for number, ((drafter, k), own) in enumerate(arms):
            x = [order.index(c) + 0.7 * ((number + 0.5) / len(arms) - 0.5) for c in own["category"]]
            trace = dots(own, x, "speedup", f"{drafter} K={k}", colour[drafter], "×")
            figure.add_trace(trace.update(marker_symbol=symbol[k]), **place)
        figure.update_xaxes(
            tickmode="array", tickvals=list(range(len(order))), ticktext=list(map(plain, order)), **place
        )
        shade_no_gain(figure, table, place)
    figure.update_yaxes(title_text="speedup over no speculation (×)", row=1, col=1)
    return titled(legend_once(figure), findings.category_title(table), note, height=460)


def step_timeline(table: pd.DataFrame, note: str = "", *, tokens: int = 5) -> go.Figure:
    """The article's picture with own numbers: how long ``tokens`` output tokens take, step by step, without
    speculation and with each drafter at the K with its shortest time per token. ``table``:
    :func:`labkit.view.tables.steps`, of one temperature and concurrency."""
    known = table.dropna(subset=["step_ms", "tokens_per_step"])
    lanes = known.loc[known.groupby("drafter")["tpot_ms"].idxmin()].sort_values("k")
    colour, figure = table_colours(table), go.Figure()
    for _, lane in lanes.iterrows():
        name = "no speculation" if lane["k"] == 0 else plain(f"{lane['drafter']} K={lane['k']}")
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


def _conditional(own: pd.DataFrame, x: object, drafter: str, colour: str) -> go.Scatter:
    return go.Scatter(
        x=x,
        y=own["conditional"],
        mode="markers",
        name=plain(f"{drafter}, given the one before"),
        legendgroup=f"{drafter}, conditional",
        marker={"symbol": "diamond-open", "size": 8, "color": colour},
        hovertemplate="position %{x:.0f}: %{y:.3f}<extra>conditional</extra>",
    )
