"""The HTML of a static board: its controls, the places of card and charts, and the packed grid. The page's script
(``static_board.js``) wires them; without it the first card is readable."""

from __future__ import annotations

from html import escape
from typing import Any

from labkit.view.packed import unpack
from labkit.view.page import json_script

__all__ = ["board_html"]


def board_html(data: dict[str, Any]) -> str:
    """``data``: what :meth:`labkit.view.static_board.StaticBoard.data` gives."""
    controls = "".join(_control(axis, at) for axis, at in zip(data["axes"], data["start"], strict=True))
    notes = "".join(f"<li>{escape(note)}</li>" for note in data["notes"])
    card, charts = _start(data)
    grid = json_script({"controls": _controls(data), "packed": data["packed"]})
    return (
        f'<section class="board"><div class="controls">{controls}</div><div class="card" aria-live="polite">'
        f'{card}</div><div class="charts">{"<div></div>" * charts}</div><ul class="notes">{notes}</ul>{grid}</section>'
    )


def _control(axis: dict[str, Any], at: int) -> str:
    """A drop-down of names, a slider of numbers: both hold the place of their value."""
    last = len(axis["values"]) - 1
    off = "" if last else " disabled"
    label = escape(axis["label"])
    if isinstance(axis["values"][0], str):
        options = "".join(
            f'<option value="{i}"{" selected" if i == at else ""}>{escape(text)}</option>'
            for i, text in enumerate(axis["texts"])
        )
        return f"<label><span>{label}</span><select{off}>{options}</select></label>"
    return (
        f'<label><span>{label}</span><input type="range" min="0" max="{last}" step="1" value="{at}"{off}>'
        f"<output>{escape(axis['texts'][at])}</output></label>"
    )


def _controls(data: dict[str, Any]) -> list[tuple[str, list[Any], list[str]]]:
    """Each control's name in a link, its values there, and how they read."""
    return [(axis["name"], axis["values"], axis["texts"]) for axis in data["axes"]]


def _start(data: dict[str, Any]) -> tuple[str, int]:
    """The first card, and how many charts there will be."""
    trees, roots = unpack(data["packed"])
    place = 0
    for axis, at in zip(data["axes"], data["start"], strict=True):
        place = place * len(axis["values"]) + at
    charts, card = roots[place]
    return "".join(trees[part] for part in card), len(charts)
