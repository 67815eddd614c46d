"""Published figures to set own ones beside: ``data/reference/*.yaml``.

A file is one source and its claims, each with the place in the source where it was read. ``figure`` says what a claim
is about:

| figure | unit |
|---|---|
| ``speedup`` | TPOT without speculation over TPOT with it |
| ``acceptance_rate`` | accepted / drafted |
| ``tokens_per_step`` | output tokens over all decode steps |
| ``tokens_per_second``, ``baseline_tokens_per_second`` | of one stream |
| ``seconds_per_1000_characters``, ``baseline_seconds_per_1000_characters`` | of one stream |
| ``greedy_agreement`` | share of prompts whose output at T = 0 is the baseline's |
| ``other`` | no own figure answers to it |

``given`` holds the conditions that the source names; what it leaves open is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import yaml

from labkit.config import STRICT, read
from labkit.errors import ConfigError
from labkit.paths import DATA

__all__ = ["Source", "Conditions", "Step", "Claim", "Reference", "load_references"]

Figure = Literal[
    "speedup", "acceptance_rate", "tokens_per_step", "tokens_per_second", "baseline_tokens_per_second",
    "seconds_per_1000_characters", "baseline_seconds_per_1000_characters", "greedy_agreement", "other",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Source:
    """``name`` is what a table calls it; ``url`` is empty where it has no address."""

    __pydantic_config__ = STRICT

    name: str
    title: str
    url: str = ""


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """Under which a figure was claimed; None and empty where the source does not say."""

    __pydantic_config__ = STRICT

    method: str | None = None
    k: int | None = None
    temperature: float | None = None
    concurrency: int | None = None
    categories: tuple[str, ...] = ()
    target: str | None = None


@dataclass(frozen=True, kw_only=True)
class Step:
    """One drafted step as a claim tells it, and what a token takes without speculation."""

    __pydantic_config__ = STRICT

    drafted: int
    accepted: int
    milliseconds: float
    baseline_milliseconds: float

    @property
    def tokens(self) -> int:
        """What the step yields: the accepted drafts and one token of the target's own, the correction or the bonus."""
        return self.accepted + 1

    @property
    def speedup(self) -> float:
        return self.tokens * self.baseline_milliseconds / self.milliseconds


@dataclass(frozen=True, kw_only=True)
class Claim:
    """``value``: lowest and highest claimed; ``where``: table, section or file of the source."""

    __pydantic_config__ = STRICT

    id: str
    says: str
    figure: Figure
    value: tuple[float, float]
    given: Conditions = field(default_factory=Conditions)
    where: str = ""
    remark: str = ""
    step: Step | None = None

    def __post_init__(self) -> None:
        if self.value[0] > self.value[1]:
            raise ConfigError(f"claim {self.id}: value is [lowest, highest]; got {list(self.value)}")


@dataclass(frozen=True, kw_only=True)
class Reference:
    __pydantic_config__ = STRICT

    source: Source
    claims: tuple[Claim, ...]


def load_references(folder: str | Path = DATA / "reference") -> list[Reference]:
    """Every reference in ``folder``, the article's first.

    Raises:
        ConfigError: a file is not what it should be, or two claims share an id; names both.
    """
    found: list[Reference] = []
    owner: dict[str, str] = {}
    for path in sorted(Path(folder).glob("*.yaml"), key=lambda path: (path.stem != "article", path.stem)):
        try:
            data = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise ConfigError(f"cannot read {path}: {' '.join(str(error).split())}") from None
        reference = read(Reference, data, where=str(path))
        for claim in reference.claims:
            if claim.id in owner:
                raise ConfigError(f"claim {claim.id!r} stands in {owner[claim.id]} and in {path.name}; rename one")
            owner[claim.id] = path.name
        found.append(reference)
    if not found:
        raise ConfigError(f"no references in {folder}; they are YAML files with 'source' and 'claims'")
    return found
