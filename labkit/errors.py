"""What can go wrong, and with which exit code the command line answers it.

    LabError
    ├── UsageError              2  the request cannot be carried out as written; nothing was started
    │   ├── ConfigError            a value in a config, a plan or on the command line
    │   ├── WorkloadError          a file of prompts or traces (names file and line)
    │   └── StoreError             a run folder: missing, unreadable, of another plan
    ├── IncompatibleError       1  a launch that cannot work as meant; nothing was started
    ├── EngineError             1  an engine did not start, is not what was asked for, or died
    ├── MeasurementError        1  a measurement could not be completed
    ├── PredictionError         1  asked for what the measured cells do not determine (names the cell to measure)
    └── ReportError             1  a notebook failed or a report is not whole

Every message says what was got, what is allowed, and what to do next.  Errors of other libraries are
translated where they enter (HTTP in ``engine`` and ``measure``, YAML and JSON in ``config`` and
``store``) and nowhere else.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "LabError", "UsageError", "ConfigError", "WorkloadError", "StoreError",
    "IncompatibleError", "EngineError", "MeasurementError", "PredictionError", "ReportError", "did_you_mean",
]  # fmt: skip


class LabError(Exception):
    """Base of all errors a user of labkit is meant to read."""

    exit_code = 1


class UsageError(LabError):
    exit_code = 2


class ConfigError(UsageError):
    pass


class WorkloadError(UsageError):
    pass


class StoreError(UsageError):
    pass


class IncompatibleError(LabError):
    pass


class EngineError(LabError):
    pass


class MeasurementError(LabError):
    pass


class PredictionError(LabError):
    pass


class ReportError(LabError):
    pass


def did_you_mean(got: str, allowed: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` when one of ``allowed`` is close to ``got``, else ``""``."""
    close = difflib.get_close_matches(got, list(allowed), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
