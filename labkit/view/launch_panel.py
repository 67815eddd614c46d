"""The live form in which to try a launch: pick target and draft of a preset, or paste a command. Only widgets here."""

from __future__ import annotations

import os
from html import escape
from typing import Any

import ipywidgets as widgets

from labkit.errors import LabError
from labkit.preflight import Look, load_presets, look
from labkit.view.phrases import phrases
from labkit.view.present import facts, show, summary
from labkit.view.tables import findings

__all__ = ["LaunchPanel", "launch_html"]

_WIDE = widgets.Layout(width="620px")
_STYLE = {"description_width": "70px"}
_HEADLESS = "The form needs a kernel: open this notebook in JupyterLab."


def launch_html(looked: Look) -> str:
    """Verdict, findings, the command in today's words, and what is to be known of it. Escaped."""
    shown = (summary(looked), show(findings(looked)), facts(looked))
    return "".join(each._repr_mimebundle_()["text/html"] for each in shown)


class LaunchPanel:
    """Shows itself in a notebook; what cannot be read is said where the verdict would stand."""

    def __init__(self, looked: Look, *, language: str = "en") -> None:
        self._phrases = phrases(language)
        self._pairs: dict[str, dict[str, str]] = {}
        for name, preset in load_presets().items():
            drafts = self._pairs.setdefault(preset.target.model, {})
            drafts[f"{preset.draft.model if preset.draft else preset.method}, TP {preset.tp}"] = name
        say, wide = self._phrases.say, {"layout": _WIDE, "style": _STYLE}
        self._target = widgets.Dropdown(options=["", *self._pairs], description=say("target"), **wide)
        self._draft = widgets.Dropdown(options=[], description=say("drafter"), **wide)
        self._command = widgets.Textarea(
            value=looked.command, description=say("command"), continuous_update=False, style=_STYLE,
            layout=widgets.Layout(width="98%", height="110px"),
        )  # fmt: skip
        self._said = widgets.HTML(self._phrases.html(launch_html(looked)))
        self._target.observe(self._picked_target, "value")
        self._draft.observe(lambda change: change["new"] and self._show(change["new"]), "value")
        self._command.observe(lambda change: self._show(change["new"]), "value")
        self.box = widgets.VBox([self._target, self._draft, self._command, self._said])

    def _picked_target(self, change: dict[str, Any]) -> None:
        self._draft.options = list(self._pairs.get(change["new"], {}).items())

    def _show(self, asked: str) -> None:
        try:
            said = launch_html(look(asked))
        except LabError as error:
            said = f"<p class='labkit-missing'>{escape(str(error))}</p>"
        self._said.value = self._phrases.html(said)

    def _repr_mimebundle_(self, include=None, exclude=None) -> Any:
        if os.environ.get("LABKIT_HEADLESS"):
            return {"text/plain": _HEADLESS, "text/html": f"<p>{_HEADLESS}</p>"}
        return self.box._repr_mimebundle_(include=include, exclude=exclude)
