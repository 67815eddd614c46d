"""What the tables say, in sentences with the numbers in them. Titles and verdicts come from here and are
computed, never typed."""

from __future__ import annotations

import pandas as pd

__all__ = [
    "interval_text",
    "arm_text",
    "where_text",
    "best_arm",
    "every_k_title",
    "speedup_title",
    "acceptance_title",
    "category_title",
    "timeline_title",
    "audit_title",
    "audit_note",
    "verdict",
    "sample_note",
]


def interval_text(row: pd.Series, column: str = "speedup", unit: str = "×") -> str:
    """``1.33× [1.03, 1.72]``; without bounds the figure and why there are none."""
    if pd.isna(row[column]):
        return "no figure: no prompt was usable"
    if pd.isna(row["low"]):
        return f"{row[column]:.2f}{unit} (too few prompts for an interval)"
    return f"{row[column]:.2f}{unit} [{row['low']:.2f}, {row['high']:.2f}]"


def arm_text(row: pd.Series) -> str:
    return f"{row['drafter']} K={row['k']}"


def where_text(temperature: float, concurrency: float, *, joined: str = ", ") -> str:
    """``T = 0.8, 4 users``."""
    return f"T = {temperature:g}{joined}{concurrency:g} user{'s' if concurrency > 1 else ''}"


def best_arm(table: pd.DataFrame) -> pd.Series | None:
    """The row to recommend by: the highest lower bound, or the highest figure where no row has an interval;
    None where no row has a figure."""
    known = table.dropna(subset=["speedup"])
    if known.empty:
        return None
    bounded = known.dropna(subset=["low"])
    return bounded.loc[bounded["low"].idxmax()] if len(bounded) else known.loc[known["speedup"].idxmax()]


def speedup_title(table: pd.DataFrame) -> str:
    """The best arm, by the lower bound of its interval, or that none pays."""
    best = best_arm(table)
    if best is None:
        return "No speedup could be computed"
    where = f"{where_text(best['temperature'], best['concurrency'])}: {interval_text(best)}"
    if best["low"] > 1:
        return f"{arm_text(best)} is faster at {where}"
    if (table["high"] < 1).all():
        return "No drafter pays: every interval lies below 1×"
    return f"No drafter is surely faster; the best is {arm_text(best)} at {where}"


def verdict(table: pd.DataFrame) -> list[str]:
    """One sentence per temperature and concurrency: what to switch on, or to leave speculation off."""
    sentences = []
    for place, rows in table.groupby(["temperature", "concurrency"]):
        best, where = best_arm(rows), f"At {where_text(*place, joined=' with ')}"
        if best is None:
            sentences.append(f"{where}: no figure; no prompt was usable in both arms.")
        elif best["low"] > 1:
            doubt = f" Repeat it before you rely on it: {best['cautions']}." if best.get("cautions") else ""
            alone = "" if best["launches"] == "resampled" else " in this launch"
            gain = f"{where}: switch on {arm_text(best)}; it is {interval_text(best)} as fast as without{alone}."
            sentences.append(gain + doubt)
        elif (rows["high"] < 1).all():
            sentences.append(f"{where}: leave speculation off; every drafter measured is slower.")
        else:
            sentences.append(
                f"{where}: not decided; no interval lies above 1×. The best, {arm_text(best)}, is "
                f"{interval_text(best)}. Measure more prompts or blocks."
            )
    return sentences


def every_k_title(table: pd.DataFrame, rule: tuple[int, int]) -> str:
    """The K of the best lower bound at the first load, and what the rule of thumb gives there."""
    known = table.dropna(subset=["speedup", "low"])
    if known.empty:
        return "No speedup has an interval yet"
    first = known.groupby(["temperature", "concurrency"]).ngroup() == 0
    known = known[first].sort_values("kind")  # measured before predicted
    known = known.drop_duplicates(["drafter", "k"])
    best, how = known.loc[known["low"].idxmax()], ""
    if best["kind"] == "predicted":
        how = ", predicted"
    own = known[(known["drafter"] == best["drafter"]) & known["k"].between(*rule)]
    if best["low"] <= 1:
        return f"No K is surely faster; the best, {arm_text(best)}, is at {interval_text(best)}{how}"
    said = f"Best is {arm_text(best)} with {interval_text(best)}{how}"
    if own.empty or rule[0] <= best["k"] <= rule[1]:
        return said
    at = own.loc[own["speedup"].idxmax()]
    return f"{said}; the rule K = {rule[0]} to {rule[1]} would give {at['speedup']:.2f}× at most"


def acceptance_title(table: pd.DataFrame) -> str:
    """How far down the proposal the best drafter is accepted."""
    if table.empty:
        return "Nothing was drafted"
    first = table[table["position"] == 1]
    best = first.loc[first["joint"].idxmax()]
    cell = ["drafter", "k", "temperature", "concurrency"]
    own = table[(table[cell] == best[cell]).all(axis=1)]
    last = own.loc[own["position"].idxmax()]
    return (
        f"{arm_text(best)} at T = {best['temperature']:g}: {best['joint']:.0%} of steps accept the first draft, "
        f"{last['joint']:.0%} all {last['position']}"
    )


def category_title(table: pd.DataFrame) -> str:
    """Where the kinds of prompt differ most."""
    known = table.dropna(subset=["speedup"])
    if known.empty:
        return "No speedup per category could be computed"
    top, low = known.loc[known["speedup"].idxmax()], known.loc[known["speedup"].idxmin()]
    most, least = (f"{row['category']} ({arm_text(row)}, {row['speedup']:.2f}×)" for row in (top, low))
    return f"Most on {most}, least on {least}"


def timeline_title(table: pd.DataFrame) -> str:
    """The arm with the shortest time per token against the baseline, step by step."""
    base, arms = table[table["k"] == 0], table[table["k"] > 0].dropna(subset=["step_ms"])
    if base.empty or arms.empty:
        return "No timeline: it needs the baseline and a drafter whose steps are counted"
    best = arms.loc[arms["tpot_ms"].idxmin()]
    return (
        f"A step of {arm_text(best)} takes {best['step_ms']:.0f} ms for {best['tokens_per_step']:.2f} tokens; "
        f"the baseline {base.iloc[0]['step_ms']:.0f} ms for 1"
    )


def audit_title(table: pd.DataFrame) -> str:
    """The faults that tests found, or how small a one would have been found."""
    if table.empty:
        return "Nothing was audited above T = 0"
    faults = table[table["fault"].astype(bool)]
    if len(faults):
        worst = faults.loc[faults["p"].idxmin()]
        where = f"{arm_text(worst)} at T = {worst['temperature']:g}"
        return f"{where} is not lossless: {worst['test']} (p = {worst['p']:.1g})"
    whole = table[(table["test"] == "all tokens") & table["visible"].notna()]
    if whole.empty:
        return "No test finds a fault"
    return (
        f"No test finds a fault; a temperature {whole['visible'].max() - 1:.0%} too high would have been found in all"
    )


def audit_note(table: pd.DataFrame, workload: str) -> str:
    """Tokens an audit looked at, and the workload."""
    n = table.loc[table["test"] == "all tokens", "tokens"]
    if n.empty:
        return workload
    return f"n = {n.min():,} to {n.max():,} tokens an audit, intervals 95 % · {workload}"


def sample_note(table: pd.DataFrame, workload: str) -> str:
    """n, blocks and workload of the ``table`` that is drawn, as it stands under a title."""
    if table.empty:
        return workload
    n = table["prompts"]
    parts = [f"n = {n.min()}" if n.min() == n.max() else f"n = {n.min()}–{n.max()}", " prompts"]
    if "blocks" in table:
        blocks = int(table["blocks"].max())
        parts.append(f" × {blocks} block{'s' if blocks > 1 else ''}")
        parts.append("" if (table["launches"] == "resampled").all() else ", this launch only")
        parts.append(f", {table['left_out'].max()} looping left out at most" if table["left_out"].max() else "")
    else:
        places = table[["temperature", "concurrency"]].drop_duplicates()
        parts.append(f", {where_text(*places.iloc[0])}" if len(places) == 1 else "")
        parts.append(", looping outputs left out")
    return f"{''.join(parts)} · {workload}"
