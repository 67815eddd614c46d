"""The order of an audit's engines: both at once where both are there, else those under test, then the draft models,
then the baseline, each started once, since a small machine holds one at a time.

Blocks come as they are ready, so that whoever judges them may stop: with both engines at hand that saves sampling, else
the control's sampling and the scoring. vLLM draws from the same seed at every start, so an audit repeated with the same
prompts on engines started here sees much the same texts; other prompts are another look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from labkit.config import EngineConfig, Sampling, SpecConfig
from labkit.engine import check, launch
from labkit.engine.base import Engine, EngineInfo
from labkit.errors import ConfigError, MeasurementError
from labkit.measure.audit import AuditPlan, Control, sample, sample_all, whole
from labkit.measure.audit_drafts import (
    Known,
    drafts_at_every_step,
    drafts_by_lookup,
    drafts_of_server,
    greedy_draft_model,
)
from labkit.measure.audit_greedy import GreedyTexts, greedy_texts
from labkit.measure.audit_scores import Sampled, check_models, sampled, score, thinks
from labkit.measure.score import draft_alone, lookup_bounds, lookup_proposer
from labkit.measure.scored_text import Block
from labkit.records import RequestRecord

__all__ = ["Asked", "Collected", "audit_blocks", "audit_texts", "drafts_known", "launched"]

Drafts = Callable[[Sequence[RequestRecord]], Known]
Texts = Sampled | MeasurementError
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Audits of one engine: of ``spec``, one for each of ``plans``."""

    spec: SpecConfig
    plans: tuple[AuditPlan, ...]


@dataclass(frozen=True, kw_only=True)
class Collected:
    """One audit: what it is of, the engine under test, and ``texts()``, which collects its texts (blocks, at T = 0 all
    at once) and raises what an audit refuses."""

    spec: SpecConfig
    plan: AuditPlan
    engine: EngineInfo
    texts: Callable[[], Iterator[Block] | GreedyTexts]


def _nothing(_: Sequence[RequestRecord]) -> Known:
    return {}


def audit_texts(
    tested: Engine | Texts, control: Control, *, method: str | None, drafts: Drafts = _nothing
) -> Iterator[Block] | GreedyTexts:
    """What the audit of the control's plan looks at: :func:`audit_blocks`, at T = 0 the greedy texts.

    Raises:
        MeasurementError: ``tested`` is one: why the engine under test could not be asked.
    """
    if isinstance(tested, MeasurementError):
        raise tested
    if control.plan.sampling.temperature:
        return audit_blocks(tested, control, method=method, drafts=drafts)
    return greedy_texts(tested, control)


def audit_blocks(
    tested: Engine | Sampled, control: Control, *, method: str | None, drafts: Drafts = _nothing
) -> Iterator[Block]:
    """Block by block, until the plan's tokens are tested or its prompts are used up. ``method``: vLLM's, None where it
    is not known. Prompts that failed in either engine are left out of both.

    Raises:
        MeasurementError: see :mod:`labkit.measure.audit` and :mod:`labkit.measure.audit_scores`.
    """
    plan, notes, total = control.plan, None, 0
    for numbers in plan.blocks():
        if isinstance(tested, Sampled):
            records = list(tested.records[numbers.start : numbers.stop])
            if not records:
                break
        else:
            records = sample(tested, plan, numbers)
        if notes is None:
            found = tested if isinstance(tested, Sampled) else sampled(tested, records)
            notes = check_models(found, control.opinion)
        both = [
            (record, text)
            for record, text in zip(records, control.scored(numbers), strict=True)
            if whole(record) and text is not None
        ]
        if both:
            kept = [record for record, _ in both]
            texts = score(control.engine, kept, drafts(kept), every_step=drafts_at_every_step(method))
            total += sum(map(len, texts))
            yield Block(texts, [text for _, text in both], notes)
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


def launched(
    config: EngineConfig, asked: Sequence[Asked], *, logs: Path, say: Say = lambda _: None
) -> Iterator[Collected]:
    """Audits on engines started one after the other; plans of one sampling are the same and share a control. An engine
    under test that cannot be asked leaves the others' audits whole.

    Raises:
        ConfigError, EngineError: an engine cannot be started.
    """
    check(config, [*(one.spec for one in asked), SpecConfig()])
    answers = [_sampled_by(config, one, logs, say) for one in asked]
    known = [_drafts(config, one, texts, logs, say) for one, (_, texts) in zip(asked, answers, strict=True)]
    say(f"the baseline: sampling the control, scoring all ({config.target})")
    with launch(config, SpecConfig(), log_path=logs / "baseline.log") as baseline:
        controls: dict[Sampling, Control] = {}
        for one, (engine, texts), drafts in zip(asked, answers, known, strict=True):
            for plan, own, told in zip(one.plans, texts, drafts, strict=True):
                control = controls.setdefault(plan.sampling, Control(baseline, plan))
                collect = partial(audit_texts, own, control, method=one.spec.method, drafts=told)
                yield Collected(spec=one.spec, plan=plan, engine=engine, texts=collect)


def _sampled_by(config: EngineConfig, asked: Asked, logs: Path, say: Say) -> tuple[EngineInfo, list[Texts]]:
    """The texts of each plan, or why there are none."""
    spec, found, opinion = asked.spec, [], {}
    with launch(config, spec, log_path=logs / f"{spec.name}-K{spec.k}.log") as engine:
        for plan in asked.plans:
            say(f"{spec.label}: sampling up to {plan.tokens} tokens at T = {plan.sampling.temperature:g}")
            try:
                records = sample_all(engine, plan)
            except MeasurementError as error:
                found.append(error)
                continue
            opinion = opinion or thinks(engine, records)
            found.append(Sampled(engine=engine.info, records=tuple(records), thinks=opinion))
        return engine.info, found


def _drafts(config: EngineConfig, asked: Asked, texts: list[Texts], logs: Path, say: Say) -> list[Drafts]:
    """What tells the drafts of each plan's texts; at T = 0 nobody asks."""
    spec = asked.spec
    if not drafts_known(config, spec) or not any(plan.sampling.temperature for plan in asked.plans):
        return [_nothing] * len(texts)
    if spec.method == "ngram":
        propose = _proposer(spec, config.max_model_len)
        return [partial(drafts_by_lookup, propose=propose, k=spec.k)] * len(texts)
    drafted = [
        r for plan, own in zip(asked.plans, texts, strict=True)
        if isinstance(own, Sampled) and plan.sampling.temperature for r in own.records
    ]  # fmt: skip
    if not drafted:
        return [_nothing] * len(texts)
    say(f"{spec.drafter.model}: scoring its first choices")
    alone = draft_alone(config, spec.drafter.model, drafted)
    with launch(alone, SpecConfig(), log_path=logs / f"{spec.name}-alone.log") as engine:
        known = [
            drafts_of_server(engine, own.records) if isinstance(own, Sampled) and plan.sampling.temperature else {}
            for plan, own in zip(asked.plans, texts, strict=True)
        ]
    return [partial(_told, one) for one in known]


def _told(known: Known, _: Sequence[RequestRecord]) -> Known:
    return known


def _proposer(spec: SpecConfig, max_model_len: int) -> Callable | None:
    low, high = lookup_bounds(spec.drafter)
    try:
        return lookup_proposer(shortest=low, longest=high, max_model_len=max_model_len)
    except ConfigError:
        return None  # no vLLM here: places come from the chunks instead
