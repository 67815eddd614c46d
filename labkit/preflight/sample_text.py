"""A small text in English and Chinese, as tokens of a tokenizer.

*Conventions*: a token of a text is the character where it begins and its id; shares are of all tokens of a
language. Encoding needs the ``tokenizers`` library and a tokenizer.json it can load; else there is no answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from pathlib import Path

import yaml

from labkit.paths import DATA

__all__ = ["CannotEncode", "agreement", "coverage", "encoded_sample", "in_sample"]

Encoded = dict[str, list[list[tuple[int, int]]]]


class CannotEncode(Exception):
    """The sample cannot be cut by a tokenizer; the text says why."""


@lru_cache(maxsize=4)
def encoded_sample(tokenizer: Path) -> Encoded:
    """The sample in tokens, by language and text, without the special tokens a server would add.

    Raises:
        CannotEncode: the library is missing, or cannot load this tokenizer.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise CannotEncode("the tokenizers library is not installed") from None
    try:
        loaded = Tokenizer.from_file(str(tokenizer))
    except Exception as error:  # the library raises no narrower class
        raise CannotEncode(f"the tokenizers library cannot load {tokenizer}: {error}") from None
    return {language: [_encode(loaded, text) for text in found] for language, found in _sample().items()}


def in_sample(meanings: Iterable[bytes]) -> bool:
    """Whether any of these byte strings stands in the sample; some tokenizers put a blank before a text."""
    held = [f" {text}".encode() for texts in _sample().values() for text in texts]
    return any(meaning in text for meaning in meanings for text in held)


def agreement(target: Encoded, draft: Encoded) -> dict[str, float]:
    """By language, the share of the target's tokens that the draft cuts at the same place to the same id."""
    found = {}
    for language, texts in target.items():
        pairs = zip(texts, draft[language], strict=True)
        same = sum(len(set(ours) & set(theirs)) for ours, theirs in pairs)
        found[language] = same / sum(len(set(ours)) for ours in texts)
    return found


def coverage(target: Encoded, ids: Collection[int]) -> dict[str, float]:
    """By language, the share of the target's tokens that a draft limited to ``ids`` can propose."""
    kept = set(ids)
    found = {}
    for language, texts in target.items():
        tokens = [number for text in texts for _, number in text]
        found[language] = sum(number in kept for number in tokens) / len(tokens)
    return found


@lru_cache(maxsize=1)
def _sample() -> dict[str, list[str]]:
    return yaml.safe_load((DATA / "tokenizer_sample.yaml").read_text(encoding="utf-8"))


def _encode(tokenizer, text: str) -> list[tuple[int, int]]:
    encoding = tokenizer.encode(text, add_special_tokens=False)
    return [(begin, number) for (begin, _), number in zip(encoding.offsets, encoding.ids, strict=True)]
