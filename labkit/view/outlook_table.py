"""What was measured and what is predicted, side by side, as one tidy table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from labkit.analysis.every_k import Scores
from labkit.analysis.outlook import Outcome, Outlook, outlook
from labkit.records import FLAGS, Measurement

__all__ = ["as_table", "outcome_rows", "outlook_table"]

_COLUMNS = [
    "drafter", "method", "k", "temperature", "concurrency", "kind", "source", "speedup", "low", "high",
    "mean_acceptance_length", "tokens_per_step", "tpot_ms", "baseline_tpot_ms", "prompts", "fit_error", "note",
]  # fmt: skip


def outlook_table(
    measurements: Sequence[Measurement], scores: Scores | None = None, *, up_to: int = 8, confidence: float = 0.95
) -> pd.DataFrame:
    """One row per drafter, K and load, and per ``kind``: "measured", or "predicted" from a replay (``source``:
    "scored", "steps" or "cut", see :mod:`labkit.analysis.every_k`) and the cost model. ``fit_error``: the relative
    error of that model on cells it had not seen; NaN where none could be spared, and ``note`` says so, as it does of
    a measured row's flags. ``prompts``: how many were resampled for the interval.
    ``attrs["unknown"]``: what could not be told, a sentence each."""
    return as_table(outlook(measurements, scores, up_to=up_to, confidence=confidence), measurements)


def as_table(found: Outlook, measurements: Sequence[Measurement]) -> pd.DataFrame:
    """The table of an outlook that was made already, from ``measurements``."""
    method = {m.cell.spec.name: m.cell.spec.method for m in measurements}
    frame = outcome_rows(found.outcomes, method)
    frame = frame.sort_values(["kind", "drafter", "temperature", "concurrency", "k"], ignore_index=True)
    frame.attrs["drafters"] = sorted((name, of) for name, of in method.items() if of)
    frame.attrs["unknown"] = found.unknown
    return frame


def outcome_rows(outcomes: Sequence[Outcome], method: Mapping[str, str | None]) -> pd.DataFrame:
    """A row an outcome; ``method`` by drafter."""
    return pd.DataFrame([_row(o, method.get(o.candidate.drafter)) for o in outcomes], columns=_COLUMNS)


def _row(outcome: Outcome, method: str | None) -> dict[str, object]:
    c, made = outcome.candidate, outcome.prediction
    return {
        "drafter": c.drafter, "method": method, "k": c.k, "temperature": c.temperature, "concurrency": c.concurrency,
        "kind": "measured" if c.measured else "predicted", "source": outcome.source,
        "speedup": c.speedup.mid, "low": c.speedup.low, "high": c.speedup.high,
        "mean_acceptance_length": c.mean_acceptance_length, "tokens_per_step": outcome.tokens_per_step,
        "tpot_ms": 1000 * (made.tpot.mid if made else outcome.baseline_tpot / c.speedup.mid),
        "baseline_tpot_ms": 1000 * outcome.baseline_tpot, "prompts": outcome.prompts,
        "fit_error": made.fit_error if made and made.fit_error is not None else float("nan"),
        "note": made.caution if made else _flags_text(c.flags),
    }  # fmt: skip


def _flags_text(flags: Sequence[str]) -> str:
    """What is wrong with a cell; that outputs loop is not, for they are left out."""
    return "; ".join(f"{name}: {FLAGS[name]}" for name in flags if name != "degenerate")
