"""Every K of every drafter: measured dots, replayed lines, predicted bands."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go
from plotly.colors import hex_to_rgb
from plotly.subplots import make_subplots

from labkit.view import findings
from labkit.view.marks import dots, legend_once, shade_no_gain, table_colours
from labkit.view.style import plain, titled

__all__ = ["ARTICLE_KS", "every_k"]

#: The rule of thumb of the article that labkit starts from: "K = 4 to 6".
ARTICLE_KS = (4, 6)


def every_k(table: pd.DataFrame, note: str = "") -> go.Figure:
    """Tokens per step (above) and speedup (below) over K, a column per load: measured dots, replayed solid lines,
    predictions dashed in their band, and where the rule "K = 4 to 6" lies. ``table``:
    :func:`labkit.view.tables.outlook`."""
    loads = sorted(table.groupby(["temperature", "concurrency"]), key=lambda group: group[0])
    titles = [findings.where_text(*load) for load, _ in loads]
    figure = make_subplots(
        rows=2, cols=max(1, len(loads)), shared_xaxes=True, shared_yaxes="rows", subplot_titles=titles,
        horizontal_spacing=0.04, vertical_spacing=0.06,
    )  # fmt: skip
    colour = table_colours(table)
    for column, (_, rows) in enumerate(loads, start=1):
        for drafter, own in rows.groupby("drafter"):
            _drafter(figure, own, str(drafter), colour[str(drafter)], column)
        shade_no_gain(figure, table, {"row": 2, "col": column})
        for row in (1, 2):
            figure.add_vrect(*_rule(), fillcolor="#F3F1E7", line_width=0, layer="below", row=row, col=column)
        figure.update_xaxes(title_text="K (num_speculative_tokens)", dtick=1, row=2, col=column)
    figure.update_yaxes(title_text="tokens per step", row=1, col=1)
    figure.update_yaxes(title_text="speedup (×)", row=2, col=1)
    return titled(legend_once(figure), findings.every_k_title(table, ARTICLE_KS), note, height=600)


def _rule() -> tuple[float, float]:
    return ARTICLE_KS[0] - 0.5, ARTICLE_KS[1] + 0.5


def _drafter(figure: go.Figure, own: pd.DataFrame, name: str, colour: str, column: int) -> None:
    measured, predicted = (own[own["kind"] == kind].sort_values("k") for kind in ("measured", "predicted"))
    if len(predicted):
        line = {"x": predicted["k"], "mode": "lines", "legendgroup": name}
        how = "replayed" if (predicted["source"] != "cut").any() else "from its largest K"
        figure.add_trace(
            go.Scatter(y=predicted["tokens_per_step"], name=plain(f"{name}, {how}"), line={"color": colour}, **line),
            row=1,
            col=column,
        )
        figure.add_trace(_band(predicted, colour), row=2, col=column)
        figure.add_trace(
            go.Scatter(
                y=predicted["speedup"], name=plain(f"{name}, predicted"), line={"color": colour, "dash": "dash"}, **line
            ),
            row=2, col=column,
        )  # fmt: skip
    if len(measured):
        figure.add_trace(_points(measured, name, colour), row=1, col=column)
        figure.add_trace(dots(measured, measured["k"], "speedup", f"{name}, measured", colour, "×"), row=2, col=column)


def _points(measured: pd.DataFrame, name: str, colour: str) -> go.Scatter:
    return go.Scatter(
        x=measured["k"], y=measured["tokens_per_step"], mode="markers", name=plain(f"{name}, measured"),
        legendgroup=name,
        marker={"size": 9, "color": colour}, hovertemplate="K = %{x}: %{y:.2f} tokens per step<extra></extra>",
    )  # fmt: skip


def _band(predicted: pd.DataFrame, colour: str) -> go.Scatter:
    red, green, blue = hex_to_rgb(colour)
    return go.Scatter(
        x=[*predicted["k"], *predicted["k"][::-1]], y=[*predicted["high"], *predicted["low"][::-1]], fill="toself",
        fillcolor=f"rgba({red}, {green}, {blue}, 0.12)", line={"width": 0}, hoverinfo="skip", showlegend=False,
        name=f"band of {predicted['drafter'].iloc[0]}", mode="lines",
    )  # fmt: skip
