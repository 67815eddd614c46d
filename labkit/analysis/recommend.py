"""Which drafter and K to switch on, or none, and why.

The best lower bound of the speedup decides; within 1 % of it the smaller K. What that is worth is the *verdict*:

| verdict | when | choice |
|---|---|---|
| "faster" | the interval of the best lies above 1 | that candidate |
| "not proven" | it covers 1, or no interval is whole (see Candidate) | that candidate; "off" where its figure is ≤ 1 |
| "slower" | every interval lies below 1 | "off" |
| "no evidence" | there is no candidate that may be recommended | "off" |

*Conventions*: speedup is against K = 0 at the same temperature and concurrency, so candidates of one load are
compared and no others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from labkit.analysis.bootstrap import Interval
from labkit.errors import ConfigError

__all__ = ["Candidate", "Recommendation", "barred", "recommend", "recommend_by_load", "TIE", "SUSPICIOUS"]

#: Lower bounds within this share of the best count as equal.
TIE = 0.01
#: An acceptance length of K plus this means that nearly all drafts are accepted: a broken measurement, or prompts
#: that repeat.
SUSPICIOUS = 0.95
#: Flags that bar a candidate, with what the user is told.
BARRED = {
    "synthetic": "its prompts or its acceptance are synthetic",
    "contaminated": "other clients used the engine meanwhile",
    "reset": "the engine restarted meanwhile",
    "method_mismatch": "the engine ran another method or K",
    "incompatible": "preflight finds it incompatible",
}
_INCOMPLETE = "there is no error estimate of its prediction, so its interval is too narrow to compare; measure it"


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A speedup, measured or predicted. ``whole_interval``: the interval holds every error it should; a prediction
    without an error estimate of the fit has none such. ``flags`` are those of the cell and of its baseline.
    ``prompts``: how many were resampled; ``one_launch``: engines were not started often enough to resample launches
    too; ``approximate``: predicted from the steps of another K of a drafter whose drafts depend on K.
    ``objections`` bar it whatever its speed, ``audit`` says what is known of its losslessness
    (:mod:`labkit.analysis.objections`)."""

    drafter: str
    k: int
    temperature: float
    concurrency: int
    speedup: Interval
    measured: bool = True
    whole_interval: bool = True
    mean_acceptance_length: float | None = None
    flags: tuple[str, ...] = ()
    prompts: int | None = None
    one_launch: bool = False
    approximate: bool = False
    objections: tuple[str, ...] = ()
    audit: str = ""

    @property
    def label(self) -> str:
        return f"{self.drafter} K={self.k}"


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """``choice`` is None for "off". ``speedup`` is that of the choice, where "off" of the candidate that came
    nearest to it; None without evidence."""

    verdict: str
    choice: Candidate | None
    speedup: Interval | None
    why: tuple[str, ...]

    def plain(self) -> dict[str, Any]:
        """The fields of ``labkit recommend --json``."""
        bounds = self.speedup and [self.speedup.low, self.speedup.mid, self.speedup.high]
        choice = {"drafter": self.choice.drafter, "k": self.choice.k} if self.choice else "off"
        return {"choice": choice, "speedup": bounds, "verdict": self.verdict, "why": list(self.why)}


def recommend(candidates: Sequence[Candidate]) -> Recommendation:
    """The best of ``candidates``, all of one temperature and concurrency.

    Raises:
        ConfigError: they are of several loads; see :func:`recommend_by_load`.
    """
    loads = sorted({(c.temperature, c.concurrency) for c in candidates})
    if len(loads) > 1:
        raise ConfigError(f"candidates of one temperature and concurrency can be compared; got {loads}")
    whole = any(c.whole_interval and not barred(c) for c in candidates)
    reasons = [(c, barred(c) or (_INCOMPLETE if whole and not c.whole_interval else None)) for c in candidates]
    left_out = tuple(f"{c.label} is left out: {reason}." for c, reason in reasons if reason)
    usable = [c for c, reason in reasons if not reason]
    if not usable:
        first = "Nothing that was measured may be recommended." if candidates else "Nothing can be compared."
        return Recommendation(verdict="no evidence", choice=None, speedup=None, why=(first, *left_out))
    best = max(usable, key=lambda c: (c.speedup.low, -c.k))
    chosen = min((c for c in usable if _ties(c, best)), key=lambda c: (c.k, -c.speedup.low))
    verdict = _verdict(chosen, usable)
    off = verdict == "slower" or (verdict == "not proven" and chosen.speedup.mid <= 1)
    said = _off(chosen, verdict) if off else (*_on(chosen, best, verdict), *_edges(chosen, best, candidates))
    why = (*said, *_doubts(chosen, off), *left_out)
    return Recommendation(verdict=verdict, choice=None if off else chosen, speedup=chosen.speedup, why=why)


def recommend_by_load(candidates: Sequence[Candidate]) -> dict[tuple[float, int], Recommendation]:
    """A recommendation for each (temperature, concurrency) among ``candidates``."""
    loads = defaultdict(list)
    for candidate in candidates:
        loads[candidate.temperature, candidate.concurrency].append(candidate)
    return {load: recommend(loads[load]) for load in sorted(loads)}


def barred(c: Candidate) -> str | None:
    """Why ``c`` must not be recommended; None where it may."""
    if c.objections:
        return "; ".join(c.objections)
    for flag, reason in BARRED.items():
        if flag in c.flags:
            return reason
    length = c.mean_acceptance_length
    if length is not None and length >= c.k + SUSPICIOUS:
        return f"an acceptance length of {length:.2f} of at most {c.k + 1} is suspicious (do its prompts repeat?)"
    if any(map(isnan, (c.speedup.low, c.speedup.mid, c.speedup.high))):
        return "its speedup has no interval: too few prompts count, and looping outputs do not; measure more prompts"
    return None


def _ties(c: Candidate, best: Candidate) -> bool:
    """Whether the lower bound of ``c`` is as good as the best; a proven gain is not given away for a smaller K."""
    proven = c.speedup.low > 1 or best.speedup.low <= 1
    return proven and c.speedup.low >= best.speedup.low * (1 - TIE)


def _verdict(chosen: Candidate, usable: Sequence[Candidate]) -> str:
    if not chosen.whole_interval:
        return "not proven"
    if all(c.speedup.high < 1 for c in usable):
        return "slower"
    return "faster" if chosen.speedup.low > 1 else "not proven"


def _on(chosen: Candidate, best: Candidate, verdict: str) -> list[str]:
    said = [f"{chosen.label} has the best lower bound of the speedup: {_bounds(chosen)}."]
    if chosen is not best:
        said = [f"{chosen.label} is the smallest K within 1 % of the best lower bound: {_bounds(chosen)}."]
        said.append(f"{best.label} has that bound: {_bounds(best)}.")
    if verdict == "not proven" and chosen.speedup.low <= 1:
        said.append("Not proven: the interval covers 1, so it may gain nothing. Measure more prompts or blocks first.")
    return said


def _off(chosen: Candidate, verdict: str) -> list[str]:
    if verdict == "slower":
        return [f"Every candidate is slower than no speculation; the best, {chosen.label}, has {_bounds(chosen)}."]
    said = [f"No gain was shown: the best lower bound is that of {chosen.label}, {_bounds(chosen)}."]
    if chosen.whole_interval:
        said.append("Not proven: an interval reaches 1 or more. Measure more prompts or blocks to be sure.")
    return said


def _edges(chosen: Candidate, best: Candidate, tried: Sequence[Candidate]) -> list[str]:
    """Whether a K beyond those tried might be better."""
    said = []
    if best.k == max(c.k for c in tried if c.drafter == best.drafter):
        said.append(f"K = {best.k} is the largest K tried with {best.drafter}; a larger one may be faster still.")
    if chosen.k == min(c.k for c in tried if c.drafter == chosen.drafter) and chosen.k > 1:
        said.append(f"K = {chosen.k} is the smallest K tried with {chosen.drafter}; a smaller one may do as well.")
    return said


def _doubts(c: Candidate, off: bool) -> list[str]:
    before = "" if off else ": measure it before you switch it on"
    said = [] if c.measured else [f"{c.label} was predicted, not measured{before}."]
    if c.approximate:
        said.append("The prediction is approximate: it cuts the steps of a larger K short.")
    if c.prompts is not None:
        said.append(f"It rests on {c.prompts} prompts{' and this launch only' if c.one_launch else ''}.")
    if not c.whole_interval:
        said.append("Not proven: its interval holds the sampling error only, there is no error estimate of the fit.")
    said += [f"{c.label} carries flags: {', '.join(c.flags)}."] if c.flags else []
    return said + ([c.audit] if c.audit and not off else [])


def _bounds(c: Candidate) -> str:
    return f"{c.speedup.mid:.2f}× ({c.speedup.low:.2f} to {c.speedup.high:.2f})"
