"""Traces: outputs with what a drafter would have proposed for them, one JSON object a line.

Either the drafter's choice at every output token, both from the first generated token on:

    {"output_token_ids": […], "draft_token_ids": […]}

or, where the proposal depends on where a step begins (``ngram``, ``suffix``), one entry per output position after
the first token: how many drafts in a row are right there, and how many are proposed (null: K, at every step):

    {"output_token_ids": […], "run_lengths": […], "drafted": […]}

or, where drafts are sampled, the probability that the draft at each output position after the first is accepted:

    {"output_token_ids": […], "acceptance_probs": […], "drafted": null}

``output_token_ids`` may be left out of the last two. ``prompt_id`` says which outputs answer the same prompt, and
are resampled together; other keys are not read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from labkit.errors import WorkloadError
from labkit.importers import read_text

__all__ = ["Trace", "read_traces", "write_traces"]

_FORMS = ("draft_token_ids", "run_lengths", "acceptance_probs")


@dataclass(frozen=True, kw_only=True)
class Trace:
    """One output. ``where`` is its file and line, or what it was made from; of ``draft_token_ids``,
    ``run_lengths`` and ``acceptance_probs`` one is there, and ``drafted`` is None where every step has a draft of
    K."""

    where: str
    prompt_id: str | None = None
    output_token_ids: tuple[int, ...] | None = None
    draft_token_ids: tuple[int, ...] | None = None
    run_lengths: tuple[int, ...] | None = None
    acceptance_probs: tuple[float, ...] | None = None
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


def write_traces(path: str | Path, traces: Sequence[Trace]) -> None:
    """One line a trace, the whole file at once."""
    path = Path(path)
    lines = []
    for trace in traces:
        row = {key: value for key, value in asdict(trace).items() if value is not None and key != "where"}
        if trace.draft_token_ids is None:
            row["drafted"] = trace.drafted
        lines.append(json.dumps(row, separators=(",", ":")))
    new = path.with_suffix(".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.write_text("\n".join(lines) + "\n", encoding="utf-8")
        os.replace(new, path)
    except OSError as error:
        raise WorkloadError(
            f"cannot write {path}: {error.strerror}; give a file in a folder that can be written"
        ) from None


def _trace(line: str, where: str) -> Trace:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise WorkloadError(f"{where}: not JSON: {error.msg} at column {error.colno}") from None
    except (ValueError, RecursionError) as error:
        raise WorkloadError(f"{where}: not JSON that can be used: {error}") from None
    if not isinstance(row, dict):
        raise WorkloadError(f"{where}: expected an object; got {type(row).__name__}")
    forms = [key for key in _FORMS if key in row]
    if len(forms) != 1:
        got = " and ".join(forms) if forms else f"keys {sorted(row)}"
        raise WorkloadError(f"{where}: expected one of {', '.join(map(repr, _FORMS))}; got {got}")
    prompt_id = str(row["prompt_id"]) if row.get("prompt_id") is not None else None
    made = _of_drafts(row, where) if forms == ["draft_token_ids"] else _of_positions(row, forms[0], where)
    return Trace(where=where, prompt_id=prompt_id, **made)


def _of_drafts(row: dict[str, Any], where: str) -> dict[str, Any]:
    output, draft = _numbers(row, "output_token_ids", where), _numbers(row, "draft_token_ids", where)
    if not output:
        raise WorkloadError(f"{where}: 'output_token_ids' is empty; an output holds at least its first token")
    if len(output) != len(draft):
        raise WorkloadError(
            f"{where}: every output token needs a draft token, the first too; got {len(output)} and {len(draft)}"
        )
    return {"output_token_ids": output, "draft_token_ids": draft}


def _of_positions(row: dict[str, Any], form: str, where: str) -> dict[str, Any]:
    if "drafted" not in row:
        raise WorkloadError(f"{where}: {form!r} needs 'drafted' beside it; null where every step has a draft of K")
    output = _numbers(row, "output_token_ids", where) if row.get("output_token_ids") is not None else None
    values = _numbers(row, form, where) if form == "run_lengths" else _shares(row, form, where)
    drafted = _numbers(row, "drafted", where) if row["drafted"] is not None else None
    if output is not None and len(output) != len(values) + 1:
        raise WorkloadError(
            f"{where}: an output of {len(output)} tokens has {max(len(output) - 1, 0)} positions after the first; "
            f"got {len(values)} {form.replace('_', ' ')}"
        )
    if drafted is not None and len(drafted) != len(values):
        raise WorkloadError(
            f"{where}: every position needs one of {form!r} and one proposal; got {len(values)} and {len(drafted)}"
        )
    return {"output_token_ids": output, form: values, "drafted": drafted}


def _numbers(row: dict[str, Any], key: str, where: str) -> tuple[int, ...]:
    values = row.get(key)
    if not isinstance(values, list):
        raise WorkloadError(f"{where}: {key!r} must be a list of whole numbers; got {values!r:.80}")
    for at, value in enumerate(values):
        if type(value) is not int or not 0 <= value < 2**31:
            raise WorkloadError(f"{where}: {key!r} must hold whole numbers ≥ 0; got {value!r:.80} at entry {at}")
    return tuple(values)


def _shares(row: dict[str, Any], key: str, where: str) -> tuple[float, ...]:
    values = row.get(key)
    if not isinstance(values, list):
        raise WorkloadError(f"{where}: {key!r} must be a list of probabilities; got {values!r:.80}")
    for at, value in enumerate(values):
        if type(value) not in (int, float) or not 0 <= value <= 1:
            raise WorkloadError(f"{where}: {key!r} must lie between 0 and 1; got {value!r:.80} at entry {at}")
    return tuple(map(float, values))
