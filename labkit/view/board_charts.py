"""The panel's charts as plain JSON: an answer in, titles, marks and plotly's data and layout out. Made anew at every
move of a slider, so no plotly object is built here; axes keep their range while K, drafter and load move. What moves
with every setting, title and mark, stands outside of plotly's drawing, which then need not be made anew.

Measured is a filled dot with its interval, replayed a solid line, predicted a dashed line in its band, interpolated a
dotted one; the baseline is grey; below 1× is shaded; a ring on a dotted line marks the chosen setting.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from math import isnan
from typing import Any

from plotly.colors import hex_to_rgb

from labkit.view.board_timeline import timeline
from labkit.view.frames import HERE, RANK, Row
from labkit.view.lab import Answer
from labkit.view.style import BASELINE, NO_GAIN, TEMPLATE, colours, plain
from labkit.view.words import word

__all__ = ["Chart", "charts", "whole"]

#: ``{"title": text, "mark": {"x", "y", "colour"} or None, "data": [...], "layout": {...}}``, or where plotly draws
#: nothing ``{"title": text, "html": HTML}``, escaped.
Chart = dict[str, Any]
Say = Callable[[str], str]

_FAINT = 0.25
_DASH = {"predicted": "dash", "interpolated": "dot"}


def charts(answer: Answer, language: str = "en", *, largest_k: int) -> list[Chart]:
    """Speedup over K, acceptance by position, tokens per step, the step timeline, and speedup over temperature."""

    def say(text: str) -> str:
        return word(text, language)

    colour = colours(answer.drafters)
    return [
        _over_k(answer, "speedup", say, colour, largest_k, unit="×"),
        _by_position(answer, say, colour[answer.selection.drafter], largest_k),
        _over_k(answer, "tokens_per_step", say, colour, largest_k, unit=""),
        timeline(answer, say, colour[answer.selection.drafter]),
        _over_temperature(answer, say, colour[answer.selection.drafter]),
    ]


def whole(chart: Chart) -> dict[str, Any]:
    """A chart that plotly draws, as a figure that says everything itself."""
    layout = chart["layout"] | {"title": {"text": plain(chart["title"]), "font": {"size": 15}}, "height": 320}
    layout["margin"] = layout["margin"] | {"t": 44}
    if mark := chart["mark"]:
        ring = [] if mark["y"] is None else [_ring(mark["x"], mark["y"], mark["colour"])]
        layout["shapes"] = [*layout.get("shapes", []), _line_at(mark["x"]), *ring]
    return {"data": chart["data"], "layout": layout}


def _over_k(answer: Answer, column: str, say: Say, colour: dict[str, str], largest_k: int, *, unit: str) -> Chart:
    chosen, data, named = answer.selection, [], set[str]()
    for (drafter, kind), rows in _grouped(answer.rows, "drafter", "kind"):
        faint = _FAINT if drafter != chosen.drafter else 1.0
        name = f"{plain(drafter)}, {say('replayed' if column != 'speedup' and kind == 'predicted' else kind)}"
        data += _one_entry(_marks(rows, "k", column, name, colour[drafter], faint, kind, unit), drafter, named)
    point = answer.chosen
    title = say("speedup" if column == "speedup" else "tokens per step")
    layout = _layout(say("K"), title) | {"shapes": _no_gain() if column == "speedup" else []}
    layout["xaxis"] |= {"range": [0.5, largest_k + 0.5], "dtick": 1}
    layout["yaxis"] |= {"range": _range(answer, column)}
    mark = {"x": chosen.k, "y": _known(point[column]) if point else None, "colour": colour[chosen.drafter]}
    return {"title": f"{title}: {_figure(point, column, unit)}", "mark": mark, "data": data, "layout": layout}


def _by_position(answer: Answer, say: Say, colour: str, largest_k: int) -> Chart:
    rows, data = answer.positions, []
    if rows:
        kind = rows[0]["kind"]
        dots = kind in ("measured", HERE)
        how = say(kind if dots else "replayed")
        joint = {"x": _list(rows, "position"), "y": _list(rows, "joint"), "name": f"{say('at least this many')}, {how}"}
        joint |= {"mode": "markers" if dots else "lines+markers", "marker": {"color": colour, "size": 9}}
        if dots:
            joint["error_y"] = _bars(rows, "joint")
        given = {"x": joint["x"], "y": _list(rows, "conditional"), "name": say("given those before"), "mode": "markers"}
        data = [joint, given | {"marker": {"color": colour, "size": 8, "symbol": "diamond-open"}}]
    first = f"{rows[0]['joint']:.0%}" if rows else "–"
    layout = _layout(say("draft position"), "")
    layout["xaxis"] |= {"range": [0.5, largest_k + 0.5], "dtick": 1}
    layout["yaxis"] |= {"range": [-0.03, 1.03], "tickformat": ".0%"}
    title = f"{say('acceptance')}: {first} {say('draft position').lower()} 1"
    return {"title": title, "mark": None, "data": data, "layout": layout}


def _over_temperature(answer: Answer, say: Say, colour: str) -> Chart:
    data, chosen = [], answer.selection
    for (kind,), rows in _grouped(answer.over_temperature, "kind"):
        data += _marks(rows, "temperature", "speedup", say(kind), colour, 1.0, kind, "×")
    best = {}  # the first of a temperature's rows is the best: rows are sorted by temperature, then by kind
    for row in sorted(answer.over_temperature, key=lambda row: (row["temperature"], RANK[row["kind"]])):
        best.setdefault(row["temperature"], row["speedup"])
    known = [speedup for speedup in best.values() if not isnan(speedup)]
    spread = f"{known[0]:.2f}× … {known[-1]:.2f}×" if len(known) > 1 else "–"
    layout = _layout(say("temperature"), say("speedup")) | {"shapes": _no_gain()}
    low, high = answer.ranges["temperature"]
    layout["xaxis"] |= {"range": [low - 0.05, high + 0.05]}
    layout["yaxis"] |= {"range": _range(answer, "speedup")}
    height = _known(answer.chosen["speedup"]) if answer.chosen else None
    mark = {"x": chosen.temperature, "y": height, "colour": colour}
    return {"title": f"{say('temperature')}: {spread}", "mark": mark, "data": data, "layout": layout}


def _marks(
    rows: list[Row], x: str, column: str, name: str, colour: str, opacity: float, kind: str, unit: str
) -> list[dict[str, Any]]:
    trace = {"x": _list(rows, x), "y": _list(rows, column), "name": name, "opacity": opacity}
    trace |= {"hovertemplate": f"%{{y:.2f}}{unit}<extra>{name}</extra>"}
    if kind in ("measured", HERE):
        bars = {"error_y": _bars(rows, column)} if column == "speedup" else {}
        look = {"size": 9} if kind == "measured" else {"size": 14, "symbol": "star"}
        return [trace | {"mode": "markers", "marker": {"color": colour} | look} | bars]
    dash = _DASH[kind] if column == "speedup" or kind == "interpolated" else "solid"
    line = trace | {"mode": "lines", "line": {"color": colour, "dash": dash, "width": 2}}
    if column != "speedup" or opacity < 1:
        return [line]
    red, green, blue = hex_to_rgb(colour)
    along = _list(rows, x)
    band = {"x": [*along, *along[::-1]], "y": [*_list(rows, "high"), *_list(rows, "low")[::-1]]}
    look = {"fillcolor": f"rgba({red}, {green}, {blue}, 0.12)", "line": {"width": 0}, "mode": "lines"}
    return [{**band, **look, "fill": "toself", "hoverinfo": "skip", "showlegend": False}, line]


def _one_entry(traces: list[dict[str, Any]], drafter: str, named: set[str]) -> list[dict[str, Any]]:
    """``traces`` under the name of ``drafter``, which the legend shows once: what was ``named`` it leaves out."""
    for trace in traces:
        if trace.get("showlegend", True):
            trace |= {"name": plain(drafter), "legendgroup": plain(drafter), "showlegend": drafter not in named}
            named.add(drafter)
    return traces


def _ring(x: float, y: float, colour: str) -> dict[str, Any]:
    """Around the selected point."""
    size = {"xsizemode": "pixel", "x0": -8.5, "x1": 8.5, "ysizemode": "pixel", "y0": -8.5, "y1": 8.5}
    return {"type": "circle", "xanchor": x, "yanchor": y, **size, "line": {"color": colour, "width": 2.5}}


def _bars(rows: list[Row], column: str) -> dict[str, Any]:
    up, down = ([_known(abs(row[end] - row[column])) for row in rows] for end in ("high", "low"))
    return {"type": "data", "array": up, "arrayminus": down, "thickness": 1.5, "width": 4}


def _layout(x: str, y: str) -> dict[str, Any]:
    return {
        "height": 270, "margin": {"l": 60, "r": 16, "t": 10, "b": 84}, "xaxis": {"title": {"text": x}},
        "yaxis": {"title": {"text": y}, "automargin": False}, "template": _TEMPLATE, "legend": {"font": {"size": 11}},
    }  # fmt: skip


def _range(answer: Answer, column: str) -> list[float]:
    low, high = answer.ranges[column]
    return [min(0.9, low - 0.05), max(1.15, high * 1.04)] if low <= high else [0.9, 1.15]


def _line_at(x: float) -> dict[str, Any]:
    look = {"line": {"color": "#B0B0B0", "dash": "dot"}}
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper"} | look


def _no_gain() -> list[dict[str, Any]]:
    whole = {"xref": "paper", "x0": 0, "x1": 1, "layer": "below"}
    shade = {"type": "rect", "y0": 0, "y1": 1, "fillcolor": NO_GAIN, "line": {"width": 0}}
    return [shade | whole, {"type": "line", "y0": 1, "y1": 1, "line": {"color": BASELINE, "width": 1.5}} | whole]


def _figure(point: Row | None, column: str, unit: str) -> str:
    if not point or isnan(point[column]):
        return "–"
    if column != "speedup" or isnan(point["low"]):
        return f"{point[column]:.2f}{unit}"
    return f"{point[column]:.2f}{unit} [{point['low']:.2f}, {point['high']:.2f}]"


def _grouped(rows: list[Row], *names: str) -> list[tuple[tuple, list[Row]]]:
    """``rows`` by the values of ``names``, in order."""
    groups: dict[tuple, list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in names)].append(row)
    return sorted(groups.items())


def _list(rows: list[Row], name: str) -> list[Any]:
    return [_known(row[name]) for row in rows]


def _known(value: float) -> float | None:
    """None where unknown, which plotly leaves out."""
    return None if isnan(value) else value


_TEMPLATE = TEMPLATE.to_plotly_json()
