"""Figures between measured temperatures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.interpolate import PchipInterpolator

from labkit.errors import PredictionError

__all__ = ["between"]


def between(temperatures: Sequence[float], values: Sequence[float], at: float) -> float:
    """The value at temperature ``at``: piecewise cubic through the measured ones, monotone wherever they are
    (Fritsch and Carlson 1980).

    Raises:
        PredictionError: fewer than two were measured, or ``at`` lies outside them; says what to measure.
    """
    x, y = np.asarray(temperatures, float), np.asarray(values, float)
    if x.size < 2 or not x.min() <= at <= x.max():
        known = ", ".join(f"{t:g}" for t in sorted(x)) or "none"
        raise PredictionError(f"T = {at:g} lies outside the measured temperatures ({known}); measure T = {at:g}")
    order = np.argsort(x)
    return float(PchipInterpolator(x[order], y[order])(at))
