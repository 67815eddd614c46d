"""``LLM(model=…, speculative_model=…)`` in Python source → arguments. The source is parsed, never executed.

Literals and names that are assigned a literal once are read; any other name becomes the shell variable of that
name, and any other expression stays as its text, each with a note, since only running the program could tell.
"""

from __future__ import annotations

import ast
import textwrap
import warnings
from collections import Counter
from typing import Any

from labkit.errors import ConfigError
from labkit.preflight.arguments import Argument, argument_of

__all__ = ["looks_like_a_call", "read_call"]

_CALLS = {"LLM", "AsyncLLM", "EngineArgs", "AsyncEngineArgs"}


def looks_like_a_call(text: str) -> bool:
    return any(f"{name}(" in text for name in _CALLS)


def read_call(text: str) -> tuple[list[Argument], list[str]] | None:
    """Arguments and notes of the first engine made in ``text``; None where it is no Python or makes none.

    Raises:
        ConfigError: the source is nested too deeply to be read.
    """
    tree = _parsed(text)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node.func) in _CALLS]
    if not calls:
        return None
    reader = _Values(tree)
    try:
        arguments = reader.arguments(calls[0])
    except (RecursionError, ValueError):  # of huge numbers no text can be made
        raise ConfigError("the call in the Python source is too deep or too large; give it with plain values") from None
    more = ["of several engines in the source the first was read"] if len(calls) > 1 else []
    return arguments, more + reader.notes


def _parsed(text: str) -> ast.AST:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd escapes in a source that is not ours
        try:
            return ast.parse(textwrap.dedent(text))
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return ast.Module([], [])


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


class _Values:
    """Values of expressions as far as the source itself tells them."""

    def __init__(self, tree: ast.AST) -> None:
        pairs = [
            (target.id, node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        ]
        times = Counter(name for name, _ in pairs)
        self.names = {name: value for name, value in pairs if times[name] == 1}
        self.notes: list[str] = []
        self.variables: list[str] = []

    def arguments(self, call: ast.Call) -> list[Argument]:
        settings: dict[str, Any] = {}
        for name, node in zip(("model", "tokenizer"), call.args, strict=False):
            settings[name] = self.value(node)
        if len(call.args) > 2:
            self.notes.append("of the arguments without a name only the first two were read; name the others")
        for keyword in call.keywords:
            value = self.value(keyword.value)
            if keyword.arg is not None:
                settings[keyword.arg] = value
            elif isinstance(value, dict):
                settings |= {str(key): each for key, each in value.items()}
            else:
                self.notes.append(f"**{ast.unparse(keyword.value)} was not read: its keys are not in the source")
        made = [argument_of(name, value, tuple(self.variables)) for name, value in settings.items()]
        self.notes += [
            f"{name} left out: it is the default" for name, each in zip(settings, made, strict=True) if not each
        ]
        return [each for each in made if each]

    def value(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> Any:
        if isinstance(node, ast.Constant):
            plain = node.value is None or isinstance(node.value, str | int | float)
            return node.value if plain else str(node.value)
        if isinstance(node, ast.Dict) and None not in node.keys:
            pairs = zip(node.keys, node.values, strict=True)
            return {str(self.value(key, seen)): self.value(value, seen) for key, value in pairs}
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return [self.value(each, seen) for each in node.elts]
        if isinstance(node, ast.Call) and _name(node.func) == "dict" and not node.args:
            return {keyword.arg or "": self.value(keyword.value, seen) for keyword in node.keywords}
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            return -node.operand.value if isinstance(node.operand.value, int | float) else ast.unparse(node)
        if isinstance(node, ast.Name) and node.id in self.names and node.id not in seen:
            return self.value(self.names[node.id], seen | {node.id})
        return self._unread(node)

    def _unread(self, node: ast.expr) -> str:
        text = ast.unparse(node)
        if isinstance(node, ast.Name) and text.isascii():
            self.variables.append(f"${text}")
            self.notes.append(f"{text} is no literal: the command takes it from the shell variable ${text}")
            return f"${text}"
        self.notes.append(f"{text} is no literal and stands as it is: put its value in")
        return text
