"""Words of a shell command, and how they are written so that a shell reads them back.

A word knows what the program will receive (``text``) and which parts of it the shell still replaces
(``expansions``: ``$MODEL``, ``$(cat key)``). Words without such parts are written as ``shlex.join`` writes them;
the others keep their spelling (``source``), since quoting ``$MODEL`` would end its meaning. A word made here
that holds expansions is written in pieces: literal text in single quotes, each expansion in double quotes.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Operator", "Script", "Word", "write_shell"]

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


@dataclass(frozen=True, kw_only=True)
class Word:
    text: str
    source: str | None = None
    expansions: tuple[str, ...] = ()

    def written(self) -> str:
        if self.source is not None:
            return self.source
        if self.expansions:
            return _composed(self.text, self.expansions)
        if named := _ASSIGNMENT.match(self.text):  # quoted as a whole it would be no assignment
            rest = self.text[named.end() :]
            return named[0] + (shlex.quote(rest) if rest else "")
        return shlex.quote(self.text)


@dataclass(frozen=True)
class Operator:
    """What separates commands (``&&``, ``|``, a line end) or redirects (``2>``)."""

    text: str

    @property
    def redirects(self) -> bool:
        return "<" in self.text or ">" in self.text


@dataclass(frozen=True, kw_only=True)
class Script:
    """``plain``: the text had nothing to repair or to leave out, so it may be given back as it was."""

    tokens: tuple[Word | Operator, ...]
    notes: tuple[str, ...] = ()
    plain: bool = True


def write_shell(tokens: Iterable[Word | Operator]) -> str:
    written = ""
    for token in tokens:
        if isinstance(token, Word):
            written += token.written() + " "
        elif token.text == "\n":
            written = written.rstrip(" ") + "\n"
        else:  # 2>&1 must stay together
            written += token.text + ("" if token.redirects and token.text.endswith("&") else " ")
    return written.strip()


def _composed(text: str, expansions: tuple[str, ...]) -> str:
    spellings = {json.dumps(exp, ensure_ascii=False)[1:-1]: exp for exp in expansions}  # as they stand inside JSON
    spellings |= {exp: exp for exp in expansions}
    pattern = "|".join(re.escape(spelling) for spelling in sorted(spellings, key=len, reverse=True))
    parts = re.split(f"({pattern})", text)
    written = [f'"{spellings[part]}"' if i % 2 else shlex.quote(part) for i, part in enumerate(parts) if part]
    return "".join(written) or "''"
