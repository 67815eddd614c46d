"""Where reports go besides a folder: every remote place that papermill can write to (s3://, gs://, abs://, …), with
papermill's own handlers, so that a handler someone installs for it works here as well.

What follows a ``?`` in a place (the access token of abs://) stays behind the name of the file, out of every message.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

from papermill.exceptions import PapermillOptionalDependencyException
from papermill.iorw import papermill_io

from labkit.errors import ConfigError, ReportError

__all__ = ["is_remote", "checked", "put"]

#: papermill writes to them only what is JSON.
_JSON_ONLY = ("http://", "https://")


def is_remote(place: str) -> bool:
    return re.match(r"[a-z][a-z0-9+.-]*://", place, re.IGNORECASE) is not None


def checked(place: str) -> str:
    """``place`` as it was given.

    Raises:
        ConfigError: papermill has no handler for its scheme that takes whole reports.
    """
    if place.startswith(_JSON_ONLY) or _handler(place) is _handler("folder"):
        raise ConfigError(
            f"papermill cannot write reports to {place}; give a folder, or s3://, gs://, abs://, adl://, hdfs:// or a "
            "scheme whose papermill handler is installed"
        )
    return place


def put(name: str, text: str, place: str) -> None:
    """Write ``text`` as the file ``name`` into the remote ``place``.

    Raises:
        ConfigError: the library of that cloud is not installed; names papermill's extra for it.
        ReportError: the place does not take it.
    """
    folder, mark, token = place.partition("?")
    target = f"{folder.rstrip('/')}/{name}"
    try:
        _handler(target).write(text, target + mark + token)
    except PapermillOptionalDependencyException as error:
        raise ConfigError(f"cannot write {target}: {error}") from None
    except Exception as error:  # each handler raises what its cloud's library does
        said = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise ReportError(f"cannot write {target}: {said.replace(token, '…') if token else said}") from None


def _handler(place: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return papermill_io.get_handler(place)
