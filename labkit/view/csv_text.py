"""A tidy table as CSV (RFC 4180): all digits, nothing where a value is unknown, no cell of text that a spreadsheet
would take for a formula, and none that is longer than it can hold."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from labkit.view.readable import cut

__all__ = ["csv_text"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_LONGEST = 32_700  # characters; spreadsheets end at 32,767, and a page must hold a completion of any length


def csv_text(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """``rows`` under the names of their ``columns``."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([_cell(row[column]) for column in columns] for row in rows)
    return text.getvalue().encode("utf-8", "replace").decode()  # half characters of a cut stream


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return f"'{cut(value, _LONGEST)}" if value.startswith(_FORMULA) else cut(value, _LONGEST)
    unknown = value is None or value != value  # only NaN is unequal to itself
    return "" if unknown else value
