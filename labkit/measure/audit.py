"""What an audit collects: texts sampled from an engine, and the baseline's own for the same prompts.

Every text answers another prompt, so that no two share their randomness, and ends at its stop token or at max_tokens.
With a top_k every fourth text is drawn with a top_k of 5. The 20 likeliest tokens hold nearly all of a small target's
mass, so an engine that ignores a filter of 20 gives the same text as one that obeys it; a filter of 5 cuts off mass
that is seen. Both are exact: the scores of 20 tokens tell the law under either filter. (A fault of a top_k of 20 alone
stays unseen where hardly anything lies beyond 20.)

Refused, as MeasurementError: token ids missing; and what :mod:`labkit.measure.audit_scores` refuses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from labkit.config import Sampling
from labkit.engine.base import Engine
from labkit.engine.http import api_key
from labkit.errors import ConfigError, MeasurementError
from labkit.importers import Prompt
from labkit.measure.audit_scores import Sampled, sampled, score
from labkit.measure.client import Client
from labkit.measure.loop import run_sync
from labkit.measure.scored_text import WIDTH, ScoredText
from labkit.records import RequestRecord

__all__ = ["AuditPlan", "Control", "narrowed", "sample", "sample_all", "whole"]

#: The narrow filter, and which texts it is for: every NARROW_EVERY-th.
NARROW, NARROW_EVERY = 5, 4


@dataclass(frozen=True, kw_only=True)
class AuditPlan:
    """``tokens``: sampling ends with the block of ``block`` prompts that reaches them, or with the prompts."""

    prompts: tuple[Prompt, ...]
    sampling: Sampling
    tokens: int = 2000
    max_tokens: int = 64
    concurrency: int = 8
    block: int = 16

    def __post_init__(self) -> None:
        if not 0 <= self.sampling.top_k <= WIDTH:
            raise ConfigError(
                f"an audit scores the {WIDTH} likeliest tokens, so top_k may be 1 to {WIDTH}, or 0 for none; "
                f"got {self.sampling.top_k}"
            )
        if self.sampling.top_p < 1 and not self.sampling.top_k:
            raise ConfigError(
                f"top_p = {self.sampling.top_p:g} can be audited with a top_k of at most {WIDTH} beside it"
            )
        if min(self.tokens, self.max_tokens, self.concurrency, self.block) < 1:
            raise ConfigError("tokens, max_tokens, concurrency and block of an audit must be ≥ 1")
        if len({prompt.id for prompt in self.prompts}) < len(self.prompts):
            raise ConfigError("an audit asks each prompt once, and some are there twice; give them ids of their own")

    def blocks(self) -> Iterator[range]:
        n = len(self.prompts)
        return (range(begin, min(begin + self.block, n)) for begin in range(0, n, self.block))


def narrowed(top_k: int, number: int) -> int:
    """The top_k of the ``number``-th text of an audit (from 0)."""
    return min(top_k, NARROW) if top_k and number % NARROW_EVERY == NARROW_EVERY - 1 else top_k


def sample(engine: Engine, plan: AuditPlan, numbers: Sequence[int]) -> list[RequestRecord]:
    """A text for each of these prompts; failed requests are records with ``error``.

    Raises:
        MeasurementError: every request failed, or an answer does not come with all its token ids.
    """

    async def all_of_them() -> list[RequestRecord]:
        gate = asyncio.Semaphore(plan.concurrency)
        async with Client(engine.url, engine.info.model, api_key=api_key()) as client:

            async def ask(number: int) -> RequestRecord:
                sampling = replace(plan.sampling, top_k=narrowed(plan.sampling.top_k, number)).body()
                prompt = plan.prompts[number]
                async with gate:
                    return await client.ask(
                        prompt, list(prompt.messages), sampling=sampling, max_tokens=plan.max_tokens
                    )

            return list(await asyncio.gather(*map(ask, numbers)))

    records = run_sync(all_of_them())
    if all(record.error for record in records):
        words = f":\n{engine.last_words()}" if not engine.alive() else ""
        raise MeasurementError(
            f"cannot audit: all {len(records)} requests failed, the first with {records[0].error}{words}"
        )
    for record in records:
        if not record.error and (
            not record.prompt_token_ids or len(record.output_token_ids or ()) != record.output_tokens
        ):
            raise MeasurementError(
                f"cannot audit: {engine.url} counts {record.output_tokens} tokens for {record.prompt_id} and sends "
                f"the ids of {len(record.output_token_ids or ())}; vLLM sends all since 0.11"
            )
    return records


def sample_all(engine: Engine, plan: AuditPlan) -> list[RequestRecord]:
    """Texts until ``plan.tokens`` are reached, for an engine that will be gone when they are scored."""
    records: list[RequestRecord] = []
    for numbers in plan.blocks():
        records += sample(engine, plan, numbers)
        if sum(record.output_tokens or 0 for record in records) >= plan.tokens:
            break
    return records


class Control:
    """What the baseline itself says to the prompts of ``plan``: asked and scored once, however many audits use it."""

    def __init__(self, engine: Engine, plan: AuditPlan) -> None:
        self.engine, self.plan = engine, plan
        self._texts: dict[tuple[str, int], list[RequestRecord]] = {}
        self._scored: dict[int, list[ScoredText | None]] = {}

    def texts(self, numbers: range, *, arm: str = "", concurrency: int | None = None) -> list[RequestRecord]:
        """A text for each prompt of a block; for another ``arm`` they are asked for anew."""
        key = (arm, numbers.start)
        if key not in self._texts:
            plan = replace(self.plan, concurrency=concurrency or self.plan.concurrency)
            self._texts[key] = sample(self.engine, plan, numbers)
        return self._texts[key]

    def scored(self, numbers: range) -> list[ScoredText | None]:
        """The texts of the first arm, scored; None for a request that failed."""
        if numbers.start not in self._scored:
            texts = self.texts(numbers)
            found = iter(score(self.engine, list(filter(whole, texts))))
            self._scored[numbers.start] = [next(found) if whole(text) else None for text in texts]
        return self._scored[numbers.start]

    @cached_property
    def opinion(self) -> Sampled:
        """What the baseline thinks of the prompts of the first block."""
        return sampled(self.engine, self.texts(next(self.plan.blocks())))


def whole(record: RequestRecord) -> bool:
    """Whether the request succeeded and gave a token."""
    return not record.error and bool(record.output_token_ids)
