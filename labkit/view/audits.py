"""What audits and task guards found in a run, as tidy tables, and what that leaves of its speedups.

*Conventions*: ``ratio`` is of what was found to what is right (effective temperature over T; of acceptance, accepted
over expected drafts), ``low`` and ``high`` its 95 % interval, ``visible`` the smallest ratio that would have been found
with a chance of 90 %. ``p`` is corrected for all tests of its audit. NaN is unknown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from labkit.analysis.guarded import Guarded, guarded
from labkit.analysis.objections import NOT_AUDITED, Evidence, audit_of, objections
from labkit.audited import NOTHING_FOUND, Audited
from labkit.store import Run

__all__ = ["allowed", "audit_tests", "losslessness", "partings"]

_SETTING = ["drafter", "k", "temperature"]
_CHECKS = [*_SETTING, "checked", "verdict", "n", "finding"]
_TESTS = [*_SETTING, "test", "tokens", "ratio", "low", "high", "visible", "p", "fault"]
_PARTINGS = [*_SETTING, "arm", "prompts", "parted", "beyond_near_tie", "rate", "low", "high"]


def losslessness(run: Run) -> pd.DataFrame:
    """What was checked of each drafter and temperature: a row for each audit, one where there was none, one for each
    drop of valid answers and one for all settings without: ``checked``, ``verdict``, ``n`` (tokens; of greedy text and
    of answers prompts), ``finding`` in words."""
    audits = run.audits()
    rows = [_audit_row(audited) for audited in audits]
    rows += [
        {"drafter": d.name, "temperature": float(t), "verdict": "not audited", "finding": NOT_AUDITED}
        for d in run.plan.drafters
        for t in run.plan.temperatures
        if audit_of(d.name, t, audits) is None
    ]
    rows += _guard_rows(guarded(run.measurements()))
    return _frame(run, rows, _CHECKS, dtype=object)  # whole numbers stay so beside unknown ones


def audit_tests(run: Run, *, control: bool = False) -> pd.DataFrame:
    """One row a test of each audit at T > 0, or of the baseline's own one, the ``control``."""
    rows = [
        _setting(audited) | _test_row(test)
        for audited in run.audits()
        for test in audited.found.get("control" if control else "tests", ())
    ]
    return _frame(run, rows, _TESTS)


def partings(run: Run) -> pd.DataFrame:
    """One row an arm of each audit at T = 0: prompts whose text leaves the baseline's first one, and how many of them
    beyond a near tie."""
    rows = [
        _setting(audited)
        | {"arm": arm["name"], "prompts": audited.found["prompts"]}
        | {name: arm[name] for name in ("parted", "beyond_near_tie")}
        | dict(zip(("low", "rate", "high"), arm["rate"], strict=True))
        for audited in run.audits()
        for arm in audited.found.get("arms", ())
    ]
    return _frame(run, rows, _PARTINGS)


def allowed(table: pd.DataFrame, run: Run) -> tuple[pd.DataFrame, list[str]]:
    """The rows of a table of speedups whose setting nothing but its speed speaks against, and a sentence for each
    other one."""
    evidence = Evidence(audits=run.audits(), guards=guarded(run.measurements()))
    places = zip(*(table[name] for name in (*_SETTING, "concurrency")), strict=True)
    reasons = [objections(place, evidence) for place in places]
    barred = [
        f"{row['drafter']} K={row['k']} at T = {row['temperature']:g} is left out: {'; '.join(said)}."
        for (_, row), said in zip(table.iterrows(), reasons, strict=True)
        if said
    ]
    free = pd.Series([not said for said in reasons], index=table.index, dtype=bool)
    return table[free], list(dict.fromkeys(barred))


def _setting(audited: Audited) -> dict[str, Any]:
    return {name: getattr(audited, name) for name in _SETTING}


def _audit_row(audited: Audited) -> dict[str, Any]:
    greedy = not audited.temperature
    return _setting(audited) | {
        "checked": "greedy text" if greedy else "distribution of tokens",
        "verdict": audited.verdict,
        "n": audited.found.get("prompts" if greedy else "tokens"),
        "finding": "; ".join(_finding(audited)),
    }


def _finding(audited: Audited) -> Iterator[str]:
    """The first reason; where nothing was found, what would have been; and what could not be checked."""
    seen = {test["test"]: test["smallest_visible"] for test in audited.found.get("tests", ())}
    visible = seen.get("steps with drafts") or seen.get("all tokens")
    if audited.verdict == NOTHING_FOUND and visible:
        yield f"a temperature {visible - 1:.0%} too high would have been found"
    else:
        yield audited.why[0]
    yield from audited.found.get("unavailable", ())


def _guard_rows(guards: Sequence[Guarded]) -> list[dict[str, Any]]:
    fine: dict[tuple[str, float], list[Guarded]] = defaultdict(list)
    for one in guards:
        if not one.guard.disqualified:
            fine[one.drafter, one.temperature].append(one)
    drops = [_guard_row([one], one.k, "a drop") for one in guards if one.guard.disqualified]
    return drops + [_guard_row(own, None, "no drop") for own in fine.values()]


def _guard_row(own: Sequence[Guarded], k: int | None, verdict: str) -> dict[str, Any]:
    """One drop, or all settings of a drafter and temperature without one, of which the largest difference is said."""
    most = max(own, key=lambda one: one.guard.without.mid - one.guard.with_speculation.mid)
    said = (
        f"K = {most.k}, {most.concurrency} at once: {most.guard.check} {most.guard.with_speculation.mid:.0%} with it, "
        f"{most.guard.without.mid:.0%} without"
    )
    return {
        "drafter": own[0].drafter, "k": k, "temperature": own[0].temperature, "checked": "valid answers",
        "verdict": verdict, "n": sum(one.guard.prompts for one in own), "finding": said,
    }  # fmt: skip


def _test_row(test: dict[str, Any]) -> dict[str, Any]:
    low, ratio, high = test["ratio"] or (None, None, None)
    return {
        "test": test["test"], "tokens": test["tokens"], "ratio": ratio, "low": low, "high": high,
        "visible": test["smallest_visible"], "p": test["p"], "fault": test["fault"],
    }  # fmt: skip


def _frame(run: Run, rows: Sequence[dict[str, Any]], columns: Sequence[str], dtype: type | None = None) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=list(columns), dtype=dtype)
    frame.attrs["drafters"] = sorted((d.name, d.method) for d in run.plan.drafters)
    return frame.sort_values(["drafter", "temperature"], kind="stable", ignore_index=True)
