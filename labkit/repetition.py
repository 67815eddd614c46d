"""How much of an output repeats itself, and how much of it is copied from the prompt.

Small targets at T = 0 fall into loops, which any drafter predicts; such outputs flatter every figure.
Copying is counted apart: it is what an editing task asks for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence

from labkit.records import RequestRecord

__all__ = ["NGRAM", "LOOPING_SHARE", "repeated", "copied", "is_looping"]

NGRAM = 8
#: Share of repeated 8-grams from which an output counts as looping.
LOOPING_SHARE = 0.25

_WORDS = re.compile(r"[\u4e00-\u9fff]|[^\s\u4e00-\u9fff]+")  # a Han character stands for a word


def repeated(ids: Sequence[Hashable], prompt_ids: Sequence[Hashable] = (), *, n: int = NGRAM) -> float:
    """Share, 0…1, of the output's n-grams that came before in the output, and no less often than the
    prompt holds them (a copied list that repeats a line is no loop). 0 for fewer than n tokens."""
    allowed, seen, again = Counter(_ngrams(prompt_ids, n)), Counter(), 0
    grams = _ngrams(ids, n)
    for gram in grams:
        again += seen[gram] >= max(1, allowed[gram])
        seen[gram] += 1
    return again / len(grams) if grams else 0.0


def copied(ids: Sequence[Hashable], prompt_ids: Sequence[Hashable], *, n: int = NGRAM) -> float:
    """Share, 0…1, of the output's n-grams that stand in the prompt."""
    source, grams = set(_ngrams(prompt_ids, n)), _ngrams(ids, n)
    return sum(gram in source for gram in grams) / len(grams) if grams else 0.0


def is_looping(record: RequestRecord) -> bool:
    """Whether the output of ``record`` loops; without token ids its words stand in for them."""
    if record.output_token_ids is not None:
        return repeated(record.output_token_ids, record.prompt_token_ids or ()) >= LOOPING_SHARE
    return repeated(_WORDS.findall(record.text)) >= LOOPING_SHARE


def _ngrams(ids: Sequence[Hashable], n: int) -> list[tuple[Hashable, ...]]:
    return [tuple(ids[i : i + n]) for i in range(len(ids) - n + 1)]
