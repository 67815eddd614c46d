"""How a drafter learns: loss and held-out acceptance over the tokens it has seen, drawn while it trains."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from labkit.view.style import BASELINE, PLOTLY_MIME, titled

__all__ = ["LiveCurve", "learning_curve", "learning_table"]

_DEPTH_COLOURS = ("#0072B2", "#009E73", "#E69F00", "#CC79A7", "#56B4E9")


def learning_table(history: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """One row per held-out look: tokens_seen (answer tokens, repeats counted), loss (mean since the row
    before), ``depth_1`` … (share accepted given the depths before), mean_acceptance_length (at the largest K)."""
    rows = []
    for row in history:
        if (found := row.get("held_out")) and found["tokens"]:
            depths = {f"depth_{d}": rate for d, rate in enumerate(found["conditional"], start=1)}
            lengths = found["mean_acceptance_length"]
            rows.append(
                {"tokens_seen": row["tokens_seen"], "loss": row["mean_loss"], **depths,
                 "mean_acceptance_length": lengths[max(lengths)]}
            )  # fmt: skip
    return pd.DataFrame(rows)


def learning_curve(table: pd.DataFrame, note: str = "") -> go.Figure:
    """Loss on the left, agreement by depth on the right. ``table``: :func:`learning_table`."""
    figure = make_subplots(cols=2, subplot_titles=["training loss", "held-out prompts"], horizontal_spacing=0.1)
    x = table["tokens_seen"] if len(table) else []
    line = {"mode": "lines+markers", "x": x}
    figure.add_trace(
        go.Scatter(y=table.get("loss", []), name="loss", line_color=BASELINE, showlegend=False, **line), row=1, col=1
    )
    depths = [name for name in table if name.startswith("depth_")]
    for depth, colour in zip(depths, _DEPTH_COLOURS, strict=False):
        name = f"draft token {depth.removeprefix('depth_')}"
        figure.add_trace(go.Scatter(y=table[depth], name=name, line_color=colour, **line), row=1, col=2)
    figure.update_xaxes(title_text="answer tokens seen", rangemode="tozero")
    figure.update_yaxes(title_text="cross entropy (nats)", row=1, col=1)
    figure.update_yaxes(title_text="right, given those before", range=[0, 1], row=1, col=2)
    return titled(figure, _title(table), note)


def _title(table: pd.DataFrame) -> str:
    if not len(table):
        return "Nothing learnt yet"
    last = table.iloc[-1]["mean_acceptance_length"]
    if len(table) == 1:
        return f"After the first look a step would yield {last:.2f} tokens"
    return f"From {table.iloc[0]['mean_acceptance_length']:.2f} to {last:.2f} tokens per step on held-out prompts"


class LiveCurve:
    """Draws the learning curve in a notebook and redraws it at every held-out look: hand it to
    ``labkit.training.train(seen=…)``."""

    def __init__(self, note: str = "") -> None:
        self._note, self._history, self._shown = note, [], None

    def __call__(self, row: dict[str, Any]) -> None:
        from IPython.display import display

        self._history.append(row)
        if "held_out" not in row:
            return
        figure = learning_curve(learning_table(self._history), self._note)
        # as a bundle: a plotly figure displays itself, each time anew
        bundle = {PLOTLY_MIME: json.loads(figure.to_json()), "text/plain": figure.layout.title.text}
        if self._shown is None:
            self._shown = display(bundle, raw=True, display_id=True)
        else:
            self._shown.update(bundle, raw=True)
