"""What a command asks of speculation, in whatever version's words → one config as vLLM 0.32 takes it.

Read are the flags of earlier versions, ``--speculative-config`` as JSON or with dots, and today's short
``--spec-model``, ``--spec-method``, ``--spec-tokens``. What 0.32 takes as it stands is left as it stands; what
needs a change is gathered into one ``--speculative-config``. Every change is a note.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from labkit.errors import ConfigError
from labkit.preflight.arguments import Argument
from labkit.preflight.config_text import read_config, read_dotted, write_config
from labkit.preflight.retired import DEAD_FLAGS, DEAD_KEYS, RENAMED
from labkit.preflight.shell import Word
from labkit.preflight.tidy_config import remarks, settle, tidy

__all__ = ["Speculation", "speculation"]

SHORTHANDS = {"spec-method": "method", "spec-model": "model", "spec-tokens": "num_speculative_tokens"}
_NAMES = {*RENAMED, *DEAD_FLAGS, *SHORTHANDS, "speculative-config"}
_TEXTS = {"model", "quantization", "method"}


@dataclass
class Speculation:
    """``argument`` takes the place of the ``used`` ones where something ``changed``; None: nothing is left to ask.
    ``errors``: what is kept as it stood though vLLM will end with an error on it."""

    config: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    used: list[Argument] = field(default_factory=list)
    changed: bool = False
    expansions: tuple[str, ...] = ()

    @property
    def argument(self) -> Argument | None:
        if not self.config:
            return None
        value = write_config(self.config, self.expansions)
        return Argument(
            words=(Word(text="--speculative-config"), value), name="speculative-config", values=(value,),
            given="--speculative-config",
        )  # fmt: skip

    def change(self, note: str) -> None:
        self.changed = True
        self.notes.append(note)


def speculation(arguments: Sequence[Argument], *, target_tp: int | None) -> Speculation:
    """``target_tp``: the target's tensor-parallel size; None where it cannot be read.

    Raises:
        ConfigError: a value is missing or of the wrong kind.
    """
    made = Speculation(used=[each for each in arguments if each.name in _NAMES])
    made.expansions = tuple(dict.fromkeys(exp for each in made.used for word in each.values for exp in word.expansions))
    if not _read_given(made):
        return made
    _add_shorthands(made)
    legacy = _legacy_keys(made)
    made.config |= {key: value for key, (value, _) in legacy.items() if key not in made.config}
    tidy(made)
    settle(made, {key: argument.given for key, (_, argument) in legacy.items()}, target_tp)
    if made.config:
        made.notes += remarks(made.config, target_tp)
    return made


def _read_given(made: Speculation) -> bool:
    """Take over ``--speculative-config``; False where the shell fills it in and nobody can look inside."""
    own = [each for each in made.used if each.name == "speculative-config"]
    whole = [each for each in own if not each.path]
    for each in whole:
        if not each.values:
            raise ConfigError(f"{each.given} needs a value: a JSON object")
        found, as_vllm = read_config(each.values[-1], each.given)
        if found is None and len(made.used) > 1:
            raise ConfigError(
                f"{each.given} is {each.text}, which only the shell can read, and there are other settings of "
                "speculation to put into it; write the JSON out and try again"
            )
        if found is None:
            made.notes.append(f"{each.given} is {each.text}: what the shell puts there was not looked at")
            return False
        if not as_vllm:
            made.change(f"{each.given} was no JSON, which is all that vLLM takes; it is now")
        made.config = found
    if len(whole) > 1:
        made.change("--speculative-config is given more than once: the last one counts, the others are dropped")
    dotted = [each for each in own if each.path]
    if whole and dotted:
        made.change("--speculative-config as JSON and with dots: vLLM would use the dotted keys alone; here is both")
    for each in dotted:
        _merge(made.config, read_dotted(each.path, each.text))
    return True


def _merge(into: dict[str, Any], more: dict[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def _add_shorthands(made: Speculation) -> None:
    for each in made.used:
        key = SHORTHANDS.get(each.name)
        value = _value(each, key) if key else None
        if value is None:
            continue
        if key in made.config:
            same = "the same" if made.config[key] == value else f"{made.config[key]!r}"
            made.change(f"{each.given} dropped: --speculative-config says {same} for {key}, and vLLM takes one of both")
        made.config.setdefault(key, value)


def _legacy_keys(made: Speculation) -> dict[str, tuple[Any, Argument]]:
    """Keys from flags of earlier versions, in one order whatever the order of the flags; the last of a flag counts."""
    found: dict[str, tuple[Any, Argument]] = {}
    for each in made.used:
        if each.name in DEAD_FLAGS:
            made.change(f"{each.given} dropped: {DEAD_KEYS[DEAD_FLAGS[each.name][1]]}")
        elif key := RENAMED.get(each.name):
            value = _value(each, key)
            made.changed = True
            if value is None:
                made.notes.append(f"{each.given} {each.text} dropped: it says nothing")
                continue
            if key in made.config:
                made.notes.append(f"{each.given} dropped: --speculative-config already has {key!r}")
            else:
                made.notes.append(f'{each.given} → "{key}" in --speculative-config; by itself it is gone')
            found[key] = (value, each)
            if value == "$HOME" + each.text[1:]:
                made.expansions += ("$HOME",)
    return {key: found[key] for key in RENAMED.values() if key in found}


def _value(argument: Argument, key: str) -> Any:
    if not argument.values:
        raise ConfigError(f"{argument.given} needs a value; write it after the flag")
    word = argument.values[-1]
    if key in _TEXTS:
        if word.source and word.text.startswith("~/"):  # inside JSON the shell would leave ~ alone
            return "$HOME" + word.text[1:]
        return None if word.text in ("", "None") else word.text
    try:
        return int(word.text)
    except ValueError:
        if word.expansions:
            return word.text
        raise ConfigError(f"{argument.given} takes a whole number; got {word.text!r}") from None
