"""Does speculation cost quality that people count? Validity of answers with and without it, prompt by prompt.

Checks of an answer: JSON that parses, Python that compiles, SQL that parses, or the very answer wanted. Answers are
read from the first fenced block where there is one. At the same prompts, the share of right answers with speculation is
compared with the baseline's (McNemar's exact test, an exact interval of the difference): a drop disqualifies a setting.
What an audit of distributions does not cover (structured outputs, stop strings, penalties) shows here if it matters.

*Conventions*: texts are model output, read as data and never run.
"""

from __future__ import annotations

import ast
import json
import re
import sqlite3
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from labkit.analysis.bootstrap import Interval
from labkit.analysis.lossless_effect import share
from labkit.analysis.paired_rates import paired_difference, paired_p
from labkit.errors import ConfigError, did_you_mean

__all__ = ["CHECKS", "TaskGuard", "guard", "is_json", "is_python", "is_sql"]

ALPHA = 0.005
_FENCED = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.DOTALL)
_NOT_SQL = ("syntax error", "incomplete input", "unrecognized token", "one statement at a time")


def is_json(text: str) -> bool:
    try:
        json.loads(_answer(text))
    except (ValueError, RecursionError):
        return False
    return True


def is_python(text: str) -> bool:
    """Whether it parses as Python; an empty answer does not count."""
    answer = _answer(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the answer's own escapes
            return bool(answer.strip()) and bool(ast.parse(answer).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def is_sql(text: str) -> bool:
    """Whether SQLite parses every statement; a table or a function it does not know is none of its business."""
    statements, rest = [], ""
    for piece in re.split(r"(?<=;)", _answer(text)):
        rest += piece
        if sqlite3.complete_statement(rest):
            statements.append(rest)
            rest = ""
    statements += [rest] if rest.strip() else []
    with_content = [one for one in statements if one.strip(" \t\r\n;")]
    return bool(with_content) and all(map(_parses, with_content))


def _parses(statement: str) -> bool:
    database = sqlite3.connect(":memory:")
    try:
        database.execute(f"EXPLAIN {statement}")
    except (sqlite3.Error, sqlite3.Warning, ValueError, UnicodeError) as error:
        return not any(words in str(error).lower() for words in _NOT_SQL) and isinstance(
            error, sqlite3.OperationalError
        )
    finally:
        database.close()
    return True


def _answer(text: str) -> str:
    """The first fenced block, closed or cut off, else the whole text."""
    fenced = _FENCED.search(text)
    return fenced[1] if fenced else text.strip()


CHECKS: Mapping[str, Callable[[str], bool]] = {"json": is_json, "python": is_python, "sql": is_sql}


@dataclass(frozen=True, kw_only=True)
class TaskGuard:
    """``difference`` is right answers with speculation less those without, as a share of the prompts; ``p``: chance of
    so large a drop if either arm were as good. ``disqualified``: p ≤ α. ``visible``: the drop that would have
    disqualified where no prompt goes the other way."""

    check: str
    prompts: int
    with_speculation: Interval
    without: Interval
    difference: Interval
    p: float
    disqualified: bool
    visible: float

    def plain(self) -> dict[str, Any]:
        def bounds(value: Interval) -> list[float]:
            return [value.low, value.mid, value.high]

        return {
            name: bounds(value) if isinstance(value, Interval) else value for name, value in vars(self).items()
        }  # fmt: skip


def guard(
    check: str,
    with_speculation: Mapping[str, str],
    without: Mapping[str, str],
    *,
    wanted: Mapping[str, str] | None = None,
    alpha: float = ALPHA,
) -> TaskGuard:
    """Compare answers by prompt id; prompts that only one arm answered are left out. ``check``: one of CHECKS, or
    "exact" with the ``wanted`` answers, compared without surrounding space.

    Raises:
        ConfigError: an unknown check, "exact" without wanted answers, or no prompt that both answered.
    """
    right = _judge(check, wanted)
    prompts = sorted(with_speculation.keys() & without.keys() & (wanted or without).keys())
    if not prompts:
        raise ConfigError("a task guard compares answers to the same prompts; there is none that both arms answered")
    ours, theirs = ([name for name in prompts if right(name, arm[name])] for arm in (with_speculation, without))
    n, p = len(prompts), paired_p(theirs, ours)
    return TaskGuard(
        check=check,
        prompts=n,
        with_speculation=share(len(ours), n),
        without=share(len(theirs), n),
        difference=paired_difference(ours, theirs, n),
        p=p,
        disqualified=p <= alpha,
        visible=next(i for i in range(1, 64) if 0.5**i <= alpha) / n,
    )


def _judge(check: str, wanted: Mapping[str, str] | None) -> Callable[[str, str], bool]:
    if check == "exact":
        if not wanted:
            raise ConfigError("an exact match needs the wanted answer of each prompt")
        return lambda name, text: text.strip() == wanted[name].strip()
    if check not in CHECKS:
        known = (*CHECKS, "exact")
        raise ConfigError(f"unknown check {check!r}; known: {', '.join(known)}{did_you_mean(check, known)}")
    return lambda _, text: CHECKS[check](text)
