"""The live form in which to try a launch: pick target and draft of a preset, or paste a command. Only widgets here."""

from __future__ import annotations

import os
from html import escape
from typing import Any

import ipywidgets as widgets

from labkit.errors import LabError
from labkit.preflight import Look, load_presets, look
from labkit.view.present import show
from labkit.view.tables import findings

__all__ = ["LaunchPanel", "launch_html"]

_WIDE = widgets.Layout(width="620px")
_STYLE = {"description_width": "70px"}
_HEADLESS = "The form needs a kernel: open this notebook in JupyterLab."


def launch_html(looked: Look) -> str:
    """Verdict, findings, the command in today's words, and what is to be known of it. Escaped."""
    notes = "".join(f"<li>{escape(note)}</li>" for note in looked.notes)
    wrong = "".join(f"<p class='labkit-missing'>{escape(error)}</p>" for error in looked.errors)
    table = show(findings(looked))._repr_mimebundle_()["text/html"]
    return f"<h3>{looked.verdict}</h3>{wrong}{table}<p><code>{escape(looked.command)}</code></p><ul>{notes}</ul>"


class LaunchPanel:
    """Shows itself in a notebook; what cannot be read is said where the verdict would stand."""

    def __init__(self, looked: Look) -> None:
        self._pairs: dict[str, dict[str, str]] = {}
        for name, preset in load_presets().items():
            drafts = self._pairs.setdefault(preset.target.model, {})
            drafts[f"{preset.draft.model if preset.draft else preset.method}, TP {preset.tp}"] = name
        self._target = widgets.Dropdown(options=["", *self._pairs], description="target", layout=_WIDE, style=_STYLE)
        self._draft = widgets.Dropdown(options=[], description="draft", layout=_WIDE, style=_STYLE)
        self._command = widgets.Textarea(
            value=looked.command, description="command", continuous_update=False, style=_STYLE,
            layout=widgets.Layout(width="98%", height="110px"),
        )  # fmt: skip
        self._said = widgets.HTML(launch_html(looked))
        self._target.observe(self._picked_target, "value")
        self._draft.observe(lambda change: change["new"] and self._show(change["new"]), "value")
        self._command.observe(lambda change: self._show(change["new"]), "value")
        self.box = widgets.VBox([self._target, self._draft, self._command, self._said])

    def _picked_target(self, change: dict[str, Any]) -> None:
        self._draft.options = list(self._pairs.get(change["new"], {}).items())

    def _show(self, asked: str) -> None:
        try:
            self._said.value = launch_html(look(asked))
        except LabError as error:
            self._said.value = f"<p class='labkit-missing'>{escape(str(error))}</p>"

    def _repr_mimebundle_(self, include=None, exclude=None) -> Any:
        if os.environ.get("LABKIT_HEADLESS"):
            return {"text/plain": _HEADLESS, "text/html": f"<p>{_HEADLESS}</p>"}
        return self.box._repr_mimebundle_(include=include, exclude=exclude)
