"""The value of ``--speculative-config`` as people write it → a plain dict.

JSON is what vLLM takes; Python's spelling (single quotes, ``True``), keys without quotes and a comma too many are
understood as well, and the caller is told, since vLLM would refuse them.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import yaml

from labkit.errors import ConfigError
from labkit.preflight.shell import Word

__all__ = ["read_config", "read_dotted", "write_config"]

_BARE_KEY = re.compile(r"(?<=[{,])\s*([\w-]+):(?=\S)")
_KEY = re.compile(r"[\w-]+")
_FOREIGN = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError, yaml.YAMLError)


def read_config(word: Word, flag: str) -> tuple[dict[str, Any] | None, bool]:
    """(the config, whether it stood there as vLLM takes it); None where the shell fills it in.

    Raises:
        ConfigError: it is neither an object nor a variable.
    """
    if word.text.strip() in ("", "None", "null"):
        return {}, True
    for read, as_vllm in _readings(word):
        try:
            found = read()
            found = json.loads(json.dumps(found)) if not as_vllm else found
        except _FOREIGN:
            continue
        if isinstance(found, dict) and all(isinstance(key, str) and _KEY.fullmatch(key) for key in found):
            return found, as_vllm
    if word.expansions:
        return None, True
    raise ConfigError(
        f'{flag} takes a JSON object such as \'{{"method":"ngram","num_speculative_tokens":4}}\'; got {word.text!r}'
    )


def _readings(word: Word) -> Iterator[tuple[Callable[[], Any], bool]]:
    text = word.text
    yield lambda: json.loads(text), True
    if word.expansions:
        pattern = "|".join(map(re.escape, sorted(word.expansions, key=len, reverse=True)))
        inside = re.sub(pattern, lambda found: json.dumps(found[0])[1:-1], text)  # "$(cat "a")" inside a string
        bare = re.sub(pattern, lambda found: json.dumps(found[0]), text)  # {"num_speculative_tokens":$K}
        yield lambda: json.loads(inside), True
        yield lambda: json.loads(bare), True
    yield lambda: _literal(text), False
    yield lambda: yaml.safe_load(text), False
    yield lambda: yaml.safe_load(_BARE_KEY.sub(r"\1: ", text)), False


def _literal(text: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd escapes in a text that is not ours
        return ast.literal_eval(text.strip())


def read_dotted(path: str, text: str) -> dict[str, Any]:
    """``a.b`` and a value → ``{"a": {"b": value}}``, the value as vLLM reads it."""
    *keys, last = path.split(".")
    if last.endswith("+"):
        last, value = last[:-1], text.split(",")
    else:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = text
    for key in (last, *reversed(keys)):
        value = {key: value}
    return value


def write_config(config: dict[str, Any], expansions: tuple[str, ...]) -> Word:
    text = json.dumps(config, ensure_ascii=False, separators=(",", ":"))
    spelled = {exp: json.dumps(exp, ensure_ascii=False)[1:-1] for exp in expansions}
    return Word(text=text, expansions=tuple(exp for exp in expansions if exp in text or spelled[exp] in text))
