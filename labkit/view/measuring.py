"""The panel's "measure here": the selected setting and its baseline on a live engine, in the background."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import replace
from html import escape

import ipywidgets as widgets

from labkit.config import EngineConfig, Sampling, SpecConfig
from labkit.errors import ConfigError, LabError
from labkit.measure.background import Background
from labkit.paths import runs_root
from labkit.plan import Cell, WorkloadSpec
from labkit.records import Measurement
from labkit.view.lab import Lab
from labkit.view.selection import ALL, Selection
from labkit.view.words import word

__all__ = ["MeasureHere", "cells_of"]

_EVERY = 0.5
#: Seconds that starting an engine takes about, for the time left.
_START = 25.0


def cells_of(lab: Lab, at: Selection, *, block: int) -> list[Cell]:
    """The baseline and the selected setting, on the run's prompts (of the selected category and language)."""
    spec = lab.plan.workload
    categories = (at.category,) if at.category != ALL else spec.categories
    languages = (at.language,) if at.language != ALL else spec.languages
    workload: WorkloadSpec = replace(spec, categories=categories, languages=languages)
    return [
        Cell(target=lab.plan.engine.target, spec=which, sampling=Sampling(temperature=at.temperature),
             concurrency=at.concurrency, workload=workload, block=block)
        for which in (SpecConfig(), lab.spec(at))
    ]  # fmt: skip


class MeasureHere:
    """Button, URLs, progress and cancel. ``ask`` gives lab and selection when the button is pressed; ``done`` gets
    what was measured."""

    def __init__(self, ask: Callable[[], tuple[Lab, Selection]], done: Callable[[list[Measurement]], None]) -> None:
        self._ask, self._done = ask, done
        self.job: Background | None = None
        self._begun = self._expected = 0.0
        self._go = widgets.Button(button_style="primary")
        self._stop = widgets.Button(disabled=True)
        self._urls = widgets.Text(placeholder="http://host:8000 http://host:8001", layout=widgets.Layout(width="420px"))
        self._bar = widgets.FloatProgress(min=0, max=1, layout=widgets.Layout(width="180px"))
        self._said = widgets.HTML()
        self._go.on_click(lambda _: self.start())
        self._stop.on_click(lambda _: self.job and self.job.cancel())
        row = widgets.HBox([self._go, self._stop, self._urls, self._bar], layout=widgets.Layout(flex_flow="row wrap"))
        self.box = widgets.VBox([row, self._said])
        self.label("en")

    def label(self, language: str) -> None:
        self._go.description, self._stop.description = word("measure here", language), word("cancel", language)
        self._urls.tooltip = "baseline URL, then the URL with speculation; empty: both are started here"

    def start(self) -> None:
        """Begin in the background; what is wrong with the request is shown at once."""
        if self.job and not self.job.finished.is_set():
            return
        lab, at = self._ask()
        try:
            cells = cells_of(lab, at, block=lab.blocks)
            self.job = Background(self._config(lab, cells), cells, log_folder=runs_root() / "measure")
        except LabError as error:
            self._say(str(error), wrong=True)
            return
        answer = lab.answer(at)
        tokens = answer.prompts * lab.plan.workload.max_tokens / at.concurrency
        self._begun, self._expected = time.monotonic(), 2 * (_START + tokens * answer.tpot_ms / 1000)
        self._go.disabled, self._stop.disabled = True, False
        with contextlib.suppress(RuntimeError):  # no loop: whoever started it calls update()
            self._task = asyncio.get_running_loop().create_task(self._watch())

    def update(self) -> bool:
        """Show how far the job is; at its end hand over what was measured. Whether it has ended."""
        job = self.job
        if job is None:
            return True
        passed = time.monotonic() - self._begun
        self._bar.value = min(0.99, passed / self._expected)
        if not job.finished.is_set():
            self._say(f"{job.stage}; about {max(1, self._expected - passed):.0f} s left")
            return False
        self._go.disabled, self._stop.disabled, self._bar.value = False, True, 0.0 if job.error else 1.0
        if job.error or job.cancelled:
            self._say(job.error or "cancelled; nothing was kept", wrong=bool(job.error))
        else:
            self._say(f"measured here in {passed:.0f} s")
            self._done(job.found)
        self.job = None
        return True

    async def _watch(self) -> None:
        while not self.update():
            await asyncio.sleep(_EVERY)

    def _config(self, lab: Lab, cells: list[Cell]) -> EngineConfig:
        urls = self._urls.value.split()
        if not urls:
            return replace(lab.plan.engine, port=None)
        labels = [cell.spec.label for cell in cells]
        if len(urls) != len(labels):
            raise ConfigError(f"give two URLs, of {' and '.join(labels)}; got {len(urls)}")
        return EngineConfig(target=lab.plan.engine.target, kind="remote", urls=dict(zip(labels, urls, strict=True)))

    def _say(self, text: str, *, wrong: bool = False) -> None:
        colour = "#B34700" if wrong else "inherit"
        self._said.value = f"<pre style='color:{colour};white-space:pre-wrap;margin:2px'>{escape(text)}</pre>"
