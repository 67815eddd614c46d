"""An executed notebook as the body of a page, and the checks that nothing was lost on the way. nbconvert renders;
nothing else in labkit imports it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbconvert import HTMLExporter

from labkit.errors import ReportError
from labkit.view.embed import Embedded
from labkit.view.phrases import phrases
from labkit.view.present import DONE_MIME, SUMMARY_MIME

__all__ = ["Exported", "export"]


@dataclass(frozen=True, kw_only=True)
class Exported:
    """A page's ``body`` and what it embeds; ``summary`` is the last that the notebook shows."""

    title: str
    summary: dict[str, Any]
    body: str
    embedded: Embedded

    @property
    def language(self) -> str:
        return self.embedded.language

    @property
    def largest(self) -> str:
        """The cells that show most, in words."""
        top = sorted(self.embedded.sizes.items(), key=lambda part: -part[1])[:3]
        return ", ".join(f"{where}: {size / 1e6:.1f} MB" for where, size in top)


def export(notebook: nbformat.NotebookNode, file: Path) -> Exported:
    """The page of ``notebook``, which was executed and lies in ``file``.

    Raises:
        ReportError: a cell never ran, the notebook has no sentinel or no summary, a widget has no twin that a page can
            show, or something was lost in rendering.
    """
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    summary = _whole(code, file)
    language = summary.get("language", "en")
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = phrases(language).markdown(cell.source)
    embedded = Embedded(file.stem, language)
    for place, cell in enumerate(code, 1):
        embedded.cell(cell, f"code cell {place}")
    body = _rendered(notebook)
    if lost := embedded.lost(body):
        raise ReportError(f"{', '.join(lost)} in the page of {file}")
    return Exported(title=_title(notebook) or file.stem, summary=summary, body=body, embedded=embedded)


def _whole(code: Sequence[nbformat.NotebookNode], file: Path) -> dict[str, Any]:
    """The last summary of a notebook that ran to its end."""
    skipped = [i for i, cell in enumerate(code, 1) if cell.execution_count is None]
    if skipped:
        raise ReportError(f"{len(skipped)} cells of {file} never ran; the first is code cell {skipped[0]}")
    summaries = [data[SUMMARY_MIME] for cell in code for data in _bundles(cell) if SUMMARY_MIME in data]
    if not summaries or not any(DONE_MIME in data for data in _bundles(code[-1])):
        raise ReportError(f"{file} is not whole: it must show labkit.summary(run) and end with labkit.finish(run)")
    return summaries[-1]


def _rendered(notebook: nbformat.NotebookNode) -> str:
    exporter = HTMLExporter(
        template_name="basic", exclude_input=True, exclude_output_prompt=True, exclude_anchor_links=True
    )
    return exporter.from_notebook_node(notebook)[0]


def _title(notebook: nbformat.NotebookNode) -> str | None:
    lines = (line for cell in notebook.cells if cell.cell_type == "markdown" for line in cell.source.splitlines())
    return next((line.removeprefix("# ") for line in lines if line.startswith("# ")), None)


def _bundles(cell: nbformat.NotebookNode) -> Iterator[dict[str, Any]]:
    yield from (output.data for output in cell.outputs if "data" in output)
