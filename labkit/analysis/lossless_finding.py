"""What each test of an audit found, in numbers a reader can weigh: how many tokens, how large the deviation, and the
smallest one that would have been seen.

*Conventions*: ``ratio`` is of what was found to what is right, 1 where nothing is wrong:

| test | ratio |
|---|---|
| groups of tokens, recovered token | effective temperature / T |
| acceptance | accepted drafts / the sum of p(d) |
| outside | share outside / the control's share, or the tail's upper bound; None without any to divide by |

``visible`` is the ratio above 1 that is found with chance 0.9, for ``outside`` the share of tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, log
from typing import Any

import numpy as np
from scipy.stats import gamma

from labkit.analysis.bootstrap import Interval
from labkit.analysis.lossless_bets import HEATS, WEIGHTS, surprisal, surprisal_variance
from labkit.analysis.lossless_drafts import ACCEPTANCE_TILTS, draft_logp, recovered, verified
from labkit.analysis.lossless_effect import heat, ks_p, share, variation, variation_at_least
from labkit.analysis.lossless_family import ACCEPTANCE, OUTSIDE, RECOVERED, Family, generator
from labkit.analysis.lossless_pit import Tokens, rank_pit
from labkit.analysis.sequential import POWER, smallest_visible

__all__ = ["Finding", "describe", "visible_heat"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """``p`` is corrected for the whole family and valid at every stopping time; ``fault``: p ≤ α. ``variation`` is the
    total variation per token were the deviation one of temperature, ``variation_at_least`` whatever it is.
    ``surprisal_z`` and ``ks_p`` are the customary figures for one look, to read beside the verdict."""

    test: str
    tokens: int
    p: float
    fault: bool
    ratio: Interval | None = None
    visible: float | None = None
    variation: Interval | None = None
    variation_at_least: float | None = None
    surprisal_z: float | None = None
    ks_p: float | None = None

    def plain(self) -> dict[str, Any]:
        """Fields of ``labkit audit --json``; None where a number is not defined."""

        def number(value: float | None) -> float | None:
            return value if value is not None and isfinite(value) else None

        def bounds(value: Interval | None) -> list[float | None] | None:
            return value and [number(value.low), number(value.mid), number(value.high)]

        return {
            "test": self.test, "tokens": self.tokens, "p": self.p, "fault": self.fault,
            "ratio": bounds(self.ratio), "smallest_visible": number(self.visible), "variation": bounds(self.variation),
            **{name: number(getattr(self, name)) for name in ("variation_at_least", "surprisal_z", "ks_p")},
        }  # fmt: skip


def describe(
    tokens: Tokens, control: Tokens | None, family: Family, p: Mapping[str, float], *, alpha: float
) -> tuple[Finding, ...]:
    """A finding for every test of the family, in its order."""
    inside, wanted = tokens.where(tokens.inside), log(len(p) / alpha)
    u = rank_pit(inside.logp, inside.column, generator(0))
    found: dict[str, dict[str, Any]] = {}
    for name, mask in family.groups(inside).items():
        found[name] = _group(inside.where(mask), u[mask], wanted)
    if family.drafts:
        checked = verified(tokens)
        found[ACCEPTANCE], found[RECOVERED] = _acceptance(checked, wanted), _recovered(checked, wanted)
    if OUTSIDE in p:
        found[OUTSIDE] = _outside(tokens, control, wanted)
    return tuple(Finding(test=name, p=p[name], fault=p[name] <= alpha, **found[name]) for name in family.names)


def _group(tokens: Tokens, u: np.ndarray, wanted: float) -> dict[str, Any]:
    if not len(tokens):
        return {"tokens": 0}
    ratio, information = heat(tokens.logp, tokens.column), surprisal_variance(tokens.logp).sum()
    return {
        "tokens": len(tokens),
        "ratio": ratio,
        "visible": visible_heat(information, wanted),
        "variation": variation(tokens.logp, ratio),
        "variation_at_least": variation_at_least(u),
        "surprisal_z": surprisal(tokens.logp, tokens.column),
        "ks_p": ks_p(u),
    }


def visible_heat(information: float, wanted: float, *, stake: float = float(WEIGHTS[0])) -> float:
    """The smallest τ/T that a test with this much ``information`` sees; ``stake`` is on each temperature."""
    return float(np.exp(smallest_visible(information, HEATS, log_wanted=wanted - log(stake))))


def _acceptance(checked: Tokens, wanted: float) -> dict[str, Any]:
    """Observed over expected acceptances, with an interval from Σp(1 - p)."""
    p = np.exp(draft_logp(checked))
    expected, variance = p.sum(), (p * (1 - p)).sum()
    if not expected:
        return {"tokens": len(checked)}
    accepted, error = checked.accepted.sum(), 1.96 * np.sqrt(variance)
    tilt = smallest_visible(variance, ACCEPTANCE_TILTS, log_wanted=wanted + log(len(ACCEPTANCE_TILTS)))
    low, mid, high = ((accepted + step) / expected for step in (-error, 0, error))
    return {
        "tokens": len(checked),
        "ratio": Interval(low=float(low), mid=float(mid), high=float(high)),
        "visible": float(1 + tilt * variance / expected),
    }


def _recovered(checked: Tokens, wanted: float) -> dict[str, Any]:
    found = recovered(checked)
    other = ~found.same
    if not other.any():
        return {"tokens": len(found.same)}
    logp, column = found.logp[other], found.column[other]
    stake = float(WEIGHTS[0]) / 2
    return {
        "tokens": len(found.same),
        "ratio": heat(logp, column),
        "visible": visible_heat(surprisal_variance(logp).sum(), wanted, stake=stake),
        "surprisal_z": surprisal(logp, column),
        "ks_p": ks_p(rank_pit(logp, column, generator(1))),
    }


def _outside(tokens: Tokens, control: Tokens | None, wanted: float) -> dict[str, Any]:
    """With equally many tokens in a control that has none outside, each hit doubles the stake: ``visible`` is the
    share that gives enough of them with chance POWER."""
    hits, n = int(tokens.outside.sum()), len(tokens)
    normal = tokens.tail[:, 1].mean() if tokens.tail.any() else control.outside.mean() if control is not None else 0.0
    measured = share(hits, n)
    ratio = Interval(**{end: getattr(measured, end) / normal for end in ("low", "mid", "high")}) if normal else None
    needed = np.ceil((wanted + log(3)) / log(2 * 100 / 101))
    return {"tokens": n, "ratio": ratio, "visible": None if tokens.tail.any() else float(gamma.ppf(POWER, needed) / n)}
