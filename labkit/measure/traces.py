"""Traces: outputs with what a drafter would have proposed for them, one JSON object a line.

Either the drafter's choice at every output token, both from the first generated token on:

    {"output_token_ids": […], "draft_token_ids": […]}

or, where the proposal depends on where a step begins (``ngram``, ``suffix``), one entry per output position after
the first token: how many drafts in a row are right there, and how many are proposed (null: K, at every step):

    {"output_token_ids": […], "run_lengths": […], "drafted": […]}

``output_token_ids`` may be left out of the second form. Other keys (ids, categories) are not read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.errors import WorkloadError
from labkit.importers import read_text

__all__ = ["Trace", "read_traces"]


@dataclass(frozen=True, kw_only=True)
class Trace:
    """One output. ``where`` is its file and line; of ``draft_token_ids`` and ``run_lengths`` one is there, and
    ``drafted`` is None where every step has a draft of K."""

    where: str
    output_token_ids: tuple[int, ...] | None = None
    draft_token_ids: tuple[int, ...] | None = None
    run_lengths: tuple[int, ...] | None = None
    drafted: tuple[int, ...] | None = None


def read_traces(path: str | Path) -> list[Trace]:
    """All traces of a file; empty lines are skipped.

    Raises:
        WorkloadError: no such file, no trace in it, or a line that is none (named by file and line).
    """
    path = Path(path)
    text = read_text(path, what="trace")
    lines = enumerate(text.split("\n"), start=1)
    traces = [_trace(line, f"{path}:{number}") for number, line in lines if line.strip()]
    if not traces:
        raise WorkloadError(f"{path} holds no traces")
    return traces


def _trace(line: str, where: str) -> Trace:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise WorkloadError(f"{where}: not JSON: {error.msg} at column {error.colno}") from None
    except (ValueError, RecursionError) as error:
        raise WorkloadError(f"{where}: not JSON that can be used: {error}") from None
    if not isinstance(row, dict):
        raise WorkloadError(f"{where}: expected an object; got {type(row).__name__}")
    forms = [key for key in ("draft_token_ids", "run_lengths") if key in row]
    if len(forms) != 1:
        got = "both" if forms else f"keys {sorted(row)}"
        raise WorkloadError(f"{where}: expected either 'draft_token_ids' or 'run_lengths'; got {got}")
    return _of_drafts(row, where) if forms == ["draft_token_ids"] else _of_runs(row, where)


def _of_drafts(row: dict[str, Any], where: str) -> Trace:
    output, draft = _numbers(row, "output_token_ids", where), _numbers(row, "draft_token_ids", where)
    if not output:
        raise WorkloadError(f"{where}: 'output_token_ids' is empty; an output holds at least its first token")
    if len(output) != len(draft):
        raise WorkloadError(
            f"{where}: every output token needs a draft token, the first too; got {len(output)} and {len(draft)}"
        )
    return Trace(where=where, output_token_ids=output, draft_token_ids=draft)


def _of_runs(row: dict[str, Any], where: str) -> Trace:
    if "drafted" not in row:
        raise WorkloadError(f"{where}: 'run_lengths' needs 'drafted' beside it; null where every step has a draft of K")
    output = _numbers(row, "output_token_ids", where) if "output_token_ids" in row else None
    runs = _numbers(row, "run_lengths", where)
    drafted = _numbers(row, "drafted", where) if row["drafted"] is not None else None
    if output is not None and len(output) != len(runs) + 1:
        raise WorkloadError(
            f"{where}: an output of {len(output)} tokens has {max(len(output) - 1, 0)} positions after the first; "
            f"got {len(runs)} run lengths"
        )
    if drafted is not None and len(drafted) != len(runs):
        raise WorkloadError(
            f"{where}: every position needs one run length and one proposal; got {len(runs)} and {len(drafted)}"
        )
    return Trace(where=where, output_token_ids=output, run_lengths=runs, drafted=drafted)


def _numbers(row: dict[str, Any], key: str, where: str) -> tuple[int, ...]:
    values = row.get(key)
    if not isinstance(values, list):
        raise WorkloadError(f"{where}: {key!r} must be a list of whole numbers; got {values!r:.80}")
    for at, value in enumerate(values):
        if type(value) is not int or not 0 <= value < 2**31:
            raise WorkloadError(f"{where}: {key!r} must hold whole numbers ≥ 0; got {value!r:.80} at entry {at}")
    return tuple(values)
