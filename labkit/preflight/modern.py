"""Arguments of any version of vLLM's server → those that 0.32 takes, every change with a note."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from labkit.errors import did_you_mean
from labkit.preflight.arguments import Argument, flag_kind
from labkit.preflight.retired import RETIRED, TASKS
from labkit.preflight.shell import Word
from labkit.preflight.speculative import Speculation, speculation
from labkit.preflight.vllm_flags import KINDS, VERSION

__all__ = ["Modern", "modernise"]

_SECRETS = {"api-key": "VLLM_API_KEY", "hf-token": "HF_TOKEN"}
_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no")


@dataclass(frozen=True, kw_only=True)
class Modern:
    words: tuple[Word, ...]
    config: dict[str, Any]
    notes: tuple[str, ...]
    errors: tuple[str, ...]
    changed_config: bool


def modernise(arguments: Sequence[Argument], *, model_first: bool = True, serves: bool = True) -> Modern:
    """``model_first``: the model goes in front, without ``--model``; ``serves``: the flags are the server's, so an
    unknown one is worth a note.

    Raises:
        ConfigError: a flag of speculation has no value or one of the wrong kind.
    """
    asked = speculation(arguments, target_tp=_tensor_parallel(arguments))
    notes = [*asked.notes]
    words = [word for each in arguments for word in _words(each, asked, notes, serves=serves)]
    if model_first:
        words = _model_first(arguments, words, notes)
    return Modern(
        words=tuple(words), config=asked.config, notes=tuple(notes), errors=tuple(asked.errors),
        changed_config=asked.changed,
    )  # fmt: skip


def _words(argument: Argument, asked: Speculation, notes: list[str], *, serves: bool) -> Sequence[Word]:
    if argument in asked.used:
        if not asked.changed:
            return argument.words
        return asked.argument.words if asked.argument and argument is asked.used[0] else ()
    if argument.name in RETIRED:
        return _retired(argument, notes)
    if argument.name in _SECRETS and argument.values:
        notes.append(
            f"{argument.given} kept, but every user of the machine can read it in the list of processes and every "
            f"reader of this text here: put it into the environment as {_SECRETS[argument.name]}"
        )
    kind = flag_kind(argument.name)
    if argument.name and kind is None and serves:
        notes.append(
            f"{argument.given} kept: vLLM {VERSION} does not know it and ends with an error on flags it does not know"
            + did_you_mean(f"--{argument.name}", [f"--{name}" for name in KINDS])
        )
    return _with_value(argument, kind, notes)


def _with_value(argument: Argument, kind: str | None, notes: list[str]) -> Sequence[Word]:
    """Values that are written in another way today: ``--enforce-eager true``, ``--limit-mm-per-prompt image=2``."""
    name, text = argument.name, argument.text.lower()
    if kind in ("flag", "alone") and argument.values and not argument.path and text in (*_TRUE, *_FALSE):
        on = (text in _TRUE) != name.startswith("no-")
        positive = name.removeprefix("no-") if KINDS.get(name) is None else name
        new = f"--{positive}" if on else f"--no-{positive}" if KINDS.get(positive) == "flag" else ""
        notes.append(f"{argument.given} {argument.text} → {new or 'left out'}: the flag takes no value")
        return [Word(text=new)] if new else ()
    if name == "limit-mm-per-prompt" and re.fullmatch(r"\w+=[0-9]+(,\w+=[0-9]+)*", text):
        limits = {key: int(value) for key, value in (pair.split("=") for pair in text.split(","))}
        new = json.dumps(limits, separators=(",", ":"))
        notes.append(f"{argument.given} {argument.text} → {new}: it is JSON now")
        return [Word(text=f"--{name}"), Word(text=new)]
    return argument.words


def _retired(argument: Argument, notes: list[str]) -> Sequence[Word]:
    gone = RETIRED[argument.name]
    if gone.kept or (argument.name == "task" and argument.text not in TASKS):
        notes.append(f"{argument.given} kept, but vLLM {VERSION} has no such flag: {gone.why}")
        return argument.words
    instead = TASKS[argument.text] if argument.name == "task" else gone.instead
    if ("{}" in instead and not argument.values) or argument.text.lower() in _FALSE:
        instead = ""
    if not instead:
        notes.append(f"{argument.given} dropped: {gone.why}")
        return ()
    made = [argument.values[-1] if part == "{}" else Word(text=part) for part in instead.split()]
    notes.append(f"{argument.given} → {' '.join(word.text for word in made)}: {gone.why}")
    return made


def _model_first(arguments: Sequence[Argument], words: list[Word], notes: list[str]) -> list[Word]:
    named = [each for each in arguments if each.name == "model" and each.values]
    positional = [each for each in arguments if not each.name]
    if named and positional:
        notes.append(f"the model is given twice, as {positional[0].given} and by --model; leave one of them")
        return words
    if not named:
        if not positional and not any(each.name == "config" for each in arguments):
            notes.append(f"no model is named; vLLM {VERSION} would serve a default one")
        return words
    if len(named) > 1:
        notes.append("--model is given more than once: the last one counts")
    model = named[-1].values[-1]
    taken = {id(word) for each in named for word in each.words}
    if named[-1].given.startswith("-"):
        notes.append(f"--model {model.text} → {model.text}: vllm serve takes the model first, without a flag")
    return [model, *(word for word in words if id(word) not in taken)]


def _tensor_parallel(arguments: Sequence[Argument]) -> int | None:
    """The target's size; None where it cannot be read."""
    given = [each.text for each in arguments if each.name == "tensor-parallel-size" and each.values]
    return 1 if not given else int(given[-1]) if re.fullmatch(r"[0-9]{1,6}", given[-1]) else None
