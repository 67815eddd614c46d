"""What a cell shows as HTML that a page without a kernel can draw: figures, boards, tables to save, folded print-outs.

Everything that is embedded is counted, so that the page can be checked to hold it.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from html import escape
from typing import Any

import nbformat

from labkit.errors import ReportError
from labkit.view.board_html import board_html
from labkit.view.page import figure_html
from labkit.view.phrases import phrases
from labkit.view.present import TABLE_MIME
from labkit.view.readable import printed, readable
from labkit.view.static_board import BOARD_MIME
from labkit.view.style import PLOTLY_MIME

__all__ = ["Embedded"]

_WIDGET = "application/vnd.jupyter.widget-view+json"
_MARKS = {"figure": '<div class="figure">', "board": '<section class="board">', "table": '<a class="download"'}
_LONGEST = 20_000  # characters of a value that is shown as plain text


class Embedded:
    """``name``: of the notebook; files to save are called after it. ``packed``: grids of its boards, which the page
    holds compressed; ``sizes``: characters by cell."""

    def __init__(self, name: str, language: str) -> None:
        self.name, self.language = name, language
        self.packed: list[str] = []
        self.sizes: dict[str, int] = {}
        self._made: Counter[str] = Counter()

    def cell(self, cell: nbformat.NotebookNode, where: str) -> None:
        """Replace the outputs of ``cell``.

        Raises:
            ReportError: it shows a widget that has no static twin.
        """
        said = [output.text for output in cell.outputs if output.output_type == "stream"]
        cell.outputs = [output for output in cell.outputs if output.output_type != "stream"]
        for output in cell.outputs:
            if "data" in output:
                output.data = self._bundle(output.data, where)
        if said:
            text = escape("\n".join(printed(stream).removesuffix("\n") for stream in said))
            folded = f"<details><summary>what was printed</summary><pre>{text}</pre></details>"
            shown = {"text/html": phrases(self.language).html(folded)}
            cell.outputs.append(nbformat.v4.new_output("display_data", shown))
        self.sizes[where] = sum(len(str(output.get("data", ""))) for output in cell.outputs)

    def lost(self, body: str) -> list[str]:
        """What was embedded and is not in ``body``, in words."""
        drawn = {kind: body.count(mark) for kind, mark in _MARKS.items()}
        made = self._made
        return [f"{made[kind]} {kind}s were made and {drawn[kind]} are" for kind in _MARKS if made[kind] != drawn[kind]]

    def _bundle(self, data: dict[str, Any], where: str) -> dict[str, Any]:
        say = phrases(self.language)
        if PLOTLY_MIME in data:
            self._made["figure"] += 1
            return {"text/html": figure_html(say.figure(data[PLOTLY_MIME]))}
        if BOARD_MIME in data:
            self._made["board"] += 1
            self.packed.append(data[BOARD_MIME]["packed"])
            return {"text/html": say.html(board_html(data[BOARD_MIME]) + self._table(data))}
        if "text/html" in data:
            return {"text/html": say.html(data["text/html"] + self._table(data))}
        if _WIDGET in data:
            raise ReportError(f"{where} shows a widget that a page without a kernel cannot: show a static twin of it")
        return {"text/plain": readable(data["text/plain"], longest=_LONGEST)} if set(data) == {"text/plain"} else data

    def _table(self, data: dict[str, Any]) -> str:
        """A link that saves the table beside what is shown, whole and with all its digits."""
        if TABLE_MIME not in data:
            return ""
        self._made["table"] += 1
        text = base64.b64encode(data[TABLE_MIME]["csv"].encode()).decode()
        file = re.sub(r"[^\w.-]+", "-", f"{self.name}-{self._made['table']}")
        return (
            f'<a class="download" download="{file}.csv" href="data:text/csv;charset=utf-8;base64,{text}">'
            "save this table (CSV)</a>"
        )
