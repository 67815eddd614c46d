"""Which place in its step each token of a text had: the only split of tokens, beside the text's own properties, that
is fixed before the token is drawn.

Whether the token at a place is there at all depends on the tokens before it (drafts 1 … j-1 were accepted), never on
itself; so under losslessness it has the target's distribution given its place. *Accepted alone* or *recovered alone*
are chosen by the token's own value and do not have it. The same trap lies in what a server tells: of a drafter that
finds nothing to draft now and then (prompt lookup), a step of one token may have had drafts or not, while a longer one
surely had. A place "first of a step that surely had drafts" would hold accepted tokens alone. So there, unless the
proposals themselves are known, the first tokens of all steps share one place.

*Conventions*: a step's tokens are counted from 1; the first token of a text comes from the prefill, without drafts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labkit.measure.scored_text import ScoredText

__all__ = ["NOT_DRAFTED", "BONUS", "UNCLEAR", "UNKNOWN", "Places", "places"]

NOT_DRAFTED = 0
#: After every draft of its step was accepted.
BONUS = -1
#: First of a step that had drafts or had none.
UNCLEAR = -2
UNKNOWN = -3

_SILENT = "the server does not tell what each step accepted; start it with --per-request-spec-decode-metrics detailed"
_MISFIT = "the steps told by the server do not fit the text it sent"
_Step = tuple[int, int, int]  # index of its first token, accepted, drafted


@dataclass(frozen=True, kw_only=True, eq=False)
class Places:
    """``place[i]``: j ≥ 1 where token i was verified against the j-th draft of its step, else one of the constants.
    ``accepted[i]``: it is a draft that was accepted. ``reason``: why places are UNKNOWN; empty where they are known."""

    place: np.ndarray
    accepted: np.ndarray
    reason: str = ""


def places(text: ScoredText) -> Places:
    """Places from the per-step counts: alone where the drafter drafts at every step; else with the number of proposals
    at each token; else with the chunks of the stream, each a step, and UNCLEAR first tokens."""
    if text.accepted is None or text.drafted is None:
        return _unknown(text, _SILENT)
    steps = list(zip(text.accepted, text.drafted, strict=True))
    if text.proposed is not None:
        laid = _by_proposals(text, steps)
    elif text.every_step:
        laid = _in_a_row(text, steps)
    else:
        laid = _by_chunks(text, steps)
    return _unknown(text, _MISFIT) if laid is None else laid


def _in_a_row(text: ScoredText, steps: list[tuple[int, int]]) -> Places | None:
    """One step after the other, or none at all where the engine had drafting off. Steps after the end do not count."""
    if not steps:
        return _laid(len(text), [])
    starts = (1 + np.cumsum([0, *(accepted + 1 for accepted, _ in steps)])).tolist()
    chunks = [count for count in text.chunk_tokens if count is not None]
    ends = set(np.cumsum(chunks).tolist()) if sum(chunks) == len(text) else set()
    if starts[-1] < len(text) or not ends <= {*starts, len(text)}:
        return None
    return _laid(len(text), [(start, *step) for start, step in zip(starts, steps, strict=False)])


def _by_proposals(text: ScoredText, steps: list[tuple[int, int]]) -> Places | None:
    """Steps begin where the drafter has a proposal; each must have the length the server counted."""
    at, left, laid = 1, list(reversed(steps)), []
    while at < len(text):
        if not text.proposed[at]:
            at += 1
            continue
        if not left or left[-1][1] != text.proposed[at]:
            return None
        accepted, drafted = left.pop()
        laid.append((at, accepted, drafted))
        at += accepted + 1
    return _laid(len(text), laid) if not left else None


def _by_chunks(text: ScoredText, steps: list[tuple[int, int]]) -> Places | None:
    """A chunk of c > 1 tokens is the next step that accepted c - 1, the last one more where the end cut it."""
    chunks = text.chunk_tokens
    if not chunks or None in chunks or sum(chunks) != len(text) or chunks[0] != 1:
        return None
    starts, laid = np.cumsum(chunks)[:-1].tolist(), []
    left = [step for step in reversed(steps) if step[0]]
    for number, (start, count) in enumerate(zip(starts, chunks[1:], strict=True), start=2):
        cut = number == len(chunks)
        if count == 1 and not (cut and left):
            continue
        if not left or not (left[-1][0] + 1 == count or (cut and left[-1][0] + 1 > count)):
            return None
        laid.append((start, *left.pop()))
    return _laid(len(text), laid, unclear=starts) if not left else None


def _laid(n: int, steps: list[_Step], unclear: list[int] | None = None) -> Places:
    """Places of ``n`` tokens; the last step may reach past the end."""
    place, accepted = np.full(n, NOT_DRAFTED, dtype=np.int64), np.zeros(n, dtype=bool)
    for begin, kept, drafted in steps:
        for j in range(min(kept + 1, n - begin)):
            place[begin + j] = j + 1 if j < drafted else BONUS
            accepted[begin + j] = j < kept
    place[unclear or []] = UNCLEAR
    return Places(place=place, accepted=accepted)


def _unknown(text: ScoredText, reason: str) -> Places:
    n = len(text)
    return Places(place=np.full(n, UNKNOWN), accepted=np.zeros(n, dtype=bool), reason=reason)
