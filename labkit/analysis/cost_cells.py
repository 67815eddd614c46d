"""From measurements to the cells of the cost model.

Blocks of one (drafter, K, temperature, concurrency) are pooled: sums over requests first, then ratios.

*Step time*: TPOT × tokens per step. *Drafted share*: drafted steps / all decode steps. *Mean running batch*: a request
decodes from its first to its last token; B is how many decode, averaged over the decode time of all requests. It is
the batch that the steps counted above saw: each step counts once for every request in it, in both. (The average over
wall time is lower wherever the batch drains at the end, and pairs slow steps with too small a batch.)

*Conventions*: seconds; a drafter of None is the baseline.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from labkit.analysis.acceptance import decode_steps, tokens_per_step
from labkit.analysis.speedup import cell_tpot
from labkit.analysis.step_line import CostCell
from labkit.records import Measurement, RequestRecord

__all__ = ["CostCells", "cost_cells", "running_batch"]

#: Flags of a cell whose batch or step times are not those of its requests.
_SPOILED = ("reset", "method_mismatch", "contaminated", "not_quiescent", "client_bound")


@dataclass(frozen=True, kw_only=True)
class CostCells:
    """``left_out``: one sentence for each cell that could not be used."""

    cells: tuple[CostCell, ...]
    left_out: tuple[str, ...]


def cost_cells(measurements: Sequence[Measurement]) -> CostCells:
    """Cells of the cost model from ``measurements``, baselines first."""
    pooled, left_out = defaultdict(list), []
    for m in measurements:
        if spoiled := next(filter(None, map(m.flag, _SPOILED)), None):
            left_out.append(f"{m.cell.label}: {spoiled.name}, {spoiled.reason}")
        else:
            place = (m.cell.spec.k, m.cell.spec.name, m.cell.sampling.temperature, m.cell.concurrency)
            pooled[place].append(m)
    cells = []
    for _, group in sorted(pooled.items()):
        cell = _cost_cell(group)
        if isinstance(cell, str):
            left_out.append(f"{group[0].cell.spec.label}, concurrency {group[0].cell.concurrency}: {cell}")
        else:
            cells.append(cell)
    return CostCells(cells=tuple(cells), left_out=tuple(left_out))


def running_batch(runs: Sequence[Sequence[RequestRecord]]) -> float:
    """Requests that decode at once, averaged over the decode time of all requests of all ``runs`` (a run: what
    shared an engine). NaN without any decode time."""
    shared = total = 0.0
    for records in runs:
        timed = [r for r in records if r.t_first is not None and r.t_last is not None]
        begin, end = (np.array([r.sent + getattr(r, name) for r in timed]) for name in ("t_first", "t_last"))
        overlap = np.minimum.outer(end, end) - np.maximum.outer(begin, begin)
        shared += overlap.clip(min=0).sum()
        total += (end - begin).sum()
    return float(shared / total) if total else float("nan")


def _cost_cell(group: Sequence[Measurement]) -> CostCell | str:
    """One cell from its blocks; else why not."""
    spec, batch = group[0].cell.spec, running_batch([m.records for m in group])
    records = [r for m in group for r in m.records if r.tpot is not None and not r.error]
    if not (batch > 0 and cell_tpot(records) > 0):
        return "no request tells how long its decode steps took"
    per_step, share = 1.0, 0.0
    if spec.k:
        if all(r.per_step_accepted is None for r in records):
            return "the server sent no per-step acceptance, so the steps cannot be counted"
        records = [_without_gaps(r) for r in records]
        steps, drafted = sum(map(decode_steps, records)), sum(len(r.per_step_accepted) for r in records)
        per_step, share = tokens_per_step(records), drafted / steps
    return CostCell(
        drafter=spec.name if spec.k else None, k=spec.k, batch=batch,
        step_seconds=cell_tpot(records) * per_step, drafted_share=share if spec.k else 1.0,
    )  # fmt: skip


def _without_gaps(record: RequestRecord) -> RequestRecord:
    """A server that sends the arrays leaves them out where no step of the request drafted."""
    return record if record.per_step_accepted is not None else replace(record, per_step_accepted=())
