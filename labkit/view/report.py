"""From a notebook to one HTML file: strict parameters, execution, checks, export, index.

Papermill executes, nbconvert renders; nothing else in labkit imports either.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

import nbformat
import papermill
from nbconvert import HTMLExporter

from labkit.errors import ConfigError, ReportError, UsageError
from labkit.view.page import figure_html, page_html
from labkit.view.parameters import typed_values
from labkit.view.present import DONE_MIME, SUMMARY_MIME
from labkit.view.style import PLOTLY_MIME

__all__ = ["build_report", "build_index", "typed_parameters"]

#: Errors in a notebook that are the user's mistake, by name: the notebook ran in another process.
_USAGE_ERRORS = {kind.__name__ for kind in (UsageError, *UsageError.__subclasses__())}
_SUMMARY = re.compile(r'<script type="application/json" id="labkit-summary">(.*?)</script>', re.S)


def build_report(
    notebook: str | Path,
    parameters: Mapping[str, Any],
    *,
    out: str | Path = "reports",
    name: str | None = None,
    echo: TextIO | None = None,
) -> Path:
    """Execute ``notebook`` with ``parameters`` and write ``<out>/<name>.html`` and the executed notebook.
    What its cells print, progress above all, also goes to ``echo`` at once.

    Raises:
        ConfigError: the notebook is missing, a parameter is unknown or has another type.
        ReportError: a cell failed or never ran, a figure was lost. The executed notebook stays, and so
            does every measured cell.
    """
    notebook, out = Path(notebook), Path(out)
    if not notebook.is_file():
        raise ConfigError(f"no notebook at {notebook}; the shipped ones are in notebooks/")
    values = typed_parameters(notebook, parameters)
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out} is a file; --out names a folder")
    out.mkdir(parents=True, exist_ok=True)
    name = name or f"{notebook.stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    executed = out / f"{name}.ipynb"
    _execute(notebook, executed, values, echo)
    page = out / f"{name}.html"
    page.write_text(_render(nbformat.read(executed, as_version=4), executed), encoding="utf-8")
    build_index(out)
    return page


def typed_parameters(notebook: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """``given`` values, texts turned into the types of the notebook's parameters cell.

    Raises:
        ConfigError: an unknown name, or a value that is not of the parameter's type.
    """
    try:
        known = papermill.inspect_notebook(str(notebook))
    except Exception as error:  # papermill and nbformat raise several kinds for a file that is no notebook
        raise ConfigError(f"{notebook} is not a Python notebook whose parameters can be read: {error}") from None
    return typed_values(given, known, where=notebook.name)


def _execute(notebook: Path, executed: Path, values: dict[str, Any], echo: TextIO | None) -> None:
    os.environ["LABKIT_HEADLESS"] = "1"  # the kernel inherits it
    try:
        papermill.execute_notebook(
            str(notebook), str(executed), parameters=values, kernel_name="python3", progress_bar=False,
            log_output=False, store_widget_state=False, request_save_on_cell_execute=True, stdout_file=echo,
        )  # fmt: skip
    except papermill.PapermillExecutionError as error:
        kind = ConfigError if error.ename in _USAGE_ERRORS else ReportError
        raise kind(
            f"cell {_failed_cell(executed)} of {notebook.name} failed: {error.ename}: {error.evalue}\n"
            f"(the partial notebook is {executed}; measured cells are kept)"
        ) from None
    except Exception as error:  # a dead kernel or a time-out: nbclient raises several kinds
        raise ReportError(f"{notebook.name} could not be executed: {error} (partial notebook: {executed})") from error
    finally:
        del os.environ["LABKIT_HEADLESS"]  # a panel of this process still shows itself


def _failed_cell(executed: Path) -> int:
    """Position, from 1, of the failed cell in the source: papermill has put cells of its own into the copy."""
    own = {"injected-parameters", "papermill-error-cell-tag"}
    cells = [c for c in nbformat.read(executed, as_version=4).cells if not own & set(c.metadata.get("tags", ()))]
    failed = (i for i, c in enumerate(cells, 1) if any(o.output_type == "error" for o in c.get("outputs", ())))
    return next(failed, len(cells))


def _render(notebook: nbformat.NotebookNode, source: Path) -> str:
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    skipped = [i for i, cell in enumerate(code) if cell.execution_count is None]
    if skipped:
        raise ReportError(f"{len(skipped)} cells of {source} never ran; the first is code cell {skipped[0] + 1}")
    summaries = [o.data[SUMMARY_MIME] for cell in code for o in cell.outputs if SUMMARY_MIME in o.get("data", {})]
    if not summaries or not any(DONE_MIME in o.get("data", {}) for o in code[-1].outputs):
        raise ReportError(f"{source} is not whole: it must show labkit.summary(run) and end with labkit.finish(run)")
    wanted = _embed_figures(code)
    exporter = HTMLExporter(
        template_name="basic", exclude_input=True, exclude_output_prompt=True, exclude_anchor_links=True
    )
    body, _ = exporter.from_notebook_node(notebook)
    if (drawn := body.count('<div class="figure">')) != wanted:
        raise ReportError(f"{wanted} figures were made and {drawn} are in the page of {source}")
    title = _title(notebook) or source.stem
    created = time.strftime("%Y-%m-%d %H:%M:%S")
    return page_html(body, title=title, summary=summaries[-1] | {"title": title, "created": created})


def _title(notebook: nbformat.NotebookNode) -> str | None:
    lines = (line for cell in notebook.cells if cell.cell_type == "markdown" for line in cell.source.splitlines())
    return next((line.removeprefix("# ") for line in lines if line.startswith("# ")), None)


def _embed_figures(code: list[nbformat.NotebookNode]) -> int:
    """Turn plotly outputs into HTML that the page draws, and fold what was printed; returns the number of
    figures."""
    count = 0
    for cell in code:
        printed = "".join(output.text for output in cell.outputs if output.output_type == "stream")
        cell.outputs = [output for output in cell.outputs if output.output_type != "stream"]
        for output in cell.outputs:
            if PLOTLY_MIME in output.get("data", {}):
                figure = output.data[PLOTLY_MIME]
                output.data = {"text/html": figure_html({"data": figure["data"], "layout": figure["layout"]})}
                count += 1
        if printed:
            folded = f"<details><summary>what was printed</summary><pre>{escape(printed)}</pre></details>"
            cell.outputs.append(nbformat.v4.new_output("display_data", {"text/html": folded}))
    return count


def build_index(folder: Path) -> Path:
    """(Re)build ``index.html`` from the reports in ``folder``, newest first."""
    rows = []
    for path in folder.glob("*.html"):
        if path.name != "index.html" and (found := _SUMMARY.search(path.read_text(encoding="utf-8"))):
            rows.append((json.loads(found[1]), path))
    rows.sort(key=lambda row: (row[0]["created"], row[1].name), reverse=True)
    head = "".join(f"<th>{name}</th>" for name in ("report", "target", "best measured", "verdict"))
    body = "".join(_index_row(summary, path) for summary, path in rows)
    table = f"<table class='labkit'><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    page = folder / "index.html"
    page.write_text(page_html(f"<h1>Reports</h1>{table}", title="labkit reports", figures=False), encoding="utf-8")
    return page


def _index_row(summary: dict[str, Any], path: Path) -> str:
    best = "–"
    if summary.get("speedup"):
        low, mid, high = summary["speedup"]
        best = f"{escape(summary['best'])}, {escape(summary['at'])}: {mid:.2f}× [{low:.2f}, {high:.2f}]"
    link = f"<a href='{quote(path.name)}'>{escape(summary['title'])}</a>"
    cells = [
        f"{link}<br><span class='stamp'>{escape(summary['created'])}</span>",
        escape(summary["target"]),
        best,
        "<br>".join(escape(sentence) for sentence in summary["verdict"]),
    ]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
