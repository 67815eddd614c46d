"""Secrets must not travel with a report: which there are, where they stand in a text, and the text without them.

Looked for are the values of environment variables whose name or form says that they are secret (of a value of several
lines every line), ``Bearer`` tokens, and keys of a command line or of settings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any
from urllib.parse import quote

__all__ = ["Pieces", "Secrets", "names_a_secret", "removed_in"]

_REMOVED = "[removed: "

_NAME = re.compile(
    r"(?:^|_)(?:key|token|pass|passphrase|credentials?|auth|pat)$|_pwd$|secret|passw|api_?key", re.IGNORECASE
)
_IN_URL = re.compile(r"://[^/\s:@]+:([^/\s@]+)@")
_MARKUP = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|<[^<>]*>")  # colours of a terminal, tags
_SHORTEST = 6
#: Fields of an output that hold text; what is under "data" is by MIME type.
_TEXTS = ("text", "ename", "evalue", "traceback", "metadata")
_QUOTE = r"\\*(?:[\"']|&quot;|&#x27;|&#39;)"
_OPAQUE = r"(?=\S*\d|\S{20})"  # unlike a word of a sentence
_SHAPES = {
    "a Bearer token": re.compile(rf"\bbearer\s+{_OPAQUE}([\w.~+/=-]{{8,}})", re.IGNORECASE),
    "a key in a command line": re.compile(
        rf"(?<![\w-])--(?:[\w-]{{0,40}}[-_])?(?:api[-_]?key|token|secret|password)"
        rf"(?:={_QUOTE}?|{_QUOTE}\s*,\s*{_QUOTE}|\s+{_OPAQUE})(?!-)([^\s\"'\\&<>,]{{6,}})",
        re.IGNORECASE,
    ),
    "a key in settings": re.compile(
        r"(?:api[-_]?key|secret|password|(?:hf|auth|access)[-_]token)"
        rf"(?:{_QUOTE})?\s*[:=]\s*\[?{_QUOTE}(?=[^\s\"']*\d|[^\s\"']{{20}})([^\s\"'\\&<>,]{{6,}})",
        re.IGNORECASE,
    ),
}


def names_a_secret(name: str) -> bool:
    """Whether ``name``, of a variable or a parameter, says that its value is secret."""
    return bool(_NAME.search(name))


def removed_in(text: str) -> str | None:
    """What was taken out of ``text`` first, if anything was."""
    found = re.search(re.escape(_REMOVED) + r"([^\]]*)\]", text)
    return found[1] if found else None


class Secrets:
    """The secrets of an ``environment``, and the shapes that give others away. ``found`` holds the names, never the
    values, of those that were taken out."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.found: set[str] = set()
        self._names: dict[str, str] = {}
        for name, value in environment.items():
            for secret in value.splitlines() if names_a_secret(name) else _IN_URL.findall(value):
                if len(secret := secret.strip()) >= _SHORTEST:
                    self._names |= dict.fromkeys(_written(secret), f"the value of {name}")
        self._values = sorted(self._names, key=len, reverse=True)

    def without(self, text: str) -> str:
        """``text`` with a note in the place of every secret; without its markup where that cuts a secret that people
        would see whole."""
        text = self._without_values(text)
        if "<" in text or "\x1b" in text:
            bare = _MARKUP.sub("", text)
            if (clean := self._without_values(bare)) != bare:
                text = clean
        for what, shape in _SHAPES.items():
            text = shape.sub(lambda match, what=what: self._taken_out(match, what), text)
        return text

    def _without_values(self, text: str) -> str:
        for value in self._values:
            if value in text:
                self.found.add(self._names[value])
                text = text.replace(value, f"{_REMOVED}{self._names[value]}]")
        return text

    def clean(self, data: Any) -> Any:
        """JSON-like ``data`` with every text in it :meth:`without` secrets, names of fields too."""
        if isinstance(data, str):
            return self.without(data)
        if isinstance(data, Mapping):
            return {self.without(key): self.clean(value) for key, value in data.items()}
        return [self.clean(value) for value in data] if isinstance(data, list | tuple) else data

    def clean_output(self, shown: Mapping[str, Any]) -> dict[str, Any]:
        """An output of a cell, or the message it came in: what it shows without secrets, its structure as it is."""
        clean = {name: self.clean(shown[name]) for name in _TEXTS if name in shown}
        if isinstance(shown.get("data"), Mapping):
            clean["data"] = {kind: self.clean(value) for kind, value in shown["data"].items()}
        return {**shown, **clean}

    def _taken_out(self, match: re.Match[str], what: str) -> str:
        if match[1].startswith(_REMOVED.strip()):
            return match[0]
        self.found.add(what)
        return match[0][: match.start(1) - match.start()] + f"{_REMOVED}{what}]"


class Pieces:
    """A text that comes in pieces, without secrets: one may be cut between two of them. No secret goes over the end of
    a line."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets, self._rest = secrets, ""

    def add(self, piece: str) -> str:
        """What is whole by now: lines that were not handed out yet."""
        *whole, self._rest = re.split(r"(?<=[\n\r])", self._rest + piece)
        return "".join(map(self._secrets.without, whole))

    @property
    def rest(self) -> str:
        """The line that has no end yet."""
        return self._secrets.without(self._rest)


def _written(secret: str) -> Iterator[str]:
    """``secret`` as it stands in text, JSON, Python, HTML and an address."""
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield repr(secret)[1:-1]
    yield escape(secret)
    yield quote(secret, safe="")
