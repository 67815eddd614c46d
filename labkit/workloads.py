"""Prompt sets: the shipped ones in ``data/prompts/`` and, through ``importers``, anyone's.

One JSON object a line: ``id``, ``category``, ``language``, ``messages`` (OpenAI form) and, for
conversations, ``follow_ups``: further user turns, each sent after the model's own answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from labkit import importers
from labkit.config import digest
from labkit.errors import WorkloadError, did_you_mean
from labkit.paths import DATA, find
from labkit.plan import WorkloadSpec

__all__ = ["Workload", "load_workload", "shipped_categories"]


@dataclass(frozen=True, kw_only=True)
class Workload:
    """The prompts of a cell, in the order they are sent, the same in every arm."""

    name: str
    prompts: tuple[importers.Prompt, ...]
    max_tokens: int
    synthetic: bool = False

    @property
    def hash(self) -> str:
        return digest([asdict(prompt) for prompt in self.prompts], self.max_tokens)

    @property
    def categories(self) -> list[str]:
        return sorted({prompt.category for prompt in self.prompts})


def shipped_categories() -> list[str]:
    return sorted(path.stem for path in (DATA / "prompts").glob("*.jsonl"))


def load_workload(spec: WorkloadSpec) -> Workload:
    """The prompts ``spec`` asks for, categories interleaved so that a cut-off run still has them all.

    Raises:
        WorkloadError: an unknown category, a missing file, a broken line, nothing left.
    """
    if spec.source == "shipped":
        prompts = _shipped(spec.categories or shipped_categories())
    else:
        prompts = importers.read_prompts(find(spec.source))
        _check_known(spec.categories, {p.category for p in prompts}, "category")
    _check_known(spec.languages, {p.language for p in prompts}, "language")
    chosen = [
        prompt
        for prompt in prompts
        if (not spec.categories or prompt.category in spec.categories)
        and (not spec.languages or prompt.language in spec.languages)
    ]
    groups = [[p for p in chosen if p.category == name] for name in dict.fromkeys(p.category for p in chosen)]
    picked = tuple(_interleave([_languages_in_turn(group)[: spec.per_category] for group in groups]))
    if not picked:
        raise WorkloadError(
            f"no prompts left of {spec.source} with categories {list(spec.categories)} "
            f"and languages {list(spec.languages)}"
        )
    name = "shipped prompts" if spec.source == "shipped" else Path(spec.source).name
    return Workload(name=name, prompts=picked, max_tokens=spec.max_tokens)


def _shipped(categories: Iterable[str]) -> list[importers.Prompt]:
    _check_known(categories, shipped_categories(), "category")
    return [prompt for name in categories for prompt in importers.read_prompts(DATA / "prompts" / f"{name}.jsonl")]


def _check_known(asked: Iterable[str], known: Iterable[str], what: str) -> None:
    for name in asked:
        if name not in known:
            raise WorkloadError(
                f"unknown {what} {name!r}; there are {', '.join(sorted(known))}{did_you_mean(name, known)}"
            )


def _languages_in_turn(prompts: Sequence[importers.Prompt]) -> list[importers.Prompt]:
    languages = dict.fromkeys(prompt.language for prompt in prompts)
    return list(_interleave([[p for p in prompts if p.language == language] for language in languages]))


def _interleave(groups: Sequence[Sequence[Any]]) -> Iterable[Any]:
    for i in range(max(map(len, groups), default=0)):
        for group in groups:
            if i < len(group):
                yield group[i]
