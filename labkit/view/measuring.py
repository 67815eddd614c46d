"""The panel's "measure here": the selected setting and its baseline on a live engine, in the background."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import replace
from html import escape
from typing import ClassVar

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


def cells_of(lab: Lab, at: Selection, *, block: int) -> list[Cell]:
    """The baseline and the selected setting, sampled as in the run and on its prompts (of the selected category and
    language)."""
    spec = lab.plan.workload
    categories = (at.category,) if at.category != ALL else spec.categories
    languages = (at.language,) if at.language != ALL else spec.languages
    workload: WorkloadSpec = replace(spec, categories=categories, languages=languages)
    sampling = Sampling(temperature=at.temperature, mode=lab.plan.sampling)
    return [
        Cell(target=lab.plan.engine.target, spec=which, sampling=sampling, concurrency=at.concurrency,
             workload=workload, block=block)
        for which in (SpecConfig(), lab.spec(at))
    ]  # fmt: skip


class MeasureHere:
    """Button, URLs, progress and cancel. ``ask`` gives lab and selection when the button is pressed; ``done`` gets
    what was measured, and that selection. A kernel measures one thing at a time, whatever panel asked."""

    _of_kernel: ClassVar[Background | None] = None

    def __init__(
        self, ask: Callable[[], tuple[Lab, Selection]], done: Callable[[list[Measurement], Selection], None]
    ) -> None:
        self._ask, self._done, self._language = ask, done, "en"
        self.job: Background | None = None
        self._begun, self._at = 0.0, None
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
        self._language = language
        self._go.description, self._stop.description = word("measure here", language), word("cancel", language)
        self._urls.tooltip = word("baseline URL, then the URL with speculation; empty: both are started here", language)

    def start(self) -> None:
        """Begin in the background; what is wrong with the request is shown at once."""
        if self.job and not self.job.finished.is_set():
            return
        if (other := MeasureHere._of_kernel) and not other.finished.is_set():
            other.cancel()
            self._say(word("an earlier measurement is being cancelled; press again in a moment", self._language))
            return
        lab, at = self._ask()
        self._at = at = lab.snapped(at)
        if refused := lab.refused(at):
            said = word("preflight refuses this setting; labkit sweep --force measures it all the same", self._language)
            self._say("\n".join((said, *refused)), wrong=True)
            return
        try:
            cells = cells_of(lab, at, block=lab.blocks)
            self.job = Background(
                self._config(lab, cells), cells, log_folder=runs_root() / "measure", salt=lab.plan.salt
            )
        except LabError as error:
            self._say(str(error), wrong=True)
            return
        MeasureHere._of_kernel, self._begun = self.job, time.monotonic()
        self._go.disabled, self._stop.disabled = True, False
        with contextlib.suppress(RuntimeError):  # no loop: whoever started it calls update()
            self._task = asyncio.get_running_loop().create_task(self._watch())

    def update(self) -> bool:
        """Show how far the job is; at its end hand over what was measured. Whether it has ended."""
        job = self.job
        if job is None:
            return True
        passed, share = time.monotonic() - self._begun, job.share
        self._bar.value = share
        if not job.finished.is_set():
            said = job.stage
            if share:
                seconds = f"{max(1, passed * (1 - share) / share):.0f}"
                said += "; " + word("about {n} s left", self._language).format(n=seconds)
            self._say(said)
            return False
        self._go.disabled, self._stop.disabled, self._bar.value = False, True, 0.0 if job.error else 1.0
        if job.error or job.cancelled:
            self._say(job.error or word("cancelled; nothing was kept", self._language), wrong=bool(job.error))
        else:
            self._say(word("measured here in {n} s", self._language).format(n=f"{passed:.0f}"))
            self._done(job.found, self._at)
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
