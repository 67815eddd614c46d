"""Where reports go besides a folder: every remote place that papermill can write to (s3://, gs://, abs://, …), with
papermill's own handlers, so that a handler someone installs for it works here as well."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

from papermill.iorw import papermill_io

from labkit.errors import ConfigError, ReportError

__all__ = ["is_remote", "checked", "put", "fetch"]

#: papermill writes to them only what is JSON.
_JSON_ONLY = ("http://", "https://")


def is_remote(place: str) -> bool:
    return re.match(r"[a-z][a-z0-9+.-]*://", place) is not None


def checked(place: str) -> str:
    """``place`` without a slash at its end.

    Raises:
        ConfigError: papermill has no handler for its scheme that takes whole reports.
    """
    if place.startswith(_JSON_ONLY) or _handler(place) is _handler("folder"):
        raise ConfigError(
            f"papermill cannot write reports to {place}; give a folder, or s3://, gs://, abs://, adl://, hdfs:// or a "
            "scheme whose papermill handler is installed"
        )
    return place.rstrip("/")


def put(file: Path, place: str) -> None:
    """Copy the text ``file`` into the remote ``place``.

    Raises:
        ReportError: it could not be written; the local file stays.
    """
    target = f"{place}/{file.name}"
    try:
        _handler(target).write(file.read_text(encoding="utf-8"), target)
    except Exception as error:  # each handler raises what its cloud library does
        raise ReportError(
            f"cannot write {target}: {_words(error)} (the file is kept in {file.parent}; papermill's handlers need "
            "their cloud's library, pip install 'papermill[all]', and its usual credentials)"
        ) from error


def fetch(name: str, place: str) -> str | None:
    """The text of ``name`` in the remote ``place``; None where it is not to be had."""
    try:
        text = _handler(f"{place}/{name}").read(f"{place}/{name}")
    except Exception:  # missing files raise something else for every cloud
        return None
    return text.decode("utf-8") if isinstance(text, bytes | bytearray) else text


def _handler(place: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return papermill_io.get_handler(place)


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
