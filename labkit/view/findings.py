"""What the tables say, in sentences with the numbers in them. Titles and verdicts come from here and are
computed, never typed."""

from __future__ import annotations

import pandas as pd

__all__ = [
    "interval_text",
    "speedup_title",
    "acceptance_title",
    "category_title",
    "timeline_title",
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


def _arm(row: pd.Series) -> str:
    return f"{row['drafter']} K={row['k']}"


def _where(row: pd.Series) -> str:
    return f"T = {row['temperature']:g}, {row['concurrency']} user{'s' if row['concurrency'] > 1 else ''}"


def speedup_title(table: pd.DataFrame) -> str:
    """The best arm, by the lower bound of its interval, or that none pays."""
    known = table.dropna(subset=["speedup"])
    if known.empty:
        return "No speedup could be computed"
    best = (
        known.loc[known["low"].fillna(0).idxmax()]
        if known["low"].notna().any()
        else known.loc[known["speedup"].idxmax()]
    )
    if best["low"] > 1:
        return f"{_arm(best)} is faster at {_where(best)}: {interval_text(best)}"
    if (known["high"] < 1).all():
        return "No drafter pays: every interval lies below 1×"
    return f"No drafter is surely faster; the best is {_arm(best)} at {_where(best)}: {interval_text(best)}"


def verdict(table: pd.DataFrame) -> list[str]:
    """One sentence per temperature and concurrency: what to switch on, or to leave speculation off."""
    sentences = []
    for (temperature, users), rows in table.groupby(["temperature", "concurrency"]):
        sure, where = rows[rows["low"] > 1], f"At T = {temperature:g} with {users} user{'s' if users > 1 else ''}"
        if not sure.empty:
            best = sure.loc[sure["low"].idxmax()]
            sentences.append(f"{where}: switch on {_arm(best)}; it is {interval_text(best)} as fast as without.")
        elif (rows["high"] < 1).all():
            sentences.append(f"{where}: leave speculation off; every drafter measured is slower.")
        else:
            best = rows.loc[rows["speedup"].idxmax()] if rows["speedup"].notna().any() else None
            tail = f" The best, {_arm(best)}, is {interval_text(best)}." if best is not None else ""
            sentences.append(
                f"{where}: not decided; no interval lies clear of 1×.{tail} Measure more prompts or blocks."
            )
    return sentences


def acceptance_title(table: pd.DataFrame) -> str:
    """How far down the proposal the best drafter is accepted."""
    if table.empty:
        return "Nothing was drafted"
    first = table[table["position"] == 1]
    best = first.loc[first["joint"].idxmax()]
    last = table[
        (table["drafter"] == best["drafter"])
        & (table["k"] == best["k"])
        & (table["temperature"] == best["temperature"])
    ]
    last = last.loc[last["position"].idxmax()]
    return (
        f"{_arm(best)} at T = {best['temperature']:g}: {best['joint']:.0%} of steps accept the first draft, "
        f"{last['joint']:.0%} all {last['position']}"
    )


def category_title(table: pd.DataFrame) -> str:
    """Where the kinds of prompt differ most."""
    known = table.dropna(subset=["speedup"])
    if known.empty:
        return "No speedup per category could be computed"
    top, low = known.loc[known["speedup"].idxmax()], known.loc[known["speedup"].idxmin()]
    most, least = (f"{row['category']} ({_arm(row)}, {row['speedup']:.2f}×)" for row in (top, low))
    return f"Most on {most}, least on {least}"


def timeline_title(table: pd.DataFrame) -> str:
    """The arm with the shortest time per token against the baseline, step by step."""
    base, arms = table[table["k"] == 0], table[table["k"] > 0].dropna(subset=["tpot_ms"])
    if base.empty or arms.empty:
        return "No timeline: it needs the baseline and a drafter"
    best = arms.loc[arms["tpot_ms"].idxmin()]
    return (
        f"A step of {_arm(best)} takes {best['step_ms']:.0f} ms for {best['tokens_per_step']:.2f} tokens; "
        f"the baseline {base.iloc[0]['step_ms']:.0f} ms for 1"
    )


def sample_note(table: pd.DataFrame, workload: str) -> str:
    """n, blocks and workload, as it stands under a title."""
    if table.empty or "prompts" not in table:
        return workload
    n, blocks = table["prompts"], int(table["blocks"].max())
    span = f"{n.min()}" if n.min() == n.max() else f"{n.min()}–{n.max()}"
    scope = "" if (table["launches"] == "resampled").all() else ", this launch only"
    left = f", {table['left_out'].max()} looping left out at most" if table["left_out"].max() else ""
    return f"n = {span} prompts × {blocks} block{'s' if blocks > 1 else ''}{scope}{left} · {workload}"
