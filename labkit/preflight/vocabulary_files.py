"""The formats in which tokenizers are stored, read without the libraries that use them.

*Conventions*: every reader returns id → token, a token as the format writes it. The *spelling* says how that is:
``byte_level`` text in GPT-2's alphabet ("Ġthe"), ``pieces`` SentencePiece's text ("▁the"), ``bytes`` bytes.

Formats: ``tokenizer.json`` (Hugging Face), SentencePiece's protobuf, tiktoken's lines of base64 and rank,
``tekken.json`` (Mistral), ``vocab.json`` with ``merges.txt``.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

__all__ = [
    "Spelling", "Tokens", "gpt2_merges", "hugging_face", "is_tiktoken", "merge_pairs", "sentencepiece", "spelling_of",
    "tekken", "tiktoken", "to_bytes",
]  # fmt: skip

Tokens = dict[int, str | bytes]
Spelling = Literal["byte_level", "pieces", "bytes"]


def hugging_face(tokenizer: Mapping[str, Any]) -> tuple[Tokens, frozenset[int]]:
    """Tokens of a ``tokenizer.json``, added ones included, and the ids of the special ones."""
    vocab = tokenizer["model"].get("vocab") or {}
    if isinstance(vocab, Mapping):
        tokens: Tokens = {number: token for token, number in vocab.items()}
    else:  # Unigram: token and score, the place is the id
        tokens = {number: entry[0] for number, entry in enumerate(vocab)}
    added = tokenizer.get("added_tokens") or []
    tokens |= {entry["id"]: entry["content"] for entry in added}
    return tokens, frozenset(entry["id"] for entry in added if entry.get("special"))


def spelling_of(tokenizer: Mapping[str, Any]) -> Spelling:
    """How a ``tokenizer.json`` writes its tokens, which its pre-tokenizer or decoder tells."""
    steps = (tokenizer.get("pre_tokenizer"), tokenizer.get("decoder"))
    return "byte_level" if any("'ByteLevel'" in str(step) for step in steps) else "pieces"


def merge_pairs(merges: list[Any] | None) -> list[list[str]]:
    """Merges as pairs; older files write "a b"."""
    if merges and isinstance(merges[0], str):
        return [line.split(" ", 1) for line in merges]
    return merges or []


def gpt2_merges(text: str) -> list[list[str]]:
    """Pairs of a ``merges.txt``."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#version")]
    return [line.split(" ", 1) for line in lines]


def sentencepiece(data: bytes) -> tuple[Tokens, frozenset[int], bytes]:
    """Pieces of a SentencePiece model, the ids of control and unknown pieces, and its normaliser.

    Raises:
        ValueError: the data is no such model.
    """
    pieces: list[str] = []
    special, normalizer = set(), b""
    for number, value in _fields(data):
        if number == 3 and isinstance(value, bytes):
            normalizer = value
        if number != 1 or not isinstance(value, bytes):
            continue
        piece = dict(_fields(value))
        if piece.get(3, 1) in (2, 3):  # unknown, control
            special.add(len(pieces))
        pieces.append(piece[1].decode("utf-8"))
    if not pieces:
        raise ValueError("it holds no SentencePiece pieces")
    return dict(enumerate(pieces)), frozenset(special), normalizer


def is_tiktoken(data: bytes) -> bool:
    """Whether the first line is base64 and a rank."""
    words = data[:4096].split(b"\n", 1)[0].split()
    if len(words) != 2 or not words[1].isdigit():
        return False
    try:
        base64.b64decode(words[0], validate=True)
    except binascii.Error:
        return False
    return True


def tiktoken(data: bytes) -> Tokens:
    """Tokens of a tiktoken file; the rank is the id. Special tokens are not in such a file.

    Raises:
        ValueError: a line is not base64 and a rank.
    """
    words = data.split()
    return {int(rank): base64.b64decode(token) for token, rank in zip(words[::2], words[1::2], strict=True)}


def tekken(stored: Mapping[str, Any]) -> tuple[Tokens, frozenset[int]]:
    """Tokens of a ``tekken.json``: special ones first, then byte tokens by rank."""
    config, listed = stored["config"], stored.get("special_tokens") or []
    offset = config["default_num_special_tokens"]
    tokens: Tokens = {entry["rank"]: entry["token_str"] for entry in listed}
    kept = stored["vocab"][: config["default_vocab_size"] - offset]
    tokens |= {offset + entry["rank"]: base64.b64decode(entry["token_bytes"]) for entry in kept}
    return tokens, frozenset(range(offset))


def to_bytes(token: str | bytes, spelling: Spelling) -> bytes:
    """What a token stands for."""
    if isinstance(token, bytes):
        return token
    if spelling == "byte_level":
        try:
            return bytes(map(_GPT2.__getitem__, token))
        except KeyError:  # an added token, which is written as it is
            return token.encode("utf-8", "surrogatepass")
    if re.fullmatch("<0x[0-9A-Fa-f]{2}>", token):
        return bytes.fromhex(token[3:5])
    return token.replace("▁", " ").encode("utf-8", "surrogatepass")


def _gpt2_alphabet() -> dict[str, int]:
    """The printable character that stands for each byte in byte-level vocabularies, inverted."""
    kept = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in set(kept)]
    return {chr(byte): byte for byte in kept} | {chr(256 + n): byte for n, byte in enumerate(others)}


_GPT2 = _gpt2_alphabet()


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Fields of a protobuf message: number and value (a number, or bytes)."""
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield number, value
            continue
        if kind not in (1, 2, 5):
            raise ValueError("it is no protobuf")
        size, at = _varint(data, at) if kind == 2 else ({1: 8, 5: 4}[kind], at)
        if at + size > end:
            raise ValueError("it is cut off")
        yield number, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("it is cut off")
