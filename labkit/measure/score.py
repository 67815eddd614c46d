"""Outputs that exist, scored: what a drafter would have proposed at each of their positions.

Three sources, none of which needs a speculative engine: a server of the drafter alone (``draft_model``), the
proposer of vLLM itself (``ngram``), and the logits of both models in this process where drafts are sampled.

*Conventions*: an output's positions are those after its first token, which prefill produces; a step that begins at
position s has seen the prompt and s + 1 tokens of the output.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import openai

from labkit.config import Drafter, EngineConfig
from labkit.drafters.logits import token_probabilities
from labkit.engine.base import Engine
from labkit.engine.http import api_key
from labkit.errors import ConfigError, MeasurementError
from labkit.measure.loop import run_sync
from labkit.measure.traces import Trace
from labkit.records import RequestRecord

__all__ = [
    "LONGEST", "draft_alone", "lookup_bounds", "lookup_proposer", "scorable", "score_with_lookup", "score_with_logits",
    "score_with_server",
]  # fmt: skip

#: Drafts looked up per position: as many as a replay may ask for.
LONGEST = 32
_AT_ONCE = 8
#: vLLM's bounds of ``ngram`` where neither is given.
_LOOKUP = 5
_DEADLINE = 120.0


def draft_alone(config: EngineConfig, draft: str, records: Sequence[RequestRecord]) -> EngineConfig:
    """The engine of ``config`` with ``draft`` for its target, which scores ``records``: no longer than the longest text
    and the one token that a request must generate, for the draft's window may be that of the target."""
    longest = max(len(r.prompt_token_ids or ()) + len(r.output_token_ids or ()) for r in records)
    return replace(config, kind="vllm", target=draft, port=None, urls={}, max_model_len=longest + 1)


def lookup_bounds(drafter: Drafter) -> tuple[int, int]:
    """The shortest and longest n-gram, in tokens, that vLLM looks up for ``drafter``."""
    low, high = (drafter.options.get(f"prompt_lookup_{end}") for end in ("min", "max"))
    return low or high or _LOOKUP, high or low or _LOOKUP


def scorable(records: Sequence[RequestRecord]) -> list[RequestRecord]:
    """The records with token ids and at least one position to draft for.

    Raises:
        MeasurementError: there is none.
    """
    found = [r for r in records if not r.error and r.prompt_token_ids and len(r.output_token_ids or ()) > 1]
    if not found:
        raise MeasurementError(
            "no output can be scored: none holds its token ids; vLLM sends them since 0.11, so measure again with it"
        )
    return found


def score_with_server(engine: Engine, records: Sequence[RequestRecord]) -> list[Trace]:
    """The first choice, at every output token, of the model that ``engine`` serves.

    Raises:
        MeasurementError: no record can be scored, or the server does not score token ids.
    """
    return run_sync(_score(engine, scorable(records)))


def score_with_lookup(
    records: Sequence[RequestRecord], *, shortest: int, longest: int, max_model_len: int
) -> list[Trace]:
    """What vLLM's ``ngram`` proposer (prompt_lookup_min, prompt_lookup_max) proposes at every position.

    Raises:
        ConfigError: vLLM is not installed here.
        MeasurementError: no record can be scored.
    """
    propose = lookup_proposer(shortest=shortest, longest=longest, max_model_len=max_model_len)

    def trace(record: RequestRecord) -> Trace:
        output = np.array(record.output_token_ids, dtype=np.int32)
        tokens = np.concatenate([np.array(record.prompt_token_ids, dtype=np.int32), output])
        begin = len(record.prompt_token_ids) + 1
        runs, drafted = [], []
        for seen in range(begin, len(tokens)):
            drafts, true = propose(tokens[:seen], LONGEST), tokens[seen:]
            same = drafts[: len(true)] == true[: len(drafts)]
            runs.append(int(np.argmin(same)) if not same.all() else len(same))
            drafted.append(len(drafts))
        return _trace(record, run_lengths=tuple(runs), drafted=tuple(drafted))

    return [trace(record) for record in scorable(records)]


def lookup_proposer(*, shortest: int, longest: int, max_model_len: int) -> Callable[[np.ndarray, int], np.ndarray]:
    """vLLM's ``ngram`` proposer: from the tokens so far (int32) and at most so many, the drafts.

    Raises:
        ConfigError: vLLM is not installed here.
    """
    try:
        from vllm.v1.spec_decode.ngram_proposer import _find_longest_matched_ngram_and_propose_tokens as propose
    except ImportError:
        raise ConfigError("looking drafts up takes vLLM's own proposer, and vLLM is not installed here") from None
    return lambda tokens, most: propose(tokens, shortest, longest, max_model_len, most)


def score_with_logits(
    records: Sequence[RequestRecord], *, target: Path, draft: Path, temperature: float
) -> list[Trace]:
    """The probability at every position that a draft sampled from ``draft`` at ``temperature`` is accepted, given
    the target's token x there: min(1, q(x) / p(x)), p and q over the whole vocabulary (DESIGN: replay).

    Raises:
        ConfigError: a temperature of 0, where nothing is sampled.
        MeasurementError: no record can be scored.
    """
    if temperature <= 0:
        raise ConfigError(f"at T = {temperature:g} nothing is sampled: score with a server of the draft instead")
    chosen = scorable(records)
    texts = [(r.prompt_token_ids, r.output_token_ids) for r in chosen]
    p, q = (token_probabilities(folder, texts, temperature=temperature) for folder in (target, draft))
    return [
        _trace(record, acceptance_probs=tuple(np.minimum(1.0, their[1:] / own[1:]).tolist()))
        for record, own, their in zip(chosen, p, q, strict=True)
    ]


def _trace(record: RequestRecord, **found: Any) -> Trace:
    where = f"{record.prompt_id}, turn {record.turn + 1}"
    return Trace(where=where, prompt_id=record.prompt_id, output_token_ids=record.output_token_ids, **found)


async def _score(engine: Engine, records: Sequence[RequestRecord]) -> list[Trace]:
    gate = asyncio.Semaphore(_AT_ONCE)
    async with openai.AsyncOpenAI(
        base_url=f"{engine.url}/v1", api_key=api_key() or "none", max_retries=0, timeout=_DEADLINE
    ) as client:

        async def trace(record: RequestRecord) -> Trace:
            async with gate:
                answer = await client.completions.create(
                    model=engine.info.model,
                    prompt=[*record.prompt_token_ids, *record.output_token_ids],
                    max_tokens=1,
                    temperature=0,
                    extra_body={"prompt_logprobs": 1},
                )
            return _trace(record, draft_token_ids=_first_choices(answer.choices[0], len(record.prompt_token_ids)))

        try:
            return list(await asyncio.gather(*map(trace, records)))
        except (openai.APIError, httpx.HTTPError) as error:
            raise MeasurementError(f"{engine.url} does not score: {getattr(error, 'message', error)}") from None


def _first_choices(choice: Any, begin: int) -> tuple[int, ...]:
    rows = getattr(choice, "prompt_logprobs", None)
    if not rows:
        raise MeasurementError("the server sends no prompt_logprobs, which scoring reads; vLLM does")
    best = (min(row.items(), key=lambda entry: entry[1]["rank"]) for row in rows[begin:])
    return tuple(int(token) for token, _ in best)
