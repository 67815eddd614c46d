"""The draft that was verified at each token of a text, where it follows from the text alone.

*Conventions*: an entry is what :class:`~labkit.measure.scored_text.ScoredText` calls ``draft_ids`` and ``proposed``, by
prompt id. Sampled drafts, and heads that depend on their depth in the proposal (EAGLE), have none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from labkit.config import SpecConfig
from labkit.engine.base import Engine
from labkit.measure.score import score_with_server
from labkit.records import RequestRecord

__all__ = ["Known", "drafts_at_every_step", "greedy_draft_model", "drafts_of_server", "drafts_by_lookup"]

Known = Mapping[str, Mapping[str, Any]]
_LOOK_UP = {"ngram", "ngram_gpu", "suffix"}


def drafts_at_every_step(method: str | None) -> bool:
    """Whether a drafter of vLLM's ``method`` has a proposal at every step; one that looks drafts up has not, and of an
    unknown one that is not known."""
    return method is not None and method not in _LOOK_UP


def greedy_draft_model(spec: SpecConfig) -> bool:
    """Whether its drafts are a small model's first choices, which a server of that model tells."""
    drafter = spec.drafter
    return bool(
        drafter and drafter.method == "draft_model" and drafter.options.get("draft_sample_method") != "probabilistic"
    )


def drafts_of_server(engine: Engine, records: Sequence[RequestRecord]) -> Known:
    """The first choice at every token of the draft model that ``engine`` serves; texts of one token have none.

    Raises:
        MeasurementError: the server does not score token ids.
    """
    longer = [record for record in records if not record.error and len(record.output_token_ids or ()) > 1]
    traces = score_with_server(engine, longer) if longer else []
    drafts = {trace.prompt_id: {"draft_ids": np.array(trace.draft_token_ids)} for trace in traces}
    single = (record for record in records if len(record.output_token_ids or ()) == 1)
    return drafts | {record.prompt_id: {"draft_ids": np.array([-1])} for record in single}


def drafts_by_lookup(
    records: Sequence[RequestRecord], propose: Callable[[np.ndarray, int], Sequence[int]], *, k: int
) -> Known:
    """What ``propose(tokens so far, at most so many)`` drafted in the steps of each text, walked by what the server
    says each step accepted. A text whose steps do not fit its proposals is left out."""
    found = {}
    for record in records:
        if not record.error and record.per_step_accepted is not None and record.output_token_ids:
            walked = _walk(record, propose, k)
            if walked is not None:
                found[record.prompt_id] = walked
    return found


def _walk(record: RequestRecord, propose: Callable[[np.ndarray, int], Sequence[int]], k: int) -> dict[str, Any] | None:
    output = np.array(record.output_token_ids, dtype=np.int32)
    tokens = np.concatenate([np.array(record.prompt_token_ids, dtype=np.int32), output])
    begin, n = len(record.prompt_token_ids), len(output)
    draft_ids, proposed, at = np.full(n, -1, dtype=np.int64), np.zeros(n, dtype=np.int64), 1
    steps = iter(zip(record.per_step_accepted, record.per_step_drafted, strict=True))
    while at < n:
        drafts = propose(tokens[: begin + at], k)
        if len(drafts):
            accepted, drafted = next(steps, (None, None))
            if drafted != len(drafts):
                return None
            verified = drafts[: min(accepted + 1, n - at)]
            draft_ids[at : at + len(verified)], proposed[at] = verified, len(drafts)
            at += accepted
        at += 1
    return {"draft_ids": draft_ids, "proposed": proposed} if next(steps, None) is None else None
