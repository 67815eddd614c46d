"""Tables drawn. A function takes a table of ``tables`` and a note for under the title; it computes no
statistics."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from labkit.view import findings
from labkit.view.style import BASELINE, NO_GAIN, colours, titled

__all__ = ["speedup_by_k", "acceptance_by_position", "speedup_by_category", "step_timeline"]


def speedup_by_k(table: pd.DataFrame, note: str = "") -> go.Figure:
    """Measured speedup over K, a dot with its interval per drafter, one panel per temperature and
    concurrency. ``table``: :func:`labkit.view.tables.speedups`."""
    panels = _panels(table)
    figure = make_subplots(
        cols=len(panels), shared_yaxes=True, subplot_titles=[_panel_name(p) for p in panels], horizontal_spacing=0.04
    )
    colour = colours(zip(table["drafter"], table["method"], strict=True))
    for column, panel in enumerate(panels, start=1):
        rows = _rows(table, panel)
        for number, (drafter, own) in enumerate(rows.groupby("drafter")):
            figure.add_trace(
                _dots(own, own["k"] + 0.08 * number, "speedup", drafter, colour[drafter], column == 1, "×"),
                row=1,
                col=column,
            )
        figure.update_xaxes(
            title_text="K (num_speculative_tokens)",
            tickmode="array",
            tickvals=sorted(table["k"].unique()),
            row=1,
            col=column,
        )
        _shade_no_gain(figure, table, column)
    figure.update_yaxes(title_text="speedup over no speculation (×)", row=1, col=1)
    return titled(figure, findings.speedup_title(table), note)


def acceptance_by_position(table: pd.DataFrame, note: str = "") -> go.Figure:
    """Joint (dots with intervals) and conditional (small open marks) acceptance by draft position, one panel per
    temperature and concurrency, each drafter at its largest K. ``table``: :func:`labkit.view.tables.positions`."""
    largest = table[table["k"] == table.groupby("drafter")["k"].transform("max")] if not table.empty else table
    panels = _panels(largest)
    figure = make_subplots(
        cols=max(len(panels), 1),
        shared_yaxes=True,
        subplot_titles=[_panel_name(p) for p in panels],
        horizontal_spacing=0.04,
    )
    colour = colours(zip(table["drafter"], table["method"], strict=True))
    for column, panel in enumerate(panels, start=1):
        for number, (drafter, own) in enumerate(_rows(largest, panel).groupby("drafter")):
            x = own["position"] + 0.06 * number
            figure.add_trace(
                _dots(own, x, "joint", f"{drafter}, at least this many", colour[drafter], column == 1, ""),
                row=1,
                col=column,
            )
            figure.add_trace(
                go.Scatter(
                    x=x,
                    y=own["conditional"],
                    mode="markers",
                    name=f"{drafter}, given the one before",
                    legendgroup=f"{drafter}c",
                    showlegend=column == 1,
                    marker={"symbol": "diamond-open", "size": 8, "color": colour[drafter]},
                    hovertemplate="position %{x:.0f}: %{y:.3f}<extra>conditional</extra>",
                ),
                row=1,
                col=column,
            )
        figure.update_xaxes(title_text="draft position", dtick=1, row=1, col=column)
    figure.update_yaxes(title_text="share of drafted steps accepted", range=[-0.02, 1.02], row=1, col=1)
    return titled(figure, findings.acceptance_title(largest), note)


def speedup_by_category(table: pd.DataFrame, note: str = "") -> go.Figure:
    """Measured speedup per prompt category, each drafter at each K, one panel per temperature and
    concurrency. ``table``: :func:`labkit.view.tables.speedups` with ``by="category"``."""
    panels = _panels(table)
    figure = make_subplots(
        cols=len(panels), shared_yaxes=True, subplot_titles=[_panel_name(p) for p in panels], horizontal_spacing=0.04
    )
    colour, order = colours(zip(table["drafter"], table["method"], strict=True)), sorted(table["category"].unique())
    symbols = dict(
        zip(sorted(table["k"].unique()), ["circle", "square", "triangle-up", "diamond", "star"], strict=False)
    )
    for column, panel in enumerate(panels, start=1):
        arms = list(_rows(table, panel).groupby(["drafter", "k"]))
        for number, ((drafter, k), own) in enumerate(arms):
            x = [order.index(c) + 0.7 * ((number + 0.5) / len(arms) - 0.5) for c in own["category"]]
            trace = _dots(own, x, "speedup", f"{drafter} K={k}", colour[drafter], column == 1, "×")
            figure.add_trace(trace.update(marker_symbol=symbols.get(k, "circle")), row=1, col=column)
        figure.update_xaxes(tickmode="array", tickvals=list(range(len(order))), ticktext=order, row=1, col=column)
        _shade_no_gain(figure, table, column)
    figure.update_yaxes(title_text="speedup over no speculation (×)", row=1, col=1)
    return titled(figure, findings.category_title(table), note, height=460)


def step_timeline(table: pd.DataFrame, note: str = "", *, tokens: int = 5) -> go.Figure:
    """The article's picture with own numbers: how long ``tokens`` output tokens take, step by step, without
    speculation and with each drafter at the K with its shortest time per token. ``table``:
    :func:`labkit.view.tables.steps`, of one temperature and concurrency."""
    known = table.dropna(subset=["step_ms", "tokens_per_step"])
    lanes = known.loc[known.groupby("drafter")["tpot_ms"].idxmin()].sort_values("k")
    colour, figure = colours(zip(table["drafter"], table["method"], strict=True)), go.Figure()
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


def _dots(own: pd.DataFrame, x: object, column: str, name: str, colour: str, legend: bool, unit: str) -> go.Scatter:
    """Measured: filled dots with their intervals."""
    return go.Scatter(
        x=x,
        y=own[column],
        mode="markers",
        name=name,
        legendgroup=name,
        showlegend=legend,
        marker={"size": 9, "color": colour},
        error_y={
            "type": "data",
            "array": own["high"] - own[column],
            "arrayminus": own[column] - own["low"],
            "thickness": 1.5,
            "width": 4,
        },
        customdata=own[["low", "high"]],
        hovertemplate=f"%{{y:.3f}}{unit} [%{{customdata[0]:.3f}}, %{{customdata[1]:.3f}}]<extra>{name}</extra>",
    )


def _shade_no_gain(figure: go.Figure, table: pd.DataFrame, column: int) -> None:
    bottom = min(0.9, float(table[["low", "speedup"]].min().min()) - 0.05) if not table.empty else 0.9
    figure.add_hrect(y0=bottom, y1=1, fillcolor=NO_GAIN, line_width=0, layer="below", row=1, col=column)
    figure.add_hline(y=1, line={"color": BASELINE, "width": 1.5}, row=1, col=column)


def _panels(table: pd.DataFrame) -> list[tuple[float, int]]:
    return [tuple(row) for row in table[["temperature", "concurrency"]].drop_duplicates().itertuples(index=False)] or [
        (0.0, 1)
    ]


def _panel_name(panel: tuple[float, int]) -> str:
    return f"T = {panel[0]:g}, {panel[1]} user{'s' if panel[1] > 1 else ''}"


def _rows(table: pd.DataFrame, panel: tuple[float, int]) -> pd.DataFrame:
    return table[(table["temperature"] == panel[0]) & (table["concurrency"] == panel[1])]
