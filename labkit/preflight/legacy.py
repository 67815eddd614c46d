"""Any vLLM launch command, of any version → what vLLM 0.32 takes.

Taken are shell text (also a script), a vLLM YAML config and a Python call. Given back is always a shell command:
for a config or a call it is the server with the same settings, and a note says how the file is to be changed.
A command that needs no change comes back as it was; migrating twice changes nothing more; a flag nobody knows is
kept, with a note. Nothing is executed, expanded or looked up, and no vLLM is needed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from labkit.config import read
from labkit.errors import ConfigError
from labkit.preflight.arguments import Argument, flag_kind, read_arguments
from labkit.preflight.config_text import write_config
from labkit.preflight.invocation import find_invocation, image_invocation
from labkit.preflight.launch import Launch, merge_speculative_config
from labkit.preflight.modern import Modern, modernise
from labkit.preflight.python_call import looks_like_a_call, read_call
from labkit.preflight.server_flags import fields_of, runner_of
from labkit.preflight.shell import Operator, Script, Word, write_shell
from labkit.preflight.shell_reading import read_shell
from labkit.preflight.yaml_config import read_yaml, refuse_manifest

__all__ = ["Migration", "migrate"]

_SERVE = (Word(text="vllm"), Word(text="serve"))
_EXPECTED = (
    "expected one of: vllm serve MODEL …, python -m vllm.entrypoints…, docker run … IMAGE …, a YAML config of "
    "vllm serve --config, or a Python call LLM(…)"
)


@dataclass(frozen=True, kw_only=True)
class Migration:
    """``errors``: what is kept as it stood though vLLM will end with an error on it. ``server`` is the first one
    that speculates, or the first, in the words of today, with the variables set in front of it."""

    command: str
    speculative_config: dict[str, Any]
    notes: tuple[str, ...]
    errors: tuple[str, ...] = ()
    server: tuple[Word, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        return {
            "command": self.command,
            "speculative_config": self.speculative_config,
            "notes": list(self.notes),
            "errors": list(self.errors),
        }

    def check(self) -> None:
        """Raise a ConfigError that names what vLLM will not take."""
        if self.errors:
            raise ConfigError("\n".join(self.errors))

    def launch(self) -> Launch:
        """What the command asks for, as the rules look at it.

        Raises:
            ConfigError: it names no model, only the shell knows a part of it, or the drafter makes no sense.
        """
        arguments = read_arguments(self.server)
        unread = next((each for each in arguments if each.name == "speculative-config"), None)
        if unread and not self.speculative_config:
            raise ConfigError(f"{unread.given} is {unread.text}, which only the shell can read; write the JSON out")
        positional = [each.given for each in arguments if not each.name and each.given]
        models = [*positional, *(each.text for each in arguments if each.name == "model" and each.text)]
        if not models:
            raise ConfigError("the command names no model; write it after vllm serve")
        fields = {"target": models[0], "runner": runner_of(self.environment)} | fields_of(arguments)
        return read(Launch, merge_speculative_config(self.speculative_config, fields), where="the command")


@dataclass
class _Found:
    """What was met on the way through a script: the servers started in it, with what stood before each, and notes."""

    servers: list[tuple[Modern, Sequence[Word]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def migrate(text: str) -> Migration:
    """``text`` in the words of vLLM 0.32.

    Raises:
        ConfigError: there is no launch in it, or it cannot be read.
    """
    if not text.strip():
        raise ConfigError(f"there is nothing to migrate; {_EXPECTED}")
    refuse_manifest(text)
    if call := read_call(text):
        return _from_settings(*call, what="a Python call", how="in Python: speculative_config={0!r}")
    found = _Found()
    try:  # a text with a launch in it is a command, whatever else it looks like
        command, settings = _migrated_text(text.strip(), found), None
    except ConfigError:  # an apostrophe of a config is an open quote in a shell
        command, settings = None, read_yaml(text)
        if not settings:
            raise
    if settings := settings or (read_yaml(text) if command is None else None):
        return _from_settings(*settings, what="a YAML config", how="in the file: speculative-config: {1}")
    if command is None:
        hint = "; as Python it has a syntax error" if looks_like_a_call(text) else ""
        raise ConfigError(f"no vLLM launch in this text{hint}; {_EXPECTED}")
    if len(found.servers) > 1:
        found.notes.append("several servers are started; speculative_config is that of the first that speculates")
    return _migration(command, found)


def _migration(command: str, found: _Found) -> Migration:
    server, before = next((each for each in found.servers if each[0].config), found.servers[0])
    made = Migration(
        command=command, speculative_config=server.config, notes=tuple(dict.fromkeys(found.notes)),
        errors=tuple(error for each, _ in found.servers for error in each.errors), server=server.words,
        environment=dict(word.text.split("=", 1) for word in before if "=" in word.text),
    )  # fmt: skip
    try:
        "".join((made.command, write_config(made.speculative_config, ()).text, *made.notes, *made.errors)).encode()
    except UnicodeEncodeError as error:
        raise ConfigError(f"the text is not UTF-8: it holds {error.object[error.start]!r}") from None
    return made


def _from_settings(arguments: Sequence[Argument], notes: Sequence[str], *, what: str, how: str) -> Migration:
    made = modernise(arguments)
    said = [f"read as {what}; the command is the server with the same settings", *notes, *made.notes]
    if made.changed_config:
        said.append(how.format(made.config, write_config(made.config, ()).text) + " in place of the settings it holds")
    return _migration(write_shell([*_SERVE, *made.words]), _Found(servers=[(made, ())], notes=said))


def _migrated_text(text: str, found: _Found) -> str | None:
    """The script with every launch in it migrated; None where there is none."""
    script = read_shell(text)
    before = len(found.servers)
    commands = [_migrated(each, found) for each in _commands(script)]
    tokens = [token for command in commands for token in command]
    if len(found.servers) == before:
        tokens = _bare_flags(script, found)
        if not tokens:
            return None
    found.notes += script.notes
    same = [_shown(token) for token in tokens] == [_shown(token) for token in script.tokens]
    return text if same and script.plain and "\n" not in text else write_shell(tokens)


def _shown(token: Word | Operator) -> tuple[type, str]:
    return type(token), token.text


def _commands(script: Script) -> list[list[Word | Operator]]:
    """The script cut before and after each operator that is no redirection."""
    cut: list[list[Word | Operator]] = [[]]
    for token in script.tokens:
        if isinstance(token, Operator) and not token.redirects:
            cut += [[token], []]
        else:
            cut[-1].append(token)
    return cut


def _migrated(command: list[Word | Operator], found: _Found) -> list[Word | Operator]:
    words, redirections = _apart(command)
    asked = find_invocation(words)
    if not asked and (inner := _migrated_inside(words, found)):
        return [*inner, *redirections]
    asked = asked or image_invocation(words)
    if not asked:
        return command
    made = modernise(read_arguments(asked.arguments), model_first=asked.model_first, serves=asked.serves)
    _take(found, made, asked.before, asked.notes)
    return [*asked.before, *asked.program, *made.words, *redirections]


def _take(found: _Found, made: Modern, before: Sequence[Word], notes: Sequence[str]) -> None:
    found.servers.append((made, before))
    found.notes += [*notes, *made.notes]


def _apart(command: list[Word | Operator]) -> tuple[list[Word], list[Word | Operator]]:
    """The words of a command, and its redirections with their targets, which may stand anywhere in it."""
    words: list[Word] = []
    redirections: list[Word | Operator] = []
    for i, token in enumerate(command):
        if isinstance(token, Operator) or (i and isinstance(command[i - 1], Operator)):
            redirections.append(token)
        else:
            words.append(token)
    return words, redirections


def _migrated_inside(words: list[Word], found: _Found) -> list[Word] | None:
    """``bash -c "vllm serve …"``: a launch inside one word."""
    for i, word in enumerate(words):
        inside = word.text.strip()
        if len(words) == 1 or "vllm" not in inside or not re.search(r"\s", inside) or not _is_script(inside):
            continue
        text = _migrated_text(inside, found)
        if text is not None:
            inner = word if text == inside else Word(text=text, expansions=word.expansions)
            return [*words[:i], inner, *words[i + 1 :]]
    return None


def _is_script(text: str) -> bool:
    try:
        return bool(read_shell(text).tokens)
    except ConfigError:  # prose with an apostrophe
        return False


def _bare_flags(script: Script, found: _Found) -> list[Word | Operator]:
    """``--model T --speculative-model D``: the arguments without a program, as manifests hold them."""
    words, rest = _apart(list(script.tokens))
    arguments = read_arguments(words)
    if rest or not arguments or not all(each.name for each in arguments[:1]) or not any(map(_is_known, arguments)):
        return []
    made = modernise(arguments)
    _take(found, made, (), ["no program is named: the flags were read as those of vllm serve"])
    return [*_SERVE, *made.words]


def _is_known(argument: Argument) -> bool:
    return bool(argument.name) and flag_kind(argument.name) is not None
