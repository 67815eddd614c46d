"""The tuning board of a page that has no kernel: every setting of a capped grid answered beforehand.

What a point of the grid shows is what the live panel shows there (:func:`labkit.view.board_state.board_state`), so
the page computes nothing: its script looks the point up and draws it. Points share most of what they show, and so the
grid is small (:mod:`labkit.view.packed`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape, unescape
from itertools import product
from math import prod
from typing import Any

from labkit.errors import ConfigError
from labkit.store import Run
from labkit.view.board_state import board_state
from labkit.view.csv_text import csv_text
from labkit.view.lab import Lab
from labkit.view.leaks import Secrets
from labkit.view.packed import Pool, pack
from labkit.view.phrases import phrases
from labkit.view.present import TABLE_MIME, Html
from labkit.view.readable import readable
from labkit.view.selection import ALL, Selection
from labkit.view.words import word

__all__ = ["BOARD_MIME", "LARGEST", "Axis", "StaticBoard", "board", "board_axes"]

BOARD_MIME = "application/vnd.labkit.board+json"
#: Points of a grid at most.
LARGEST = 3000
#: Characters of a packed grid at most: a page also holds plotly.js, figures and tables.
ROOM = 500_000
_WHERE = "The controls are in the exported report and in the tuning lab."
_ROWS = 1_000  # of the table to save
_STEP = 0.1  # of temperatures between the measured ones


@dataclass(frozen=True, kw_only=True)
class Axis:
    """A control: the field of the selection that it sets, its values, and how they read."""

    name: str
    label: str
    values: tuple[Any, ...]
    texts: tuple[str, ...]

    def keep(self, values: Sequence[Any]) -> Axis:
        """The same control with some of its values."""
        return replace(self, values=tuple(values), texts=tuple(self.texts[self.values.index(v)] for v in values))


def board(run: Run, *, confidence: float = 0.95, language: str = "en") -> StaticBoard | Html:
    """Controls over everything a run tells, for a report; a sentence where there is nothing to compare."""
    try:
        lab = Lab(run)
    except ConfigError as error:
        return Html(f"<p>{escape(str(error))}</p>", str(error))
    return StaticBoard(lab, replace(lab.default(), confidence=confidence), language)


class StaticBoard:
    """Controls and charts in an exported page; where a notebook is open, the card of its first setting. What the page
    has no control for (prompt language, confidence) stays as in ``start``."""

    def __init__(self, lab: Lab, start: Selection, language: str = "en") -> None:
        self.lab, self.start, self.language = lab, start, language
        self.axes, self.left_out = board_axes(lab, start, language, largest=LARGEST)

    def selections(self) -> Iterator[Selection]:
        """Every point of the grid, the last axis moving first."""
        names = [axis.name for axis in self.axes]
        for values in product(*(axis.values for axis in self.axes)):
            yield replace(self.start, interpolate=True, **dict(zip(names, values, strict=True)))

    def data(self) -> dict[str, Any]:
        """What the page's script reads: controls, where they stand, and the packed grid, a ``[chart, …], [card part,
        …]`` of places a point. A grid that is too large packed is thinned further."""
        while len(packed := self._packed()) > ROOM:
            points = prod(len(axis.values) for axis in self.axes)
            self.axes, self.left_out = board_axes(self.lab, self.start, self.language, largest=points // 2)
            if prod(len(axis.values) for axis in self.axes) == points:
                break  # nothing is left to leave out
        return {
            "axes": [asdict(axis) for axis in self.axes],
            "start": [_nearest(axis.values, getattr(self.start, axis.name)) for axis in self.axes],
            "notes": list(map(phrases(self.language).say, self._notes())),
            "packed": packed,
        }

    def _packed(self) -> str:
        pool, roots, secrets = Pool(), [], Secrets(os.environ)  # nobody sees what is packed
        for selection in self.selections():
            state = board_state(self.lab, selection, self.language)
            parts = re.split(r"(?<=>)", state["card"])  # rows and lines of cards repeat
            roots.append([[pool.add(chart) for chart in state["charts"]], [pool.add(part) for part in parts]])
        return pack(secrets.clean(pool.entries), roots)

    def _notes(self) -> list[str]:
        asked = f"{self.start.confidence:.0%} intervals"
        fixed = asked if self.start.language == ALL else f"{asked}; prompts in {self.start.language} only"
        missing = [f"{name} cannot be chosen: {readable(reason)}" for name, reason in self.lab.options.left_out.items()]
        return [fixed, *missing, *self.left_out]

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, Any]:
        card = board_state(self.lab, self.start, self.language)["card"]
        text = " ".join(re.sub(r"<[^>]*>", " ", card).split())
        headless = os.environ.get("LABKIT_HEADLESS")
        where = "" if headless else f"<p>{escape(phrases(self.language).say(_WHERE))}</p>"
        shown = {"text/plain": unescape(text), "text/html": f"<div class='labkit-card'>{card}</div>{where}"}
        return shown | {BOARD_MIME: self.data(), TABLE_MIME: {"csv": self._table()}} if headless else shown

    def _table(self) -> str:
        """Everything that is known, of every kind of prompt that has a control; of so large a run that a page could
        not hold that, of the first kinds, which is all prompts together before any other."""
        at, rows = replace(self.start, interpolate=True), []
        for kind in next(axis.values for axis in self.axes if axis.name == "category"):
            own = [row | {"category": kind} for row in self.lab.known(replace(at, category=kind))]
            if rows and len(rows) + len(own) > _ROWS:
                break
            rows += own
        return csv_text(rows, ["category", *(name for name in rows[0] if name != "category")] if rows else [])


def board_axes(lab: Lab, start: Selection, language: str, *, largest: int) -> tuple[list[Axis], list[str]]:
    """The controls of a grid of at most ``largest`` points, and what was left out for that: first temperatures
    between the measured ones, then kinds of prompt, then every second value of the longest control."""
    axes, left_out = _all_axes(lab, language), []
    measured = lab.options.temperatures
    if _points(axes) > largest and len(axes["temperature"].values) > len(measured):
        axes["temperature"] = axes["temperature"].keep(measured)
        left_out.append("temperatures between the measured ones")
    if _points(axes) > largest and len(axes["category"].values) > 1:
        axes["category"] = axes["category"].keep([start.category])
        left_out.append(f"kinds of prompt other than {start.category!r}")
    thinned = set()
    while _points(axes) > largest:
        axis = max((axes[name] for name in ("k", "temperature", "concurrency")), key=lambda axis: len(axis.values))
        if len(axis.values) == 1:
            break  # only the drafters are left, and they all stay
        axes[axis.name] = axis.keep(_every_second(axis.values, getattr(start, axis.name)))
        thinned.add(axis.label)
    left_out += [f"some values of {label}" for label in sorted(thinned)]
    return list(axes.values()), [f"Left out to keep this page small: {what}." for what in left_out]


def _all_axes(lab: Lab, language: str) -> dict[str, Axis]:
    o = lab.options
    temperatures = sorted({*o.temperatures, *_between(o.temperatures)})
    marks = ["" if t in o.temperatures else f" ({word('interpolated', language)})" for t in temperatures]
    made = {
        "drafter": ("drafter", list(o.methods), [f"{name} ({method})" for name, method in o.methods.items()]),
        "k": ("K", range(1, o.largest_k + 1), None),
        "temperature": ("temperature", temperatures, [f"{t:g}{m}" for t, m in zip(temperatures, marks, strict=True)]),
        "concurrency": ("users", o.concurrencies, None),
        "category": ("workload", o.categories, None),
    }
    return {
        name: Axis(name=name, label=word(label, language), values=tuple(values), texts=tuple(texts or map(str, values)))
        for name, (label, values, texts) in made.items()
    }


def _between(temperatures: Sequence[float]) -> list[float]:
    low, high = temperatures[0], temperatures[-1]
    steps = [round(_STEP * i, 1) for i in range(int(low / _STEP), int(high / _STEP) + 1)]
    return [t for t in steps if low < t < high]


def _every_second(values: Sequence[Any], wanted: Any) -> Sequence[Any]:
    """The ``wanted`` one among them."""
    return values[_nearest(values, wanted) % 2 :: 2]


def _points(axes: dict[str, Axis]) -> int:
    return prod(len(axis.values) for axis in axes.values())


def _nearest(values: Sequence[Any], wanted: Any) -> int:
    """The place of ``wanted``, or of the number next to it."""
    if wanted in values:
        return values.index(wanted)
    return min(range(len(values)), key=lambda i: abs(values[i] - wanted))
