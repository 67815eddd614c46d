"""Text of others, made fit to stand in a page: model output, what a program printed, names from a file.

It stays text: nothing here is HTML, and whoever puts it into a page escapes it.
"""

from __future__ import annotations

import re

__all__ = ["LONGEST", "cut", "last_state", "printed", "readable"]

#: Characters of one text that are shown.
LONGEST = 2_000
_PRINTED = 100_000
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
#: Control characters become their pictures; line ends and tabs stay.
_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"} | {0x7F: 0x2421}
_PICTURES |= dict.fromkeys(range(0x80, 0xA0), 0xFFFD)


def cut(text: str, longest: int) -> str:
    """``text``, or its beginning and how long it is."""
    return f"{text[:longest]}… ({len(text):,} characters)" if len(text) > longest else text


def readable(text: str, *, longest: int = LONGEST) -> str:
    """``text`` with its control characters made visible, half characters replaced, and cut after ``longest``."""
    return cut(text, longest).encode("utf-8", "replace").decode().translate(_PICTURES)


def last_state(line: str) -> str:
    """What a terminal shows of a ``line`` that was written over, as progress is: the last of it."""
    body = line.rstrip("\r")
    return body.rpartition("\r")[2] + line[len(body) :]


def printed(text: str) -> str:
    """What a terminal would show of ``text`` in the end: no colours, and of a line that was overwritten the last."""
    lines = (last_state(line).rstrip("\r") for line in _ANSI.sub("", text).split("\n"))
    return readable("\n".join(lines), longest=_PRINTED)
