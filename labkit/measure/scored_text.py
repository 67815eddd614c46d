"""A text with what the baseline thinks of each of its tokens: all that an audit looks at.

*Conventions*: arrays have one row an output token, the first token and the stop token included. The likeliest
:data:`WIDTH` tokens of a row are ordered by rank. ``logprob`` is natural and *raw*: at T = 1, over the whole
vocabulary, before temperature, top_k and top_p, as vLLM's ``prompt_logprobs`` are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from labkit.errors import MeasurementError
from labkit.records import RequestRecord

__all__ = ["WIDTH", "Block", "ScoredText", "scored_text"]

#: Scored tokens per position: the most that vLLM reports by default (``--max-logprobs``).
WIDTH = 20
#: The probabilities of a row may add up to this: 1, and what rounding adds.
_AT_MOST = 1.001


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoredText:
    """``accepted`` and ``drafted`` hold one count a drafted step, None where the server does not tell them;
    ``every_step``: its method drafts at every step, which prompt lookup and suffixes do not.
    ``draft_ids``: the draft that was verified for each token, were it verified (-1: none); ``proposed``: how many
    drafts a step that begins at each token would get. Both None where the drafter's choices are not known."""

    prompt_id: str
    category: str
    temperature: float
    top_k: int
    top_p: float
    token_ids: np.ndarray
    logprob: np.ndarray
    best_ids: np.ndarray
    best_logprobs: np.ndarray
    accepted: tuple[int, ...] | None = None
    drafted: tuple[int, ...] | None = None
    chunk_tokens: tuple[int | None, ...] = ()
    every_step: bool = False
    draft_ids: np.ndarray | None = None
    proposed: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.token_ids)


class Block(NamedTuple):
    """Texts of the engine under test and of the baseline; the i-th of either answers the same prompt. ``notes``: what
    could not be checked about the two engines."""

    tested: list[ScoredText]
    control: list[ScoredText]
    notes: tuple[str, ...] = ()


def scored_text(record: RequestRecord, rows: Sequence[Mapping[str, Mapping[str, Any]]], **known: Any) -> ScoredText:
    """``rows``: vLLM's ``prompt_logprobs`` of the output tokens alone, ``{token id: {"logprob", "rank"}}`` each.

    Raises:
        MeasurementError: a row is missing, holds fewer than WIDTH tokens, or no log-probabilities.
    """
    ids = record.output_token_ids or ()
    if len(rows) != len(ids) or not all(rows):
        raise MeasurementError(
            f"cannot audit {record.prompt_id}: {sum(map(bool, rows))} of its {len(ids)} tokens were scored"
        )
    best = [sorted(row.items(), key=lambda entry: (-entry[1]["logprob"], entry[1]["rank"]))[:WIDTH] for row in rows]
    if short := [len(row) for row in best if len(row) < WIDTH]:
        raise MeasurementError(
            f"cannot audit {record.prompt_id}: the server scores {short[0]} tokens a position, {WIDTH} are needed; "
            f"start it with --max-logprobs {WIDTH} or more"
        )
    scores = np.array([[entry["logprob"] for _, entry in row] for row in best]).reshape(-1, WIDTH)
    if np.exp(scores).sum(axis=1).max(initial=0) > _AT_MOST:
        raise MeasurementError(
            f"cannot audit {record.prompt_id}: the server sends logits where log-probabilities are needed; start it "
            "without --logprobs-mode"
        )
    sampling = record.sampling
    return ScoredText(
        prompt_id=record.prompt_id,
        category=record.category,
        temperature=float(sampling["temperature"]),
        top_k=int(sampling.get("top_k") or 0),
        top_p=float(sampling.get("top_p", 1.0)),
        token_ids=np.array(ids, dtype=np.int64),
        logprob=np.array([row[str(token)]["logprob"] for row, token in zip(rows, ids, strict=True)]),
        best_ids=np.array([[int(token) for token, _ in row] for row in best], dtype=np.int64).reshape(-1, WIDTH),
        best_logprobs=scores,
        accepted=record.per_step_accepted,
        drafted=record.per_step_drafted,
        chunk_tokens=record.chunk_tokens,
        **known,
    )
