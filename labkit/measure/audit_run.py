"""The order of an audit's engines: both at once where both are there, else the one under test, then the draft model,
then the baseline, since a small machine holds one at a time.

Blocks come as they are ready, so that whoever judges them may stop: with both engines at hand that saves sampling, else
the control's sampling and the scoring.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from labkit.config import EngineConfig, SpecConfig
from labkit.engine import check, launch
from labkit.engine.base import Engine
from labkit.errors import ConfigError, MeasurementError
from labkit.measure.audit import AuditPlan, paired, sample, sample_all
from labkit.measure.audit_drafts import (
    Known,
    drafts_at_every_step,
    drafts_by_lookup,
    drafts_of_server,
    greedy_draft_model,
)
from labkit.measure.audit_greedy import GreedyTexts, greedy_texts
from labkit.measure.audit_scores import Sampled, check_models, sampled, score
from labkit.measure.score import lookup_proposer
from labkit.measure.scored_text import ScoredText
from labkit.records import RequestRecord

__all__ = ["Block", "drafts_known", "audit_blocks", "launched_blocks", "launched_greedy"]

Block = tuple[list[ScoredText], list[ScoredText]]
Drafts = Callable[[Sequence[RequestRecord]], Known]
Say = Callable[[str], None]
_LOOKUP = 5  # vLLM's prompt_lookup bounds where neither is given


def _nothing(_: Sequence[RequestRecord]) -> Known:
    return {}


def audit_blocks(
    plan: AuditPlan, *, tested: Engine | Sampled, baseline: Engine, method: str | None, drafts: Drafts = _nothing
) -> Iterator[Block]:
    """(tested, control) texts, block by block, until ``plan.tokens`` are tested or the prompts are used up. ``method``:
    vLLM's, None where it is not known.

    Raises:
        MeasurementError: see :mod:`labkit.measure.audit` and :mod:`labkit.measure.audit_scores`.
    """
    total = 0
    for numbers in plan.blocks():
        if isinstance(tested, Sampled):
            records = list(tested.records[numbers.start : numbers.stop])
            if not records:
                break
        else:
            records = sample(tested, plan, numbers)
        control = sample(baseline, plan, numbers)
        if not total:
            check_models(
                tested if isinstance(tested, Sampled) else sampled(tested, records), sampled(baseline, control)
            )
        kept, its_control = paired(records, control)
        if kept:
            texts = score(baseline, kept, drafts(kept), every_step=drafts_at_every_step(method))
            total += sum(map(len, texts))
            yield texts, score(baseline, its_control)
        if total >= plan.tokens:
            return
    if not total:
        raise MeasurementError("cannot audit: no prompt was answered by both engines")


def drafts_known(config: EngineConfig, spec: SpecConfig) -> bool:
    """Whether the drafts of every step can be told from its text: first choices of a draft model, or prompt lookup
    where vLLM's proposer is installed."""
    if config.kind != "vllm":
        return False
    return greedy_draft_model(spec) or (spec.method == "ngram" and _proposer(spec, config.max_model_len) is not None)


def launched_blocks(
    config: EngineConfig, spec: SpecConfig, plan: AuditPlan, *, logs: Path, say: Say = lambda _: None
) -> Iterator[Block]:
    """:func:`audit_blocks` with engines started one after the other.

    Raises:
        ConfigError, EngineError, MeasurementError: as the engines and the audit say.
    """
    texts = _sampled_by(config, spec, plan, logs, say)
    drafts = _drafts(config, spec, texts, logs, say)
    say(f"the baseline: sampling the control, scoring both ({config.target})")
    with launch(config, SpecConfig(), log_path=logs / "baseline.log") as baseline:
        yield from audit_blocks(plan, tested=texts, baseline=baseline, method=spec.method, drafts=drafts)


def launched_greedy(
    config: EngineConfig, spec: SpecConfig, plan: AuditPlan, *, logs: Path, say: Say = lambda _: None
) -> GreedyTexts:
    """:func:`~labkit.measure.audit_greedy.greedy_texts` with engines started one after the other."""
    texts = _sampled_by(config, spec, plan, logs, say)
    say(f"the baseline: three times the same prompts ({config.target})")
    with launch(config, SpecConfig(), log_path=logs / "baseline.log") as baseline:
        return greedy_texts(plan, tested=texts, baseline=baseline)


def _sampled_by(config: EngineConfig, spec: SpecConfig, plan: AuditPlan, logs: Path, say: Say) -> Sampled:
    check(config, [spec, SpecConfig()])
    say(f"{spec.label}: sampling up to {plan.tokens} tokens at T = {plan.sampling.temperature:g}")
    with launch(config, spec, log_path=logs / f"{spec.name}.log") as engine:
        return sample_all(engine, plan)


def _drafts(config: EngineConfig, spec: SpecConfig, texts: Sampled, logs: Path, say: Say) -> Drafts:
    if not drafts_known(config, spec):
        return _nothing
    if spec.method == "ngram":
        propose = _proposer(spec, config.max_model_len)
        return lambda records: drafts_by_lookup(records, propose, k=spec.k)
    say(f"{spec.drafter.model}: scoring its first choices")
    alone = EngineConfig(target=spec.drafter.model, max_model_len=config.max_model_len + 1)
    with launch(alone, SpecConfig(), log_path=logs / "draft.log") as engine:
        known = drafts_of_server(engine, texts.records)
    return lambda _: known


def _proposer(spec: SpecConfig, max_model_len: int) -> Callable | None:
    low, high = (spec.drafter.options.get(f"prompt_lookup_{end}") for end in ("min", "max"))
    low, high = low or high or _LOOKUP, high or low or _LOOKUP
    try:
        return lookup_proposer(shortest=low, longest=high, max_model_len=max_model_len)
    except ConfigError:
        return None  # no vLLM here: places come from the chunks instead
