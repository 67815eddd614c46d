"""The words after ``vllm serve`` → arguments: a flag with its values, or a positional.

An argument keeps the words it was read from, so that what nobody changes is written as it was. ``name`` is the
flag as vLLM's parser normalises it (no dashes in front, ``_`` as ``-``, short names spelled out); ``path`` is what
follows a dot (``--speculative-config.model``); a positional has no name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.preflight.retired import RETIRED, RETIRED_SHORT
from labkit.preflight.shell import Word
from labkit.preflight.vllm_flags import KINDS, SHORT

__all__ = ["Argument", "argument_of", "flag_kind", "read_arguments"]

_NUMBER = re.compile(r"-\.?[0-9]")


@dataclass(frozen=True, kw_only=True)
class Argument:
    words: tuple[Word, ...]
    name: str = ""
    path: str = ""
    values: tuple[Word, ...] = ()
    given: str = ""

    @property
    def text(self) -> str:
        """The value, of several the last: where a flag is repeated or has one too many, the last counts."""
        return self.values[-1].text if self.values else ""


def flag_kind(name: str) -> str | None:
    """Kind of a flag of today's vLLM or of an earlier one; None where no version is known to have it."""
    if kind := KINDS.get(name):
        return kind
    if KINDS.get(name.removeprefix("no-")) == "flag":
        return "alone"
    return RETIRED[name].kind if name in RETIRED else None


def read_arguments(words: Sequence[Word]) -> list[Argument]:
    found, at = [], 0
    while at < len(words):
        argument = _read(words, at)
        found.append(argument)
        at += len(argument.words)
    return found


def argument_of(given: str, value: Any, expansions: tuple[str, ...] = ()) -> Argument | None:
    """A setting of a config file or a Python call as an argument; None where it says nothing."""
    name = given.lstrip("-").replace("_", "-")
    kind = flag_kind(name)
    if value is None or (value is False and kind == "alone"):
        return None
    if isinstance(value, bool) and kind in ("flag", "alone", None) and name not in RETIRED:
        return Argument(words=(Word(text=f"--{name}" if value else f"--no-{name}"),), name=name, given=given)
    values = tuple(_word(each, expansions) for each in (value if isinstance(value, list) else [value]))
    if len(values) == 1 and values[0].text.startswith("-"):  # behind a blank it would be a flag
        joined = Word(text=f"--{name}={values[0].text}", expansions=values[0].expansions)
        return Argument(words=(joined,), name=name, values=values, given=given)
    return Argument(words=(Word(text=f"--{name}"), *values), name=name, values=values, given=given)


def _word(value: Any, expansions: tuple[str, ...]) -> Word:
    plain = json.dumps(value, default=str, ensure_ascii=False) if isinstance(value, dict | list | bool) else str(value)
    return Word(text=plain, expansions=tuple(each for each in expansions if each in plain))


def _read(words: Sequence[Word], at: int) -> Argument:
    word = words[at]
    if not _is_flag(word):
        return Argument(words=(word,), given=word.text)
    head, equals, _ = word.text.partition("=")
    name, _, path = head.lstrip("-").partition(".")
    if head.startswith("--"):
        name = {"device-memory-utilization": "gpu-memory-utilization"}.get(name.replace("_", "-"), name)
        name = name.replace("_", "-")
    elif level := re.fullmatch(r"O([^.]*)", name):  # -O3
        name = "optimization-level"
        if level[1] or equals:
            return Argument(words=(word,), name=name, given=head)
    else:
        name = SHORT.get(name) or RETIRED_SHORT.get(name) or name
    if (
        head.startswith("--")
        and flag_kind(name) is None
        and len(full := [each for each in KINDS if each.startswith(name)]) == 1
    ):
        name = full[0]  # vLLM's parser takes a beginning that fits one flag only
    if equals:
        return Argument(words=(word,), name=name, path=path, values=(_after_equals(word),), given=head)
    kind = "one" if path else flag_kind(name)
    values = tuple(_values(words[at + 1 :], kind))
    return Argument(words=(word, *values), name=name, path=path, values=values, given=head)


def _is_flag(word: Word) -> bool:
    return word.text.startswith("-") and word.text.strip("-") != "" and not _NUMBER.match(word.text)


def _values(following: Sequence[Word], kind: str | None) -> Iterator[Word]:
    """The values that belong to a flag. Of an unknown flag it is taken that all up to the next flag are."""
    for i, word in enumerate(following):
        if _is_flag(word) or (kind in ("one", "maybe") and i):
            return
        if kind in ("flag", "alone") and (i or word.text.lower() not in ("true", "false")):
            return
        yield word


def _after_equals(word: Word) -> Word:
    head, _, text = word.text.partition("=")
    source = word.source and word.source.partition("=")
    kept = source[2] if source and source[0] == head else None
    return Word(text=text, source=kept, expansions=word.expansions)
