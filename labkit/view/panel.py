"""The live panel: controls on a board of charts. Only widgets here; numbers come from :mod:`labkit.view.lab`.

One change is one redraw: controls write into one selection, and a burst of changes is answered once, with the last
value. What goes wrong is shown in the card and stays there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import plotly.graph_objects as go

from labkit.drafters.size import size_text
from labkit.preflight.looking import Look
from labkit.store import Run, open_run
from labkit.view.board import Board
from labkit.view.board_charts import whole
from labkit.view.board_state import board_state
from labkit.view.lab import Lab
from labkit.view.last_wins import LastWins
from labkit.view.launch_panel import LaunchPanel
from labkit.view.measuring import MeasureHere
from labkit.view.phrases import phrases
from labkit.view.selection import Selection
from labkit.view.static_board import StaticBoard
from labkit.view.words import LANGUAGES, word

__all__ = ["Panel", "panel"]

_WIDE = widgets.Layout(width="380px")
_STYLE = {"description_width": "110px"}


def panel(run: Run | Look | str | Path = "latest", *, language: str = "en") -> Panel | LaunchPanel:
    """The tuning panel of a run, of a run folder, or of what :func:`labkit.open_run` takes; of a launch that was
    looked at (:func:`labkit.preflight.look`) the panel in which to try another.

    Raises:
        LabError: no such run, or nothing in it that can be compared, or labkit does not speak ``language``.
    """
    phrases(language)
    if isinstance(run, Look):
        return LaunchPanel(run, language=language)
    return Panel(Lab(run if isinstance(run, Run) else open_run(run)), language=language)


class Panel:
    """Shows itself in a notebook; where a notebook runs headless (``LABKIT_HEADLESS``) the board whose controls need
    no kernel. ``still()`` shows the selection as figures that need no widget."""

    def __init__(self, lab: Lab, *, language: str = "en") -> None:
        self.lab, self.language = lab, language
        self.selection: Selection = lab.default()
        self.computed = 0
        self._soon = LastWins(self.redraw)
        self._controls = _controls(lab, self.selection, language)
        self._board = Board(self._state())
        self._measure = MeasureHere(lambda: (self.lab, self.selection), self._measured)
        for control in self._controls.values():
            control.observe(self._moved, "value")
        self._label()
        self.box = widgets.VBox([self._grid(), *_left_out(lab, self.selection), self._measure.box, self._board])

    def still(self) -> None:
        """Show card and charts of the current selection, as HTML and plotly figures."""
        from IPython.display import HTML, display

        state = self._state()
        display(HTML(state["card"]))
        for chart in state["charts"]:
            html = "html" in chart
            display(HTML(f"<h4>{escape(chart['title'])}</h4>{chart['html']}") if html else go.Figure(whole(chart)))

    def redraw(self) -> None:
        """Answer the current selection now; one message to the page."""
        self._board.state = self._state()

    def _repr_mimebundle_(self, include=None, exclude=None) -> Any:
        if os.environ.get("LABKIT_HEADLESS"):
            return StaticBoard(self.lab, self.selection, self.language)._repr_mimebundle_()
        return self.box._repr_mimebundle_(include=include, exclude=exclude)

    def _state(self) -> dict[str, Any]:
        self.computed += 1
        try:
            return board_state(self.lab, self.selection, self.language)
        except Exception as error:  # in a callback nobody would see it
            said = f"{type(error).__name__}: {error}"
            return {"charts": [], "card": f"<p class='labkit-missing'>{escape(said)}</p>"}

    def _moved(self, change: dict[str, Any]) -> None:
        """A control has a new value: redraw once no further change waits behind it."""
        values = {name: control.value for name, control in self._controls.items()}
        self.language = values.pop("words")
        self.selection = replace(self.selection, **values)
        if change["owner"] is self._controls["words"]:
            self._label()
        self._soon()

    def _measured(self, found: list, at: Selection) -> None:
        self.lab.add(found, at)
        self.redraw()

    def _label(self) -> None:
        for name, text in _LABELS.items():
            self._controls[name].description = word(text, self.language)
        self._measure.label(self.language)

    def _grid(self) -> widgets.HBox:
        c = self._controls
        left = [c["drafter"], c["k"], c["temperature"], c["interpolate"]]
        right = [c["concurrency"], c["category"], c["language"], c["confidence"], c["words"]]
        return widgets.HBox([widgets.VBox(left), widgets.VBox(right)], layout=widgets.Layout(flex_flow="row wrap"))


_LABELS = {
    "drafter": "drafter", "k": "K", "temperature": "temperature", "concurrency": "users", "category": "workload",
    "language": "language", "confidence": "confidence", "interpolate": "interpolate",
}  # fmt: skip


def _left_out(lab: Lab, at: Selection) -> list[widgets.Widget]:
    """Drafters of the plan that cannot be chosen, and why; what preflight has against one says more than its engine."""
    lines = [
        (name, "; ".join(lab.refused(replace(at, drafter=name))) or reason)
        for name, reason in lab.options.left_out.items()
    ]
    return [widgets.HTML(f"<small>{escape(name)}: {escape(reason)}</small>") for name, reason in lines]


def _controls(lab: Lab, at: Selection, language: str) -> dict[str, widgets.Widget]:
    o = lab.options
    models = {d.name: d.model for d in lab.plan.drafters}
    known = {name: [method, *size_text(models[name])] for name, method in o.methods.items()}
    refused = {
        name: [word("incompatible", language)] if lab.refused(replace(at, drafter=name)) else [] for name in known
    }
    drafters = [(f"{name} ({', '.join(known[name] + refused[name])})", name) for name in known]
    made: dict[str, Callable[..., widgets.Widget]] = {}
    look = {"layout": _WIDE, "style": _STYLE}
    made["drafter"] = widgets.Dropdown(options=drafters, value=at.drafter, **look)
    made["k"] = widgets.IntSlider(value=at.k, min=1, max=o.largest_k, **look)
    low, high = o.temperatures[0], o.temperatures[-1]
    made["temperature"] = widgets.FloatSlider(
        value=at.temperature, min=low, max=max(high, low + 0.05), step=0.05, disabled=low == high, **look
    )
    made["interpolate"] = widgets.Checkbox(value=False, disabled=len(o.temperatures) < 2, **look)
    made["concurrency"] = widgets.SelectionSlider(options=o.concurrencies, value=at.concurrency, **look)
    made["category"] = widgets.Dropdown(options=o.categories, value=at.category, **look)
    made["language"] = widgets.Dropdown(options=o.languages, value=at.language, **look)
    made["confidence"] = widgets.SelectionSlider(options=(0.8, 0.9, 0.95, 0.99), value=at.confidence, **look)
    made["words"] = widgets.ToggleButtons(options=LANGUAGES, value=language, style={"button_width": "50px"})
    return made
