"""What an engine thinks of given tokens: the scores an audit rests on, and whether two engines are of one mind at all.

Two engines serve one model where they name it alike, read a prompt as the same token ids and think the same of its
tokens. An engine that does not score is compared by name and ids alone, and the audit says so.

Refused, as MeasurementError: scores missing, engines that differ in any of the three.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import httpx
import openai

from labkit.engine.base import Engine, EngineInfo
from labkit.engine.http import api_key
from labkit.errors import MeasurementError
from labkit.measure.loop import run_sync
from labkit.measure.scored_text import WIDTH, ScoredText, scored_text
from labkit.records import RequestRecord

__all__ = ["Sampled", "sampled", "thinks", "check_models", "score", "raw_logprobs"]

_PROBES = 3
#: Two engines that think of the tokens of a prompt so differently, by the median, do not run one model.
_SAME_MODEL = 0.1
_AT_ONCE = 4
_DEADLINE = 300.0
_UNSCORED = (
    "the engine under test does not score tokens, so that it runs the baseline's model rests on its name and on the "
    "token ids of the prompts alone"
)


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """Texts of the first prompts of a plan, in order, and what the engine thinks of the tokens of the first few
    prompts, by prompt id; nothing where it does not score."""

    engine: EngineInfo
    records: tuple[RequestRecord, ...]
    thinks: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


def sampled(engine: Engine, records: Sequence[RequestRecord]) -> Sampled:
    return Sampled(engine=engine.info, records=tuple(records), thinks=thinks(engine, records))


def thinks(engine: Engine, records: Sequence[RequestRecord]) -> dict[str, tuple[float, ...]]:
    """What the engine thinks of each token of the first prompts; empty where it does not score."""
    asked = [record for record in records if record.prompt_token_ids][:_PROBES]
    try:
        rows = raw_logprobs(engine, [list(record.prompt_token_ids) for record in asked], width=1)
    except MeasurementError:
        return {}
    return {
        record.prompt_id: tuple(row[str(token)]["logprob"] for token, row in _after_the_first(record, own))
        for record, own in zip(asked, rows, strict=True)
    }


def _after_the_first(record: RequestRecord, rows: Sequence[Any]) -> Iterable[tuple[int, Any]]:
    return zip(record.prompt_token_ids[1:], rows[1:], strict=True)


def check_models(tested: Sampled, baseline: Sampled) -> tuple[str, ...]:
    """Raise where the two engines do not serve one model; returns what could not be checked, in sentences.

    Raises:
        MeasurementError: their names, the ids of a prompt, or what they think of its tokens differ.
    """
    names = [repr(one.engine.model) for one in (tested, baseline)]
    if names[0] != names[1]:
        raise MeasurementError(
            f"cannot audit: the engine under test serves {names[0]}, the baseline {names[1]}; serve one model under "
            "one name (--served-model-name)"
        )
    ids = {record.prompt_id: record.prompt_token_ids for record in baseline.records if record.prompt_token_ids}
    for record in tested.records:
        if record.prompt_token_ids and ids.get(record.prompt_id, record.prompt_token_ids) != record.prompt_token_ids:
            raise MeasurementError(
                f"cannot audit: the engines read prompt {record.prompt_id} as different token ids, so their tokenizers "
                "or chat templates differ"
            )
    gaps = [
        abs(a - b)
        for name in tested.thinks.keys() & baseline.thinks.keys()
        for a, b in zip(tested.thinks[name], baseline.thinks[name], strict=True)
    ]
    if gaps and median(gaps) > _SAME_MODEL:
        raise MeasurementError(
            f"cannot audit: the engines do not run one model; their log-probabilities of the same prompt differ by "
            f"{median(gaps):.2f} in the median, rounding moves them by less than {_SAME_MODEL:g}"
        )
    return () if gaps else (_UNSCORED,)


def score(
    engine: Engine,
    records: Sequence[RequestRecord],
    known: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    every_step: bool = False,
) -> list[ScoredText]:
    """The texts with the engine's scores; ``known``: by prompt id, what is known of the drafts; ``every_step``: whether
    every step had some.

    Raises:
        MeasurementError: the engine does not score, or not every token.
    """
    sequences = [[*record.prompt_token_ids, *record.output_token_ids] for record in records]
    rows = raw_logprobs(engine, sequences, width=WIDTH)
    return [
        scored_text(
            record,
            own[len(record.prompt_token_ids) :],
            every_step=every_step,
            **(known or {}).get(record.prompt_id, {}),
        )
        for record, own in zip(records, rows, strict=True)
    ]


def raw_logprobs(engine: Engine, sequences: Sequence[Sequence[int]], *, width: int) -> list[list[dict[str, Any]]]:
    """vLLM's ``prompt_logprobs`` of token ids: a row a token, the first one empty.

    Raises:
        MeasurementError: the engine refuses, sends none, or is gone.
    """

    async def ask() -> list[Any]:
        gate = asyncio.Semaphore(_AT_ONCE)
        async with openai.AsyncOpenAI(
            base_url=f"{engine.url}/v1", api_key=api_key() or "none", max_retries=0, timeout=_DEADLINE
        ) as client:

            async def one(ids: Sequence[int]) -> Any:
                extra = {"prompt_logprobs": width}
                async with gate:
                    return await client.completions.create(
                        model=engine.info.model, prompt=list(ids), max_tokens=1, temperature=0, extra_body=extra
                    )

            return list(await asyncio.gather(*map(one, sequences)))

    try:
        answers = run_sync(ask())
    except (openai.APIError, httpx.HTTPError) as error:
        raise MeasurementError(
            f"cannot audit: {engine.url} does not score: {getattr(error, 'message', error)}"
        ) from None
    rows = [getattr(answer.choices[0], "prompt_logprobs", None) for answer in answers]
    if not all(rows):
        raise MeasurementError(
            f"cannot audit: {engine.url} sends no prompt_logprobs, the scores an audit reads; vLLM does"
        )
    return rows
