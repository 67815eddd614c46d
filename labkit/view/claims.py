"""Claimed and measured as a table, and where the claims were read."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from labkit.analysis.claims import Standing, set_beside
from labkit.records import Measurement
from labkit.references import Claim, Reference, load_references

__all__ = ["claims_table", "sources_table"]

_COLUMNS = ["source", "claim", "figure", "claimed", "measured", "low", "high", "cell", "comparable", "why"]


def claims_table(
    measurements: Sequence[Measurement], references: Sequence[Reference] | None = None, *, confidence: float = 0.95
) -> pd.DataFrame:
    """One row per published claim (default: those that come with labkit): source, claim (its words), figure, claimed
    (text), measured, low, high (own; NaN where there is none), cell (own), comparable ("yes", "partly", "no"), why
    (what differs, and what to mind)."""
    known = load_references() if references is None else references
    rows = [_row(standing) for standing in set_beside(known, measurements, confidence=confidence)]
    return pd.DataFrame(rows, columns=_COLUMNS)


def sources_table(references: Sequence[Reference] | None = None) -> pd.DataFrame:
    """One row per source of the claims: source, address ("" where it has none), title."""
    known = load_references() if references is None else references
    rows = [{"source": r.source.name, "address": r.source.url, "title": r.source.title} for r in known]
    return pd.DataFrame(rows, columns=["source", "address", "title"])


def _row(standing: Standing) -> dict[str, object]:
    claim, own = standing.claim, standing.own
    return {
        "source": ", ".join(filter(None, [standing.reference.source.name, claim.where])),
        "claim": claim.says,
        "figure": claim.figure.replace("_", " "),
        "claimed": "–".join(f"{value:g}" for value in dict.fromkeys(claim.value)) + _really(claim),
        "measured": own.mid,
        "low": own.low,
        "high": own.high,
        "cell": standing.cell,
        "comparable": standing.comparable,
        "why": "; ".join(standing.why),
    }


def _really(claim: Claim) -> str:
    return f" (really {claim.step.tokens})" if claim.step else ""
