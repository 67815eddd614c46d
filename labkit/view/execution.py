"""A notebook executed by papermill: strict parameters, deadlines, and no secret in what is kept.

A mistake is found before anything runs. A deadline ends the kernel; the notebook stays as far as it came.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

import nbformat
import papermill

from labkit.errors import ConfigError, ReportError, UsageError
from labkit.view.leaks import Secrets, names_a_secret
from labkit.view.notebook_client import ENGINE, Echo, Limits, Watch
from labkit.view.parameters import typed_values
from labkit.view.phrases import phrases
from labkit.view.words import LANGUAGES

__all__ = ["Limits", "check_sources", "execute", "known_parameters", "typed_parameters"]

#: Errors in a notebook that are the user's mistake, by name: the notebook ran in another process.
_USAGE_ERRORS = {kind.__name__ for kind in (UsageError, *UsageError.__subclasses__())}
#: The parameter of notebooks that offer a language.
_LANGUAGE = "lang"


def typed_parameters(notebook: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """``given`` values, texts turned into the types of the notebook's parameters cell.

    Raises:
        ConfigError: an unknown name, a value that is not of the parameter's type, a language that labkit does not
            speak, or a secret: parameters are stored with the report.
    """
    secrets = Secrets(os.environ)
    for name, value in given.items():
        if names_a_secret(name) or secrets.without(str(value)) != str(value):
            raise ConfigError(
                f"{name!r} would be stored in the executed notebook, and it looks like a secret; "
                "leave it out and set it in the environment, where the notebook's kernel finds it"
            )
    known = known_parameters(notebook)
    values = typed_values(given, known, where=notebook.name)
    if _LANGUAGE in values and known[_LANGUAGE]["default"].strip("'\"") in LANGUAGES:
        phrases(values[_LANGUAGE])  # before anything is measured
    return values


def known_parameters(notebook: Path) -> dict[str, Any]:
    """What papermill tells of each parameter of ``notebook``, by name.

    Raises:
        ConfigError: it is no notebook, or not a Python one.
    """
    try:
        return papermill.inspect_notebook(str(notebook))
    except Exception as error:  # papermill and nbformat raise several kinds for a file that is no notebook
        raise ConfigError(f"{notebook} is not a Python notebook whose parameters can be read: {error}") from None


def check_sources(notebook: Path) -> None:
    """Raise if a secret is written in a cell: papermill would store it with the outputs.

    Raises:
        ConfigError: says in which cell, and which secret.
    """
    for place, cell in enumerate(nbformat.read(notebook, as_version=4).cells, 1):
        secrets = Secrets(os.environ)
        secrets.without(cell.source)
        if secrets.found:
            raise ConfigError(
                f"cell {place} of {notebook.name} holds {' and '.join(sorted(secrets.found))}; a report is shared: "
                "read it from the environment there"
            )


def execute(
    notebook: Path, executed: Path, values: Mapping[str, Any], *, limits: Limits, secrets: Secrets, echo: TextIO | None
) -> None:
    """Run ``notebook`` into ``executed``, which is kept whatever happens.

    Raises:
        ConfigError: a cell failed by a mistake of the user.
        ReportError: a cell failed, a deadline passed, or the kernel died; says in which cell.
    """
    os.environ["LABKIT_HEADLESS"] = "1"  # the kernel inherits it
    watch, lines = Watch(limits, secrets), Echo(echo, secrets) if echo else None
    try:
        papermill.execute_notebook(
            str(notebook), str(executed), parameters=dict(values), kernel_name="python3", progress_bar=False,
            log_output=False, store_widget_state=False, request_save_on_cell_execute=True, stdout_file=lines,
            start_timeout=limits.start, engine_name=ENGINE, watch=watch,
        )  # fmt: skip
    except papermill.PapermillExecutionError as error:
        kind = ConfigError if error.ename in _USAGE_ERRORS else ReportError
        raise kind(
            f"cell {watch.place} of {notebook.name} failed: {error.ename}: {error.evalue}\n"
            f"(the partial notebook is {executed}; measured cells are kept)"
        ) from None
    except TimeoutError:
        raise ReportError(
            f"{notebook.name} could not be executed: {watch.passed()} (partial notebook: {executed}; "
            "measured cells are kept)"
        ) from None
    except Exception as error:  # a kernel that dies or does not start: nbclient raises several kinds
        where = f" in cell {watch.place}" if watch.place else ""
        raise ReportError(
            f"{notebook.name} could not be executed{where}: {secrets.without(str(error))} "
            f"(partial notebook: {executed}; measured cells are kept)"
        ) from error
    finally:
        del os.environ["LABKIT_HEADLESS"]  # a panel of this process still shows itself
        if lines:
            lines.end()
        _keep_clean(executed, secrets)


def _keep_clean(executed: Path, secrets: Secrets) -> None:
    """Once more over what papermill left, whole streams now; what cannot be read is not kept."""
    if not executed.exists():
        return
    try:
        notebook = nbformat.read(executed, as_version=4)
    except Exception:  # half a file, as where a disk is full
        executed.unlink()
        return
    before = nbformat.writes(notebook)
    for cell in notebook.cells:
        cell.source = secrets.without(cell.source)
        cell.metadata = nbformat.from_dict(secrets.clean(cell.metadata))
        if cell.cell_type == "code":
            cell.outputs = [nbformat.from_dict(secrets.clean_output(output)) for output in cell.outputs]
    notebook.metadata = nbformat.from_dict(secrets.clean(notebook.metadata))
    if (clean := nbformat.writes(notebook)) != before:
        executed.write_text(clean, encoding="utf-8")
