"""Is greedy text the baseline's own? The verdict of an audit at T = 0.

Rounding depends on what else is in a batch, so even the baseline parts from its own text now and then. If speculation
is lossless, its text parts from the reference no oftener than the baseline's does when asked again: given that of the
two exactly one parts at a prompt, it is either with chance 1/2 (McNemar's exact test, one-sided). Against both
controls, the same batches again and other ones, the larger p-value counts; all partings and those beyond a near tie
are tested, Holm-corrected.

| verdict | when |
|---|---|
| "fault" | a corrected p-value is ≤ α |
| "no fault found" | none is; ``visible`` says how many more prompts would have had to part |
| "refused" | so few prompts that not even all of them parting would be a fault |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isfinite, log, log2
from statistics import median
from typing import Any

from labkit.analysis.bootstrap import Interval
from labkit.analysis.lossless_effect import share
from labkit.analysis.lossless_pit import NEAR_TIE
from labkit.analysis.paired_rates import paired_difference, paired_p
from labkit.analysis.sequential import corrected
from labkit.audited import FAULT, NOTHING_FOUND, REFUSED
from labkit.measure.audit_greedy import OTHER_BATCH, REPEAT, TESTED, GreedyTexts, Parting

__all__ = ["Arm", "GreedyAudit", "audit_greedy"]

ALPHA = 0.005
_CONTROLS = (REPEAT, OTHER_BATCH)
_ALL, _CLEAR = "all partings", "partings beyond a near tie"
_TINY = 1e-300  # of a thousand prompts that all part p is too small for a number


@dataclass(frozen=True, kw_only=True)
class Arm:
    """``rate`` of prompts whose text parts from the reference; ``clear``: how many do beyond a near tie; ``indices``:
    the token at which each parts."""

    name: str
    parted: int
    clear: int
    rate: Interval
    indices: tuple[int, ...]
    gaps: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class GreedyAudit:
    """``difference``: how many more prompts part with speculation than in the control that parts oftener, as a share of
    all. ``visible``: the share of prompts that is a fault where no control parts. ``unavailable``: what could not be
    checked."""

    verdict: str
    why: tuple[str, ...]
    prompts: int
    tokens: int
    arms: tuple[Arm, ...]
    difference: Interval
    p: dict[str, float]
    visible: float
    alpha: float
    unavailable: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """The fields of ``labkit audit --temperature 0 --json``."""

        def bounds(value: Interval) -> list[float]:
            return [value.low, value.mid, value.high]

        arms = [
            {"name": a.name, "parted": a.parted, "beyond_near_tie": a.clear, "rate": bounds(a.rate),
             "first_difference": list(a.indices), "gaps": [g if isfinite(g) else None for g in a.gaps]}
            for a in self.arms
        ]  # fmt: skip
        same = {name: getattr(self, name) for name in ("verdict", "prompts", "tokens", "p", "visible", "alpha")}
        return same | {
            "temperature": 0.0, "why": list(self.why), "arms": arms, "difference": bounds(self.difference),
            "unavailable": list(self.unavailable),
        }  # fmt: skip


def audit_greedy(texts: GreedyTexts, *, alpha: float = ALPHA) -> GreedyAudit:
    """The verdict over all prompts at once; there is nothing to watch at T = 0."""
    n = len(texts.prompts)
    worst = max(_CONTROLS, key=lambda name: len(texts.partings[name]))
    p = corrected({name: -log(_p(texts, clear) or _TINY) for name, clear in ((_ALL, False), (_CLEAR, True))})
    needed = ceil(log2(2 / alpha))  # so many prompts on one side only, corrected for two tests
    arms = tuple(_arm(name, texts.partings[name], n) for name in (TESTED, *_CONTROLS))
    fault = min(p.values()) <= alpha
    verdict = FAULT if fault else REFUSED if n < needed else NOTHING_FOUND
    return GreedyAudit(
        verdict=verdict,
        why=_why(verdict, arms, p, n, needed, alpha),
        prompts=n,
        tokens=texts.tokens,
        arms=arms,
        difference=paired_difference(_ids(texts.partings[TESTED]), _ids(texts.partings[worst]), n),
        p=p,
        visible=needed / n,
        alpha=alpha,
        unavailable=texts.notes,
    )


def _p(texts: GreedyTexts, clear: bool) -> float:
    ids = {name: _ids(found, clear=clear) for name, found in texts.partings.items()}
    return max(paired_p(ids[TESTED], ids[name]) for name in _CONTROLS)


def _ids(partings: Sequence[Parting], *, clear: bool = False) -> set[str]:
    return {parting.prompt_id for parting in partings if not clear or parting.gap > NEAR_TIE}


def _arm(name: str, partings: Sequence[Parting], n: int) -> Arm:
    return Arm(
        name=name,
        parted=len(partings),
        clear=len(_ids(partings, clear=True)),
        rate=share(len(partings), n),
        indices=tuple(parting.index for parting in partings),
        gaps=tuple(parting.gap for parting in partings),
    )


def _why(verdict: str, arms: Sequence[Arm], p: dict[str, float], n: int, needed: int, alpha: float) -> tuple[str, ...]:
    said = [
        f"{arm.name}: {arm.parted} of {n} texts part from the baseline's, {arm.clear} of them beyond a near tie"
        + (f", the median at token {median(arm.indices) + 1:g}" if arm.indices else "")
        for arm in arms
    ]
    if verdict == REFUSED:
        return (
            f"{n} prompts are too few: {needed} that part with speculation alone would be a fault; ask for more",
            *said,
        )
    if verdict == FAULT:
        tests = " and ".join(f"{name} (p = {value:.2g})" for name, value in p.items())
        rounding = "beyond near ties it does not, so rounding breaks ties otherwise with speculation"
        ties = (rounding,) if p[_CLEAR] > alpha else ()
        return (f"speculation changes greedy text oftener than asking again does: {tests}", *ties, *said)
    return (f"{needed} of {n} prompts that part with speculation alone would have been a fault", *said)
