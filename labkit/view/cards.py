"""A drafter's card: what a run adds to it, and the card as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from labkit.drafters.package import Card
from labkit.records import Measurement
from labkit.view import tables

__all__ = ["card_text", "served_rows"]

_FIGURES = ["mean_acceptance_length", "low", "high", "speedup", "speedup_low", "speedup_high"]


def served_rows(measurements: Sequence[Measurement], model: str) -> list[dict[str, Any]]:
    """What a run says of the drafter ``model`` (as its plan names it), a row per cell and category and one
    for "all": drafter, category, k, temperature, concurrency, acceptance length and speedup with their
    intervals, n prompts. Looping outputs are left out."""
    names = {m.cell.spec.name for m in measurements if m.cell.spec.drafter and m.cell.spec.drafter.model == model}
    rows = []
    for category in [*sorted({r.category for m in measurements for r in m.records}), "all"]:
        part = [
            replace(m, records=tuple(r for r in m.records if category in ("all", r.category))) for m in measurements
        ]
        speeds = tables.speedups(part).rename(columns={"low": "speedup_low", "high": "speedup_high"})
        both = tables.acceptances(part).merge(speeds.drop(columns="prompts"), on=tables.CELL_KEYS, how="left")
        for _, row in both[both["drafter"].isin(names)].iterrows():
            rows.append(
                {"drafter": row["drafter"], "category": category, "k": int(row["k"]), "n": int(row["prompts"])}
                | {key: row[key] for key in ("temperature", "concurrency")}
                | {key: None if row[key] != row[key] else round(float(row[key]), 4) for key in _FIGURES}
            )
    return rows


def card_text(card: Card) -> str:
    """What it is, what it was trained on, agreement offline and acceptance served, a line a category."""
    trained, lines = card.training, [f"{card.name}: {card.method} for {card.target}"]
    if trained:
        lines.append(
            f"  trained on {trained['answer_tokens']:,} tokens of {trained['texts']:,} answers, "
            f"{trained['steps']:,} steps, {trained['minutes']} min on {trained['device']}, final loss {trained['loss']}"
        )
    if "vocabulary" in trained:
        share = 100 * trained["coverage_held_out"]
        lines.append(f"  draft vocabulary {trained['vocabulary']:,} tokens: {share:.1f} % of unseen answers")
    lines.append(f"  licence: {card.licence}")
    for category, found in card.offline.items():
        if not found["tokens"]:
            lines.append(f"  offline  {category:12} no greedy answers to judge by")
            continue
        rates = "/".join(f"{rate:.2f}" for rate in found["conditional"])
        lengths = ", ".join(f"K={k} {value:.2f}" for k, value in found["mean_acceptance_length"].items())
        lines.append(f"  offline  {category:12} agreement by depth {rates}; acceptance length {lengths}")
    return "\n".join([*lines, *map(_served_line, card.served)])


def _served_line(row: dict[str, Any]) -> str:
    """One row of a card's ``served``; an interval that a few prompts do not give is left out."""

    def with_interval(value: float | None, low: float | None, high: float | None, unit: str = "") -> str:
        if value is None:
            return "unknown"
        return f"{value:.2f}{unit}" + (f" [{low:.2f}, {high:.2f}]" if low is not None and high is not None else "")

    length = with_interval(row["mean_acceptance_length"], row["low"], row["high"])
    speed = with_interval(row["speedup"], row["speedup_low"], row["speedup_high"], "×")
    at = f"K={row['k']} T={row['temperature']:g} users={row['concurrency']}"
    return f"  served   {row['category']:12} {at}: acceptance length {length}, speedup {speed}, {row['n']} prompts"
