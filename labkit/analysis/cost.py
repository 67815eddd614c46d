"""What a decode step costs, fitted on measured cells, and how wrong the fit is on cells it has not seen.

The model is the line of :mod:`labkit.analysis.step_line`, by non-negative least squares on relative errors; a and b are
shared by all drafters.

What the cells cannot tell apart is left out: b, g and d where all batches are one, so that a, e and c hold them; e and
g of a drafter measured at one K. Such coefficients describe the measured cells and no others (at one batch above 1 also
their share of drafted steps), so nothing is answered outside the range of K and B that was measured, nor inside it
where the cells do not determine the answer.

*Conventions*: seconds; B is the mean running batch, not the number of users; a drafter of None is the baseline.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import nnls

from labkit.analysis.step_line import CostCell, Line, Share, same_batch, terms
from labkit.errors import PredictionError

__all__ = ["CostCell", "CostModel", "LeftOut", "fit_cost", "REACH"]

#: A batch counts as measured up to this factor beyond the smallest and the largest.
REACH = 1.1
#: So many errors of a drafter's own cells are enough to know the fit's error by.
ENOUGH = 3
#: Directions in which cells differ less than this (of their largest difference) are not told apart.
RESOLUTION = 1e-3


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A cell predicted by a fit without it; ``error`` is predicted / measured − 1."""

    cell: CostCell
    error: float


@dataclass(frozen=True, kw_only=True)
class CostModel:
    """Coefficients by name: ``a``, ``b`` and, for a drafter D, ``e:D``, ``g:D``, ``c:D``, ``d:D``; those that the
    cells cannot tell apart are missing. ``left_out`` holds the leave-one-cell-out errors."""

    coefficients: dict[str, float]
    cells: tuple[CostCell, ...]
    left_out: tuple[LeftOut, ...] = ()

    def step_seconds(self, drafter: str | None, k: int, batch: float, *, drafted_share: Share = 1.0) -> Share:
        """Predicted mean duration of a decode step, seconds. ``drafted_share``: of a request's steps, 0 to 1; for an
        array [replicate] an array of the same shape, and its first entry decides whether the cells tell.

        Raises:
            PredictionError: the cells do not determine it, says which cell to measure; or the share is not known.
        """
        usual = float(np.ravel(drafted_share)[0])
        if math.isnan(usual):
            raise PredictionError(f"no decode step tells how often {drafter} drafts; measure longer outputs")
        asked = CostCell(drafter=drafter, k=k, batch=batch, step_seconds=1.0, drafted_share=usual)
        if why := _refusal(self.cells, list(self.coefficients), asked):
            raise PredictionError(why)
        return Line(self.coefficients, self.cells).seconds(drafter, k, batch, drafted_share)

    def errors(self, drafter: str, batch: float) -> list[float]:
        """Leave-one-cell-out errors that tell how wrong the fit is for ``drafter`` at a batch: of its own cells there,
        and of all drafters' there where its own are fewer than ENOUGH; none where no cell of its own can be spared."""
        there = [row for row in self.left_out if same_batch(row.cell.batch, batch)]
        own = [row.error for row in there if row.cell.drafter == drafter]
        return own if not own or len(own) >= ENOUGH else [row.error for row in there]

    def error(self, drafter: str, batch: float) -> float | None:
        """Their root mean square; None where there is none."""
        errors = self.errors(drafter, batch)
        return math.sqrt(sum(error**2 for error in errors) / len(errors)) if errors else None

    def next_cell(self, drafter: str, batch: float) -> CostCell | None:
        """The cell to measure so that ``drafter`` gets an error estimate at a batch (``step_seconds`` is a blank 1):
        one that is enough alone, else the first of several. None where there is an estimate."""
        if self.error(drafter, batch) is not None:
            return None
        own = [cell for cell in self.cells if cell.drafter == drafter]
        if not own:
            raise PredictionError(f"{drafter} was not measured; measure it at two K at least")
        wanted = list(_candidates(own, batch))
        return next((cell for cell in wanted if _spares_one([*self.cells, cell], drafter, batch)), wanted[0])


def fit_cost(cells: Sequence[CostCell]) -> CostModel:
    """Fit the model to measured cells and find its leave-one-cell-out errors.

    A cell is left out, with all cells of the same drafter, K and batch, only where the others would answer for
    it: an end cell if another lies as far out, and never without a spare degree of freedom.

    Raises:
        PredictionError: no baseline was measured.
    """
    if not any(cell.k == 0 for cell in cells):
        raise PredictionError("the baseline was not measured, and every step time starts from it; measure K = 0")
    names = _told_apart(cells)
    left_out = []
    for cell in cells:
        if rest := _rest(cells, names, cell):
            error = Line(_solve(rest, names), rest).of(cell) / cell.step_seconds - 1
            left_out.append(LeftOut(cell=cell, error=error))
    return CostModel(coefficients=_solve(cells, names), cells=tuple(cells), left_out=tuple(left_out))


def _rows(cells: Sequence[CostCell], names: Sequence[str]) -> np.ndarray:
    """Terms [cell, coefficient] as parts of each cell's own step time."""
    return np.array([[terms(cell).get(name, 0.0) / cell.step_seconds for name in names] for cell in cells])


def _solve(cells: Sequence[CostCell], names: Sequence[str]) -> dict[str, float]:
    found, _ = nnls(_rows(cells, names), np.ones(len(cells)))
    return dict(zip(names, map(float, found), strict=True))


def _told_apart(cells: Sequence[CostCell]) -> list[str]:
    """Coefficients that ``cells`` can tell apart."""
    names = ["a", "b"] if _several_batches(cells) else ["a"]
    for drafter in sorted({cell.drafter for cell in cells if cell.drafter}):
        own = [cell for cell in cells if cell.drafter == drafter]
        several_k, several_batches = len({cell.k for cell in own}) > 1, _several_batches(own)
        names += [f"e:{drafter}"] if several_k else []
        names += [f"g:{drafter}"] if several_k and several_batches else []
        names += [f"c:{drafter}"]
        names += [f"d:{drafter}"] if several_batches else []
    return names


def _several_batches(cells: Sequence[CostCell]) -> bool:
    return not same_batch(min(cell.batch for cell in cells), max(cell.batch for cell in cells))


def _refusal(cells: Sequence[CostCell], names: Sequence[str], asked: CostCell) -> str | None:
    """Why ``cells`` do not answer for ``asked``, and the cell to measure; None where they do."""
    own = [cell for cell in cells if cell.drafter == asked.drafter]
    if not own:
        return f"{asked.drafter or 'the baseline'} was not measured; measure {asked.label}"
    ks, batches = sorted({cell.k for cell in own}), [cell.batch for cell in own]
    if not ks[0] <= asked.k <= ks[-1]:
        return f"K = {asked.k} of {asked.drafter} lies outside the measured K ({_span(ks)}); measure {asked.label}"
    if not min(batches) / REACH <= asked.batch <= max(batches) * REACH:
        return (
            f"a running batch of {asked.batch:.3g} lies outside what was measured of "
            f"{asked.drafter or 'the baseline'} ({_span(batches)}); measure {asked.label}"
        )
    if not _determined(_rows(cells, names), _rows([asked], names)[0]):
        return f"the measured cells of {asked.drafter} leave its costs open; measure {asked.label}"
    if asked.k and asked.drafted_share < 1:
        plain = CostCell(drafter=None, k=0, batch=asked.batch, step_seconds=1.0)
        return _refusal(cells, names, plain)
    return None


def _span(values: Sequence[float]) -> str:
    low, high = f"{min(values):.3g}", f"{max(values):.3g}"
    return f"{low} only" if low == high else f"{low} to {high}"


def _determined(rows: np.ndarray, asked: np.ndarray) -> bool:
    """Whether ``asked`` is a mixture of ``rows``, so that every fit of these gives it the same time."""
    norms = np.linalg.norm(rows, axis=0)
    norms[norms == 0] = 1.0
    rows, asked = rows / norms, asked / norms
    mixture, *_ = np.linalg.lstsq(rows.T, asked, rcond=RESOLUTION)
    return bool(np.linalg.norm(rows.T @ mixture - asked) <= 10 * RESOLUTION * np.linalg.norm(asked))


def _rest(cells: Sequence[CostCell], names: Sequence[str], cell: CostCell) -> list[CostCell] | None:
    """The cells other than the drafted ``cell`` and its repetitions, where they answer for it; else None."""
    rest = [other for other in cells if not _same_place(cell, other)]
    return rest if cell.k and _refusal(rest, names, cell) is None else None


def _same_place(one: CostCell, other: CostCell) -> bool:
    return (one.drafter, one.k) == (other.drafter, other.k) and same_batch(one.batch, other.batch)


def _spares_one(cells: Sequence[CostCell], drafter: str, batch: float) -> bool:
    names = _told_apart(cells)
    own = [cell for cell in cells if cell.drafter == drafter and same_batch(cell.batch, batch)]
    return any(_rest(cells, names, cell) for cell in own)


def _candidates(own: Sequence[CostCell], wanted: float) -> Iterator[CostCell]:
    """Cells of a drafter that were not measured: at the ``wanted`` batch first, then at measured ones; K near the
    middle of its range first."""
    ks, levels = [cell.k for cell in own], []
    for cell in sorted(own, key=lambda cell: cell.batch):
        if not levels or not same_batch(levels[-1], cell.batch):
            levels.append(cell.batch)
    between = [math.sqrt(low * high) for low, high in pairwise(levels)]
    middle = (min(ks) + max(ks)) / 2
    levels.sort(key=lambda level: not same_batch(level, wanted))
    for batch in [*levels, *between]:
        for k in sorted(range(1, max(ks) + 3), key=lambda k: (abs(k - middle), k)):
            cell = CostCell(drafter=own[0].drafter, k=k, batch=batch, step_seconds=1.0)
            if not any(_same_place(cell, other) for other in own):
                yield cell
