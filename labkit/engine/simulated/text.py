"""The simulated model's tokens: one printable character each.

*Conventions*: ids 0..94 are the characters from space to ``~``, 95 is the newline, 96 (:data:`EOS`) ends
a text and has no text of its own.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["EOS", "VOCAB", "chat_prompt", "decode", "encode", "token_text"]

VOCAB = 97
EOS = 96

_TEXT = [*map(chr, range(32, 127)), "\n", ""]
_IDS = {character: i for i, character in enumerate(_TEXT[:EOS])}


def encode(text: str) -> list[int]:
    """Token ids of ``text``, one a character. A character outside the vocabulary maps to one of 0..94, the
    same one in every process."""
    return [_IDS[c] if c in _IDS else zlib.crc32(c.encode("utf-8", "surrogatepass")) % 95 for c in text]


def decode(ids: Iterable[int]) -> str:
    return "".join([_TEXT[i] for i in ids])


def token_text(token: int) -> str:
    """The token as vLLM's ``decoded_token`` shows it: the end of text by a name."""
    return "<|end|>" if token == EOS else _TEXT[token]


def chat_prompt(messages: Sequence[Mapping[str, Any]]) -> str:
    """The text of a conversation, open for the assistant's answer. ``content`` is a text, a list of
    ``{"type": "text", "text": …}`` or None."""
    turns = [f"<{message.get('role', 'user')}>\n{_content(message.get('content'))}\n" for message in messages]
    return "".join([*turns, "<assistant>\n"])


def _content(content: str | Sequence[Mapping[str, Any]] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(str(part.get("text", "")) for part in content)
