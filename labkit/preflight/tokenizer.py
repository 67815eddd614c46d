"""Whether target and draft mean the same by an id: id → token compared, and text cut by both.

*Conventions*: verdicts are ``same``; ``padding_only`` (the same tokens, but vocabularies of different size,
padded for the hardware they were trained on); ``incompatible`` (some id means another token, or something
on one side only). The ids that differ are given in rising order. Agreement is a share by language.

A draft proposes ids. Whatever its acceptance was with its own tokenizer, an id that means another token to
the target is accepted by accident only; so tokens are compared by id, never as sets.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from labkit.preflight.sample_text import CannotEncode, agreement, coverage, encoded_sample, in_sample
from labkit.preflight.vocabulary import CUTTING, Vocabulary

__all__ = ["TokenizerComparison", "compare"]

#: So many differing ids are listed; their number is always given.
LISTED = 256
#: Names of entries that only fill a vocabulary up.
_FILLER = re.compile(r"\[PAD\d*\]|<\|?(?:pad|extra|unused|reserved|dummy|placeholder|special)\w*?_?\d+\|?>", re.I)


@dataclass(frozen=True, kw_only=True)
class TokenizerComparison:
    """``examples`` say in words how the first ids differ; ``differing_parts`` name what else does."""

    verdict: Literal["same", "padding_only", "incompatible"]
    differing_ids: tuple[int, ...] = ()
    only_special: bool = False
    examples: tuple[str, ...] = ()
    tokens: Mapping[str, int] = field(default_factory=dict)
    vocab_size: Mapping[str, int | None] = field(default_factory=dict)
    agreement: Mapping[str, float] | None = None
    differing_parts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    pruned: Mapping[str, Any] | None = None

    def plain(self) -> dict[str, Any]:
        """For JSON: at most LISTED ids."""
        return {
            "verdict": self.verdict,
            "differing_ids": list(self.differing_ids[:LISTED]),
            "differing": len(self.differing_ids),
            "examples": list(self.examples),
            "tokens": dict(self.tokens),
            "vocab_size": dict(self.vocab_size),
            "agreement": self.agreement,
            "differing_parts": list(self.differing_parts),
            "notes": list(self.notes),
            "pruned": self.pruned,
        }


def compare(
    target: Vocabulary, draft: Vocabulary, *, target_size: int | None = None, draft_size: int | None = None
) -> TokenizerComparison:
    """Compare two tokenizers; sizes are the models' ``vocab_size``, rows of the embedding."""
    differing, notes = _differing(target, draft)
    fillers = _fillers(target, draft) & differing
    differing -= fillers
    special = target.special | draft.special
    padded = fillers or (target_size and draft_size and target_size != draft_size)
    parts = tuple(name for name in sorted(target.parts.keys() & draft.parts.keys()) if _differs(target, draft, name))
    rate, why = _agreement(target, draft, parts, differing)
    listed = sorted(differing)
    return TokenizerComparison(
        verdict="incompatible" if differing else "padding_only" if padded else "same",
        differing_ids=tuple(listed),
        only_special=bool(differing) and differing <= special,
        examples=tuple(f"id {n}: target {target.shown(n)}, draft {draft.shown(n)}" for n in listed[:5]),
        tokens={"target": len(target.tokens), "draft": len(draft.tokens)},
        vocab_size={"target": target_size, "draft": draft_size},
        agreement=rate,
        differing_parts=parts,
        notes=(*notes, *([why] if why else [])),
    )


def _differing(target: Vocabulary, draft: Vocabulary) -> tuple[set[int], list[str]]:
    """Ids whose tokens differ in meaning, and what could not be compared."""
    ours, theirs = target.tokens, draft.tokens
    differing = {number for number, token in ours.items() if theirs.get(number) != token} | theirs.keys() - ours.keys()
    if target.spelling != draft.spelling:  # spelled alike, tokens of one meaning are one text
        differing = {number for number in differing if target.meaning(number) != draft.meaning(number)}
    notes = []
    for role, known, other in (("target", target, draft), ("draft", draft, target)):
        if not known.special_known:  # the file leaves them to code, so nothing is known about these ids
            unseen = {number for number in differing if number not in known.tokens and number in other.special}
            differing -= unseen
            notes.append(f"{known.source} of the {role} does not hold its special tokens; {len(unseen)} not compared")
    return differing, notes


def _fillers(target: Vocabulary, draft: Vocabulary) -> set[int]:
    """Ids that exist on one side only, beyond the other's end, under the name of a filler."""
    found = set()
    for here, there in ((target, draft), (draft, target)):
        last = max(there.tokens, default=-1)
        beyond = {number: here.tokens[number] for number in here.tokens.keys() - there.tokens.keys() if number > last}
        found |= {number for number, token in beyond.items() if isinstance(token, str) and _FILLER.fullmatch(token)}
    return found


def _differs(target: Vocabulary, draft: Vocabulary, name: str) -> bool:
    return target.parts[name] != draft.parts[name]


def _agreement(
    target: Vocabulary, draft: Vocabulary, parts: tuple[str, ...], differing: set[int]
) -> tuple[dict[str, float] | None, str]:
    """The rate by language, or None and why not."""
    if not target.path or not draft.path:
        return None, "text was not cut by both: that needs a tokenizer.json on either side"
    alike, special = _cut_alike(target, draft, parts), target.special | draft.special
    if alike and differing <= special:
        return dict.fromkeys(("en", "zh"), 1.0), ""  # the sample holds no special tokens
    if alike and _sure_to_miss(target, target.tokens.keys() - differing - special):
        return dict.fromkeys(("en", "zh"), 0.0), ""
    try:
        ours = encoded_sample(target.path)
        if alike:  # one cut serves both: an id agrees where it means the same
            return coverage(ours, target.tokens.keys() - differing), ""
        return agreement(ours, encoded_sample(draft.path)), ""
    except CannotEncode as error:
        return None, f"text was not cut by both: {error}"


def _sure_to_miss(target: Vocabulary, shared: Collection[int]) -> bool:
    """Whether so few ids are shared that none of them can occur in the sample; this spares loading a tokenizer."""
    as_it_stands = target.spelling == "byte_level" and target.parts["normalizer"] in (None, {"type": "NFC"})
    return as_it_stands and len(shared) <= LISTED and not in_sample(filter(None, map(target.meaning, shared)))


def _cut_alike(target: Vocabulary, draft: Vocabulary, parts: tuple[str, ...]) -> bool:
    """Whether both cut every text into the same tokens, whatever ids these have."""

    def plain(vocabulary: Vocabulary) -> set[str | bytes]:
        return {token for number, token in vocabulary.tokens.items() if number not in vocabulary.special}

    return not set(CUTTING) & set(parts) and plain(target) == plain(draft)
