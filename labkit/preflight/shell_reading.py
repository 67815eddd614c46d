"""Shell text as people paste it → words and operators. Nothing is executed or expanded.

Read generously, because the text comes from articles and chats: comment lines between continued lines, comments
or blanks after a backslash, lines that lost their backslash but begin with a flag, prompts, typographic dashes,
``<placeholders>``, and JSON that nobody quoted. What was repaired is said in ``Script.notes``.
"""

from __future__ import annotations

import json
import re

from labkit.errors import ConfigError
from labkit.preflight.shell import Operator, Script, Word

__all__ = ["read_shell"]

_BLANK = r"[ \t\r\f\v\u00a0\u2003\u3000\u200b\ufeff]"
_GAP = re.compile(rf"{_BLANK}+|\\{_BLANK}*(?:#[^\n]*)?(?:\n|\Z)")
_COMMENT = re.compile(r"#[^\n]*")
_FLAG = re.compile(r"[-–—]+[A-Za-z]")
_OPERATOR = re.compile(r"\d*(?:>>|>\||>&|<<<|<<-?|<&|<>|>|<)|&>>?|&&|\|\||\|&|;;|[;&|()]")
_PLACEHOLDER = re.compile(r"<[A-Za-z][\w ./-]*>(?=\s|\Z)")
_PROMPT = re.compile(r"\s*(?:\$\s+|!)(?=\S)")
_DASHES = re.compile(r"[-–—]*[–—][-–—]*(?=[A-Za-z])")
_SINGLE, _DOUBLE = re.compile(r"'[^']*'"), re.compile(r'"(?:\\.|[^"\\])*"', re.DOTALL)
_VARIABLE = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9?@#*!$-]|\{[^}]*\})")
_PLAIN = re.compile(rf"(?:(?!{_BLANK})[^\n\\'\"$`;&|()<>{{*?\[])+")
_OBJECT = re.compile(r'\{\s*"')


def read_shell(text: str) -> Script:
    """The words and operators of ``text``.

    Raises:
        ConfigError: a quote is not closed.
    """
    reader = _Reader(text.replace("\r\n", "\n"))
    reader.read()
    return Script(tokens=tuple(reader.tokens), notes=tuple(dict.fromkeys(reader.notes)), plain=reader.plain)


class _Reader:
    """One pass over a text. ``fresh`` holds while only blanks were seen since the line began."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.fresh, self.plain = text, 0, True, True
        self.tokens: list[Word | Operator] = []
        self.notes: list[str] = []

    def read(self) -> None:
        self._prompt()
        while self.at < len(self.text):
            if gap := self._match(_GAP):
                self.at = gap.end()
                self.fresh |= "\n" in gap[0]
                self.plain &= not gap[0].strip(" \t")
            elif self.text[self.at] == "\n":
                self._line_end()
            elif comment := self._match(_COMMENT):
                self._comment(comment)
            elif (operator := self._match(_OPERATOR)) and not self._match(_PLACEHOLDER):
                self.at, self.fresh = operator.end(), False
                self.tokens.append(Operator(operator[0]))
            else:
                self.fresh = False
                self._join_flag()
                self.tokens.append(self._word())
        while self.tokens and self.tokens[-1] == Operator("\n"):
            self.tokens.pop()

    def _match(self, pattern: re.Pattern) -> re.Match | None:
        return pattern.match(self.text, self.at)

    def _prompt(self) -> None:
        if found := self._match(_PROMPT):
            self.at, self.plain = found.end(), False

    def _comment(self, comment: re.Match) -> None:
        """A line of its own goes with its line end, and a backslash at a comment's end is taken as meant."""
        self.at, self.plain = comment.end(), False
        if self.fresh or comment[0].rstrip().endswith("\\"):
            self.at, self.fresh = min(self.at + 1, len(self.text)), True

    def _line_end(self) -> None:
        if self.tokens and self.tokens[-1] != Operator("\n"):
            self.tokens.append(Operator("\n"))
        self.at, self.fresh = self.at + 1, True
        self._prompt()

    def _join_flag(self) -> None:
        """No command begins with a flag: a line that does belongs to the command above."""
        if self._match(_FLAG) and self.tokens[-1:] == [Operator("\n")] and isinstance(self.tokens[-2], Word):
            self.tokens.pop()
            self.notes.append("lines that begin with a flag were joined to the command: a backslash was missing")

    def _word(self) -> Word:
        if placeholder := self._match(_PLACEHOLDER):
            self.at, self.plain = placeholder.end(), False
            return Word(text=placeholder[0])
        start, text, source, expansions, live = self.at, "", "", [], False
        while self.at < len(self.text) and not self._ends():
            at = self.at
            part, found, acts = self._piece(start)
            text, expansions, live = text + part, expansions + found, live or acts
            source += "" if (spelled := self.text[at : self.at]) == "\\\n" else spelled
        source = source if live else None
        if dashes := _DASHES.match(text):
            self.notes.append(f"{dashes[0]!r} before a flag's name was read as '--'")
            self.plain = False
            text, source = "--" + text[dashes.end() :], source and "--" + source[dashes.end() :]
        return Word(text=text, source=source, expansions=tuple(expansions))

    def _ends(self) -> bool:
        if self.text[self.at] in "\n;&|()<>":
            return True
        gap = self._match(_GAP)
        if gap and gap[0] == "\\\n":  # the shell joins the halves of a word, but nobody means to join a flag to one
            return self.text[gap.end() : gap.end() + 1] in ("", " ", "\t", "\n", "-", "#")
        return bool(gap)

    def _piece(self, start: int) -> tuple[str, list[str], bool]:
        """The next part of a word: (text, expansions in it, whether the shell acts on its spelling)."""
        char, at = self.text[self.at], self.at
        if char in "'\"":
            self.at = self._closing(_SINGLE if char == "'" else _DOUBLE)
            body = self.text[at + 1 : self.at - 1]
            return (body, [], False) if char == "'" else _unquoted(body)
        if char == "\\":
            self.at += 2
            return self.text[at + 1 : self.at].replace("\n", ""), [], False
        if end := _expansion_end(self.text, at):
            self.at = end
            return self.text[at:end], [self.text[at:end]], True
        if char == "$" and self.text[at + 1 : at + 2] in ("'", '"'):  # $'…' has escapes of its own
            self.at += 1
            return "", [], True
        if char == "{" and (end := _json_end(self.text, at)):
            self.at, self.plain = end, False
            self.notes.append("JSON stood without quotes, which the shell takes apart; it is quoted now")
            return self.text[at:end], [], False
        plain = self._match(_PLAIN)
        self.at = plain.end() if plain else at + 1
        return self.text[at : self.at], [], char in "{*?[" or (at == start and char == "~")

    def _closing(self, pattern: re.Pattern) -> int:
        if found := self._match(pattern):
            return found.end()
        line = self.text.count("\n", 0, self.at) + 1
        raise ConfigError(f"the quote {self.text[self.at]} of line {line} is never closed; close it and try again")


def _unquoted(body: str) -> tuple[str, list[str], bool]:
    """What stands between double quotes: (text, expansions, whether there are any)."""
    text, expansions, at = "", [], 0
    while at < len(body):
        if body[at] == "\\" and body[at + 1 : at + 2] in ('"', "\\", "$", "`", "\n"):
            text, at = text + body[at + 1].replace("\n", ""), at + 2
        elif end := _expansion_end(body, at):
            expansions.append(body[at:end])
            text, at = text + body[at:end], end
        else:
            text, at = text + body[at], at + 1
    return text, expansions, bool(expansions)


def _expansion_end(text: str, at: int) -> int | None:
    """Where the expansion that begins at ``at`` ends, if one does."""
    if text[at] == "`":
        return text.find("`", at + 1) + 1 or None
    if variable := _VARIABLE.match(text, at):
        return variable.end()
    depth = 0
    for i in range(at + 1, len(text) if text.startswith("$(", at) else 0):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i + 1
    return None


def _json_end(text: str, at: int) -> int | None:
    try:
        return json.JSONDecoder().raw_decode(text, at)[1] if _OBJECT.match(text, at) else None
    except (ValueError, RecursionError):
        return None
