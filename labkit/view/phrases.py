"""What labkit writes, said in another language: whole sentences by pattern, with the parts that change kept.

labkit writes English; a translation is a table from English to the other language (:mod:`labkit.view.zh`). Braces name
what changes in a sentence, and what stands there is said in the same language. What no pattern knows stays as it is:
names, numbers, commands and the words of others are not ours to translate.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from html import escape, unescape
from string import Formatter
from typing import Any

from labkit.errors import ConfigError, did_you_mean
from labkit.view.words import LANGUAGES
from labkit.view.zh import PHRASES

__all__ = ["Phrases", "phrases"]

_TAG = re.compile(r"(<[^>]*>)")
_LONGEST = 1_000  # characters; no sentence of ours is longer
_OURS = ("baseline",)  # the one name in tables of data that labkit gave
_AS_IT_IS = ("code", "pre", "script", "style")


@cache
def phrases(language: str) -> Phrases:
    """How to say things in ``language``.

    Raises:
        ConfigError: labkit does not speak it.
    """
    if language not in LANGUAGES:
        raise ConfigError(
            f"no language {language!r}; there are {', '.join(LANGUAGES)}{did_you_mean(language, LANGUAGES)}"
        )
    return Phrases(PHRASES if language == "zh" else {})


class Phrases:
    """A table of translations. A pattern with more words of its own is tried before one with fewer."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self._exact = {key: said for key, said in table.items() if "{" not in key}
        patterns = sorted((key for key in table if "{" in key), key=_own_words, reverse=True)
        self._patterns = [(re.compile(_expression(key), re.S), table[key]) for key in patterns]
        self._known: dict[str, str] = {}

    def say(self, text: str) -> str:
        if not self._exact or len(text) > _LONGEST:
            return text
        if text not in self._known:
            core = " ".join(text.split())
            lead, tail = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
            said = self._said(core)
            self._known[text] = text if said == core else f"{lead}{said}{tail}"
        return self._known[text]

    def _said(self, text: str) -> str:
        if text in self._exact:
            return self._exact[text]
        for pattern, template in self._patterns:
            if found := pattern.fullmatch(text):
                return template.format(**{name: self.say(part) for name, part in found.groupdict().items()})
        return text

    def html(self, text: str) -> str:
        """The text of HTML; of a table of data the headings, and the cells that are marked as ``said`` by labkit."""
        if not self._exact:
            return text
        made, open_tags, facts, ours = [], [], False, False
        for piece in _TAG.split(text):
            if piece.startswith("<"):
                name = re.sub(r"[^a-z0-9].*", "", piece.lower().lstrip("</"), flags=re.S)
                if name == "table":
                    facts = "facts" in piece
                if name == "td":
                    ours = facts or "class='said" in piece
                open_tags = _after(open_tags, piece, name)
            elif not set(open_tags) & set(_AS_IT_IS) and ("td" not in open_tags or ours or piece in _OURS):
                plain = unescape(piece)
                said = self.say(plain)
                piece = piece if said == plain else escape(said, quote=False)
            made.append(piece)
        return "".join(made)

    def figure(self, figure: Mapping[str, Any]) -> dict[str, Any]:
        """A plotly figure (``data``, ``layout``): titles, names, what stands at axes, marks and under the pointer."""
        return {"data": [self._texts(trace) for trace in figure["data"]], "layout": self._texts(figure["layout"])}

    def markdown(self, source: str) -> str:
        """Prose of a notebook, paragraph by paragraph."""
        blocks = (re.fullmatch(r"(#+ )?(.*)", block, re.S) for block in re.split(r"\n\s*\n", source))
        return "\n\n".join((block[1] or "") + self.say(block[2]) for block in blocks if block)

    def _texts(self, node: Any, name: str = "") -> Any:
        if isinstance(node, Mapping):
            return {key: node[key] if key == "template" else self._texts(node[key], key) for key in node}
        if isinstance(node, list | tuple):
            return [self._texts(value, name) for value in node]
        if isinstance(node, str) and name in _SHOWN:
            return "".join(piece if piece.startswith("<") else self.say(piece) for piece in _TAG.split(node))
        return node


#: What may stand in ``{a}``; in ``{a:n}`` (no Latin letter), ``{a:w}`` (words), ``{a:s}`` (no space).
_KINDS = {"": ".", None: ".", "n": "[^A-Za-z]", "w": "[A-Za-z ]", "s": r"\S"}
#: Fields of a figure that hold text for people.
_SHOWN = {"text", "name", "hovertemplate", "ticktext", "x", "y"}


def _expression(key: str) -> str:
    parts, seen = [], set()
    for literal, name, kind, _ in Formatter().parse(key):
        parts.append(re.escape(literal))
        if name:
            parts.append(f"(?P={name})" if name in seen else f"(?P<{name}>{_KINDS[kind]}+?)")
            seen.add(name)
    return "".join(parts)


def _own_words(key: str) -> int:
    return sum(len(literal) for literal, *_ in Formatter().parse(key))


def _after(open_tags: list[str], tag: str, name: str) -> list[str]:
    """The open elements after ``tag``; those that never close are not counted."""
    if tag.startswith("</"):
        place = len(open_tags) - 1 - open_tags[::-1].index(name) if name in open_tags else len(open_tags)
        return open_tags[:place]
    return open_tags if name in ("br", "input", "img", "col", "hr", "") or tag.endswith("/>") else [*open_tags, name]
