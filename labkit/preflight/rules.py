"""What vLLM does about the conditions a launch meets: ``data/rules.yaml`` applied to a case.

*Conventions*: a state is ``supported``, ``unsupported``, ``inert`` (accepted, without effect) or ``unknown``; a
level is ``ok``, ``warn`` or ``incompatible``. Unknown is never fine: it warns. A rule that says nothing about a
version or a runner is unknown there, and the finding tells what is known of the version it was read from.

Where the launch names no model runner, either may run, and the worse state counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import yaml

from labkit.config import STRICT, read
from labkit.errors import ConfigError
from labkit.paths import DATA
from labkit.preflight import conditions_pair, conditions_requests, conditions_serving
from labkit.preflight.case import Case
from labkit.preflight.launch import READ_FROM, release

__all__ = ["CONDITIONS", "LEVELS", "STATES", "Finding", "Rule", "Rules", "evaluate", "load_rules", "verdict"]

CONDITIONS = conditions_pair.CONDITIONS | conditions_serving.CONDITIONS | conditions_requests.CONDITIONS
#: Level of each state, the states from the best to the worst.
STATES = {"supported": "ok", "inert": "warn", "unknown": "warn", "unsupported": "incompatible"}
LEVELS = ("ok", "warn", "incompatible")
_RUNNERS = ("v1", "v2")


@dataclass(frozen=True, kw_only=True)
class State:
    """What one range of versions does, on one runner or both."""

    __pydantic_config__ = STRICT

    state: Literal["supported", "unsupported", "inert", "unknown"]
    says: str
    source: str
    since: str | None = None
    until: str | None = None
    runner: Literal["v1", "v2"] | None = None

    def covers(self, version: tuple[int, int], runner: str) -> bool:
        after = self.since is None or release(self.since) <= version
        before = self.until is None or version <= release(self.until)
        return after and before and self.runner in (None, runner)


@dataclass(frozen=True, kw_only=True)
class Rule:
    __pydantic_config__ = STRICT

    rule: str
    about: str
    states: tuple[State, ...]
    when: str = ""

    def __post_init__(self) -> None:
        if self.condition not in CONDITIONS:
            raise ConfigError(f"rule {self.rule!r} needs the condition {self.condition!r}, and there is none")

    @property
    def condition(self) -> str:
        return self.when or self.rule

    def at(self, version: tuple[int, int], runner: str) -> State:
        """The state there; unknown, with what is known of another version, where no entry says."""
        found = next((state for state in self.states if state.covers(version, runner)), None)
        if found:
            return found
        near = next((state for state in self.states if state.covers(release(READ_FROM), runner)), self.states[-1])
        where = READ_FROM if near.covers(release(READ_FROM), runner) else f"{near.since or '…'} to {near.until or '…'}"
        says = f"What vLLM {{vllm}} does about {self.about} is not known. Of {where}: {near.says}"
        return State(state="unknown", says=says, source=near.source)


@dataclass(frozen=True, kw_only=True)
class Rules:
    __pydantic_config__ = STRICT

    rules: tuple[Rule, ...]
    lists: dict[str, list[str]]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing to know before the launch, with its source."""

    rule: str
    state: str
    message: str
    source: str

    @property
    def level(self) -> str:
        return STATES[self.state]

    def plain(self) -> dict[str, str]:
        return {"rule": self.rule, "level": self.level, "message": self.message, "state": self.state,
                "source": self.source}  # fmt: skip


@lru_cache
def load_rules() -> Rules:
    """The shipped rules.

    Raises:
        ConfigError: the file is no set of rules.
    """
    path = DATA / "rules.yaml"
    return read(Rules, yaml.safe_load(path.read_text(encoding="utf-8")), where=str(path))


def evaluate(case: Case, rules: Rules) -> list[Finding]:
    """What every rule whose condition holds says, the worst first."""
    findings = []
    for rule in rules.rules:
        fields = CONDITIONS[rule.condition](case)
        if fields is not None:
            findings.append(_finding(rule, case, fields))
    return sorted(findings, key=lambda finding: -LEVELS.index(finding.level))


def verdict(findings: list[Finding]) -> str:
    """The worst level of all."""
    return max((finding.level for finding in findings), key=LEVELS.index, default="ok")


def _finding(rule: Rule, case: Case, fields: Mapping[str, Any]) -> Finding:
    launch, order = case.launch, list(STATES)
    found = {runner: rule.at(launch.release, runner) for runner in ((launch.runner,) if launch.runner else _RUNNERS)}
    worst = max(found.values(), key=lambda state: order.index(state.state))
    others = [
        f"On model runner {name.upper()}: {other.says}" for name, other in found.items() if other.says != worst.says
    ]
    message = " ".join([worst.says, *others]).format_map({"vllm": launch.vllm, **fields})
    return Finding(rule=rule.rule, state=worst.state, message=message, source=worst.source)
