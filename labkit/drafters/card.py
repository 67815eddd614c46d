"""A drafter's card: what it is, what it learnt from, and how good it was found to be."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from labkit.config import STRICT, read
from labkit.errors import ConfigError

__all__ = ["CARD", "Card", "read_card", "write_card"]

CARD = "card.json"


@dataclass(frozen=True, kw_only=True)
class Card:
    """What a drafter is and how good it was found to be.

    ``config``: what its config.json says other than the target's. ``training``: data, steps, loss and the
    learning curve. ``offline``: by category, agreement with the target's greedy answers to prompts that were
    not trained on. ``served``: by category, what a vLLM server measured.
    """

    __pydantic_config__ = STRICT

    name: str
    method: str
    target: str
    hidden_size: int
    vocab_size: int
    licence: str
    config: dict[str, Any]
    training: dict[str, Any] = field(default_factory=dict)
    offline: dict[str, Any] = field(default_factory=dict)
    served: list[dict[str, Any]] = field(default_factory=list)

    def rows(self) -> list[tuple[str, str]]:
        """What the card says, each with its name: what the drafter is, what it was trained on, agreement offline and
        acceptance served, a row a category."""
        trained, rows = self.training, [("drafter", f"{self.name}: {self.method} for {self.target}")]
        if trained:
            text = (
                f"{trained['answer_tokens']:,} tokens of {trained['texts']:,} answers, {trained['steps']:,} steps, "
                f"{trained['minutes']} min on {trained['device']}, final loss {trained['loss']}"
            )
            rows.append(("trained on", text))
        if "vocabulary" in trained:
            share = 100 * trained["coverage_held_out"]
            rows.append(("draft vocabulary", f"{trained['vocabulary']:,} tokens: {share:.1f} % of unseen answers"))
        rows.append(("licence", self.licence))
        rows += [(f"offline, {category}", _offline_text(found)) for category, found in self.offline.items()]
        return [*rows, *((f"served, {row['category']}", _served_text(row, self.name)) for row in self.served)]

    def __str__(self) -> str:
        """The rows as lines."""
        (_, drafter), *rest = self.rows()
        return "\n".join([drafter, *(_line(name, text) for name, text in rest)])


def read_card(package: Path) -> Card:
    """The card of a package folder.

    Raises:
        ConfigError: there is none, or it is no card.
    """
    path = package / CARD
    if not path.exists():
        raise ConfigError(f"no drafter package at {package}: {CARD} is missing")
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigError(f"{path} is no JSON: {error}") from None
    return read(Card, fields, where=str(path))


def write_card(package: Path, card: Card) -> None:
    (package / CARD).write_text(json.dumps(asdict(card), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _line(name: str, text: str) -> str:
    kind, _, category = name.partition(", ")
    if category:
        return f"  {kind:8} {category:12} {text}"
    return f"  {name}: {text}" if name == "licence" else f"  {name} {text}"


def _offline_text(found: dict[str, Any]) -> str:
    if not found["tokens"]:
        return "no greedy answers to judge by"
    rates = "/".join(f"{rate:.2f}" for rate in found["conditional"])
    lengths = ", ".join(f"K={k} {value:.2f}" for k, value in found["mean_acceptance_length"].items())
    return f"agreement by depth {rates}; acceptance length {lengths}"


def _served_text(row: dict[str, Any], name: str) -> str:
    """One row of a card's ``served``, with the drafter's name in its plan where that is another; an interval that a
    few prompts do not give is left out."""

    def with_interval(value: float | None, low: float | None, high: float | None, unit: str = "") -> str:
        if value is None:
            return "unknown"
        return f"{value:.2f}{unit}" + (f" [{low:.2f}, {high:.2f}]" if low is not None and high is not None else "")

    length = with_interval(row["mean_acceptance_length"], row["low"], row["high"])
    speed = with_interval(row["speedup"], row["speedup_low"], row["speedup_high"], "×")
    variant = "" if row.get("drafter", name) == name else f"{row['drafter']}, "
    at = f"{variant}K={row['k']} T={row['temperature']:g} users={row['concurrency']}"
    return f"{at}: acceptance length {length}, speedup {speed}, {row['n']} prompts"
