"""What preflight says, as tidy tables: the findings on one launch, the rules behind them, the engines of a plan."""

from __future__ import annotations

from typing import Any

import pandas as pd

from labkit.plan import Plan
from labkit.preflight import Look, PlanCheck, Report, load_rules
from labkit.preflight.rules import State

__all__ = ["engines_table", "findings_table", "rules_table"]


def findings_table(found: Look | Report) -> pd.DataFrame:
    """One row per finding, the worst first: level (ok, warn, incompatible), rule, message, source."""
    report = found.report if isinstance(found, Look) else found
    rows = [{"level": f.level, "rule": f.rule, "message": f.message, "source": f.source} for f in report.findings]
    return pd.DataFrame(rows, columns=["level", "rule", "message", "source"])


def rules_table() -> pd.DataFrame:
    """One row per rule and range of versions: rule, about, versions, runner, state, source."""
    rows = [
        {"rule": rule.rule, "about": rule.about, "versions": _versions(state),
         "runner": state.runner.upper() if state.runner else "both", "state": state.state, "source": state.source}
        for rule in load_rules().rules
        for state in rule.states
    ]  # fmt: skip
    return pd.DataFrame(rows)


def engines_table(plan: Plan) -> pd.DataFrame:
    """One row per engine of a plan: engine, verdict ("not looked at" where vLLM is not started by labkit), tokenizer
    (None without a draft), differing_ids (how many ids mean other tokens), why (what is incompatible, else what warns).
    """
    check = PlanCheck(plan)
    rows = [{"engine": spec.label, **_verdict(check.report(spec))} for spec in plan.specs]
    return pd.DataFrame(rows).astype({"differing_ids": "Int64"})


def _verdict(report: Report | None) -> dict[str, Any]:
    if report is None:
        return {"verdict": "not looked at", "tokenizer": None, "differing_ids": None, "why": ""}
    said = [f"{f.rule}: {f.message}" for f in report.findings if f.level == report.verdict != "ok"]
    compared = report.tokenizer
    return {
        "verdict": report.verdict,
        "tokenizer": compared.verdict if compared else None,
        "differing_ids": len(compared.differing_ids) if compared else None,
        "why": " · ".join(said),
    }


def _versions(state: State) -> str:
    if state.since == state.until:
        return state.since or "all"
    return f"{state.since or 'first'} to {state.until or 'last'}"
