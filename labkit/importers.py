"""Prompt files of several makers, read into :class:`Prompt`.

The format is recognised from the content: labkit's own and OpenAI ``messages`` JSON Lines, vLLM
``custom`` JSON Lines (``{"prompt": …}``), ShareGPT JSON (a list of ``conversations``), Spec-Bench
``question.jsonl`` (``turns``).  Every reader names file and line of what it cannot read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.errors import WorkloadError

__all__ = ["Prompt", "read_prompts", "guess_language"]

_ROLES = {"human": "user", "user": "user", "system": "system"}
_ROLES |= dict.fromkeys(("gpt", "assistant", "chatgpt", "bing", "bard"), "assistant")


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """One conversation to send. ``messages`` are {"role", "content"} dicts ending with the user;
    ``follow_ups`` are later user turns."""

    id: str
    category: str
    language: str
    messages: tuple[dict[str, str], ...]
    follow_ups: tuple[str, ...] = ()


def read_text(path: Path, *, what: str) -> str:
    """The text of a file of ``what`` ("prompts", "trace"), which the errors name.

    Raises:
        WorkloadError: the file is missing, unreadable or no UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise WorkloadError(f"no {what} file at {path}") from None
    except OSError as error:
        raise WorkloadError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise WorkloadError(f"{path} is not UTF-8 text ({error.reason} at byte {error.start})") from None


def read_prompts(path: str | Path) -> list[Prompt]:
    """Read any supported prompts file.

    Raises:
        WorkloadError: the file is missing or empty, or a line is broken (named by file and line).
    """
    path = Path(path)
    text = read_text(path, what="prompts")
    prompts, seen = [], {}
    for line, row in _rows(path, text):
        where = f"{path}:{line}"
        prompt = _reader(row, where)(row, where, len(prompts))
        if prompt is None:
            continue
        if prompt.id in seen:
            raise WorkloadError(
                f"{where}: id {prompt.id!r} was already used in line {seen[prompt.id]}; ids must be unique"
            )
        seen[prompt.id] = line
        prompts.append(prompt)
    if not prompts:
        raise WorkloadError(f"{path} holds no prompts")
    return prompts


def guess_language(text: str) -> str:
    """``zh`` when a fifth of the letters are Han characters, else ``en``."""
    letters = [c for c in text if c.isalpha()]
    han = sum("\u4e00" <= c <= "\u9fff" for c in letters)
    return "zh" if letters and han >= len(letters) / 5 else "en"


def _rows(path: Path, text: str) -> Iterator[tuple[int, Any]]:
    """(line, object) of JSON Lines, or (position, object) of one JSON list."""
    if text.lstrip().startswith("["):
        yield from enumerate(_json(text, str(path)), start=1)
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, _json(line, f"{path}:{number}")


def _json(text: str, where: str) -> Any:
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode()  # a lone surrogate could be neither stored nor sent
    except json.JSONDecodeError as error:
        line = f":{error.lineno}" if "\n" in text else ""
        raise WorkloadError(f"{where}{line}: not JSON: {error.msg} at column {error.colno}") from None
    except (ValueError, RecursionError) as error:
        raise WorkloadError(f"{where}: not JSON that can be used: {error}") from None
    return value


def _reader(row: Any, where: str) -> Callable[[Any, str, int], Prompt | None]:
    if isinstance(row, dict):
        for key, reader in (
            ("messages", _messages),
            ("turns", _spec_bench),
            ("conversations", _sharegpt),
            ("prompt", _custom),
        ):
            if key in row:
                return reader
    got = f"keys {sorted(row)}" if isinstance(row, dict) else type(row).__name__
    raise WorkloadError(f"{where}: expected an object with 'messages', 'prompt', 'turns' or 'conversations'; got {got}")


def _messages(row: dict[str, Any], where: str, index: int) -> Prompt:
    messages = row["messages"]
    if not isinstance(messages, list) or not messages:
        raise WorkloadError(f"{where}: 'messages' must be a non-empty list; got {messages!r:.200}")
    plain = [{"role": role, "content": text} for role, text in _said(messages, "role", "content", where)]
    while plain and plain[-1]["role"] == "assistant":  # the answer on record is not part of the prompt
        plain.pop()
    if not plain or plain[-1]["role"] != "user":
        raise WorkloadError(f"{where}: no user message before the answer; an answer alone is no prompt")
    follow_ups = row.get("follow_ups", [])
    if not isinstance(follow_ups, list) or not all(isinstance(text, str) for text in follow_ups):
        raise WorkloadError(f"{where}: 'follow_ups' must be a list of texts; got {follow_ups!r:.200}")
    return _prompt(row, index, plain, tuple(follow_ups))


def _said(turns: list[Any], role: str, text: str, where: str) -> list[tuple[str, str]]:
    """(role, text) of each turn, roles named as OpenAI does."""
    said = []
    for turn in turns:
        who = turn.get(role) if isinstance(turn, dict) else None
        if not isinstance(who, str) or who not in _ROLES or not isinstance(turn.get(text), str):
            allowed = ", ".join(_ROLES)
            raise WorkloadError(
                f"{where}: a turn needs {role!r} (one of {allowed}) and text {text!r}; got {turn!r:.200}"
            )
        said.append((_ROLES[who], turn[text]))
    return said


def _custom(row: dict[str, Any], where: str, index: int) -> Prompt:
    if not isinstance(row["prompt"], str):
        raise WorkloadError(f"{where}: 'prompt' must be text; got {row['prompt']!r:.200}")
    return _prompt(row, index, [{"role": "user", "content": row["prompt"]}])


def _spec_bench(row: dict[str, Any], where: str, index: int) -> Prompt:
    turns = row["turns"]
    if not isinstance(turns, list) or not turns or not all(isinstance(turn, str) for turn in turns):
        raise WorkloadError(f"{where}: 'turns' must be a non-empty list of texts; got {turns!r:.200}")
    return _prompt(row, index, [{"role": "user", "content": turns[0]}], tuple(turns[1:]))


def _sharegpt(row: dict[str, Any], where: str, index: int) -> Prompt | None:
    """The first user turn and the user's later turns; answers on record are left out. None for a
    conversation in which the user says nothing."""
    turns = row["conversations"]
    if not isinstance(turns, list):
        raise WorkloadError(f"{where}: 'conversations' must be a list; got {turns!r:.200}")
    said = _said(turns, "from", "value", where)
    system = [{"role": role, "content": text} for role, text in said if role == "system"][:1]
    user = [text for role, text in said if role == "user"]
    if not user:
        return None
    return _prompt(row, index, [*system, {"role": "user", "content": user[0]}], tuple(user[1:]))


def _prompt(
    row: dict[str, Any], index: int, messages: list[dict[str, str]], follow_ups: tuple[str, ...] = ()
) -> Prompt:
    keys = ("id", "question_id", "custom_id")
    identity = next((row[key] for key in keys if row.get(key) is not None), f"line-{index + 1}")
    return Prompt(
        id=str(identity),
        category=str(row.get("category") or "imported"),
        language=str(row.get("language") or guess_language(messages[-1]["content"])),
        messages=tuple(messages),
        follow_ups=follow_ups,
    )
