"""From a notebook to one HTML file: executed, exported, checked, put on the index.

A report is whole or it is not there: what is missing, reaches out, holds a secret or is too large fails the build, and
the executed notebook stays to look at.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

import nbformat

from labkit.errors import ConfigError, ReportError
from labkit.view.execution import Limits, check_sources, execute, known_parameters, typed_parameters
from labkit.view.export import Exported, export
from labkit.view.leaks import Secrets, removed_in
from labkit.view.packed import plain_text
from labkit.view.page import page_html, write_page
from labkit.view.page_checks import BUDGET, reaches_out
from labkit.view.phrases import phrases
from labkit.view.provenance import command, provenance_html, with_contents
from labkit.view.report_index import build_index

__all__ = ["Limits", "build_index", "build_report", "typed_parameters"]


def build_report(
    notebook: str | Path,
    parameters: Mapping[str, Any],
    *,
    out: str | Path = "reports",
    name: str | None = None,
    echo: TextIO | None = None,
    limits: Limits | None = None,
) -> Path:
    """Execute ``notebook`` with ``parameters`` and write ``<out>/<name>.html`` and the executed notebook.
    What its cells print, progress above all, also goes to ``echo`` at once.

    Raises:
        ConfigError: the notebook is missing or holds a secret, or a parameter is unknown, has another type or is one.
        ReportError: a cell failed, never ran or took too long, a figure was lost, or the page would not do to share.
            The executed notebook stays, and so does every measured cell.
    """
    notebook, out = Path(notebook), Path(out)
    if not notebook.is_file():
        raise ConfigError(f"no notebook at {notebook}; the shipped ones are in notebooks/")
    values = typed_parameters(notebook, parameters)
    check_sources(notebook)
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out} is a file; --out names a folder")
    out.mkdir(parents=True, exist_ok=True)
    name = name or f"{notebook.stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    executed, secrets = out / f"{name}.ipynb", Secrets(os.environ)
    execute(notebook, executed, values, limits=limits or Limits(), secrets=secrets, echo=echo)
    made = export(nbformat.read(executed, as_version=4), executed)
    _check(made, secrets, executed)
    text = _page(made, notebook, values)
    if (size := len(text.encode())) > BUDGET:
        raise ReportError(
            f"the page would be {size / 1e6:.1f} MB, {BUDGET / 1e6:g} MB is what can be mailed; most is shown by "
            f"{made.largest}; show fewer rows or figures there (the executed notebook is {executed})"
        )
    page = out / f"{name}.html"
    write_page(page, text)
    build_index(out)
    return page


def _page(made: Exported, notebook: Path, values: Mapping[str, Any]) -> str:
    created = time.strftime("%Y-%m-%d %H:%M:%S")
    again = None
    if made.summary.get("folder") and "run" in known_parameters(notebook):
        again = command(str(notebook), {**values, "run": made.summary["folder"]})
    box = provenance_html(dict(made.summary.get("facts", ())), command(str(notebook), values), again, created=created)
    body = with_contents(made.body + phrases(made.language).html(box))
    summary = made.summary | {"title": made.title, "created": created}
    return page_html(body, title=made.title, summary=summary, language=made.language)


def _check(made: Exported, secrets: Secrets, executed: Path) -> None:
    """Raise if the page would hold a secret, ask for something outside, or run what a cell put there."""
    secrets.clean([made.body, made.summary, made.title])
    packed = filter(None, (removed_in(plain_text(grid)) for grid in made.embedded.packed))  # taken out before packing
    if found := sorted({*secrets.found, *packed}):
        raise ReportError(
            f"the notebook shows {' and '.join(found)}; no page was made, and it was taken out of {executed}. "
            "Find the cell that shows it there"
        )
    if asked := reaches_out(made.body):
        raise ReportError(
            f"the page would load or run {asked[0]!r} ({len(asked)} such places); a report needs no network and runs "
            f"nothing of a cell: embed images, show text with labkit.show, which escapes it (see {executed})"
        )
