"""An audit from beginning to end: texts collected through engines, judged, and those of a run kept in its folder.

Of a run every drafter is audited at every temperature of the plan, at its smallest K of 2 or more (many bonus tokens,
and more than one position), its largest where there is none; what is kept there already stays.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from typing import Any

from labkit.analysis import lossless
from labkit.analysis.lossless import ALPHA, Audit
from labkit.analysis.lossless_family import Family
from labkit.analysis.lossless_greedy import GreedyAudit, audit_greedy
from labkit.audited import REFUSED, Audited
from labkit.config import EngineConfig, Sampling, SpecConfig
from labkit.engine.base import EngineInfo
from labkit.engine.remote import RemoteEngine
from labkit.errors import ConfigError, MeasurementError
from labkit.measure.audit import AuditPlan, Control
from labkit.measure.audit_drafts import drafts_of_server
from labkit.measure.audit_greedy import GreedyTexts
from labkit.measure.audit_run import Asked, Collected, audit_texts, drafts_known, launched
from labkit.measure.scored_text import Block
from labkit.paths import runs_root
from labkit.store import Run
from labkit.workloads import load_workload

__all__ = ["audit", "audit_plan", "audit_servers", "audit_started"]

Say = Callable[[str], None]


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr)


def audit(
    run: Run,
    *,
    temperatures: Sequence[float] | None = None,
    tokens: int = 2000,
    k: int | None = None,
    again: bool = False,
    alpha: float = ALPHA,
    say: Say = _to_stderr,
    **asked: Any,
) -> list[Audited]:
    """Audit the drafters of a run with its prompts, keep what is found in its folder, and return all that is kept
    there. ``tokens``: of each audit; with 0 none is made. ``k``: that K of every drafter; ``again``: what was audited
    too; ``asked``: as :func:`audit_plan` takes it.

    Raises:
        ConfigError, EngineError: as the engines say; there is no drafter.
    """
    if not run.plan.drafters:
        raise ConfigError(f"{run.folder} holds the baseline only; there is no drafter to audit")
    done = set() if again else {(a.drafter, a.k, a.temperature) for a in run.audits()}
    wanted = [float(t) for t in temperatures or run.plan.temperatures]
    todo = _todo(run, k, wanted, done, tokens=tokens, **asked) if tokens else []
    for audited in _audits(run, todo, alpha, say):
        run.save_audit(audited)
        say(f"{audited.label}: {audited.verdict}")
    return run.audits()


def audit_plan(
    prompts: Sequence[Any], temperature: float, *, top_k: int = 20, top_p: float = 1.0, **asked: Any
) -> AuditPlan:
    """A plan at ``temperature``; at T = 0 there is nothing to filter. ``asked``: its other fields."""
    filters = {"top_k": top_k, "top_p": top_p} if temperature else {}
    return AuditPlan(prompts=tuple(prompts), sampling=Sampling(temperature=temperature, **filters), **asked)


def audit_servers(
    plan: AuditPlan, url: str, baseline_url: str, *, draft_url: str | None = None, method: str | None = None,
    target: str | None = None, alpha: float = ALPHA,
) -> Audit | GreedyAudit:  # fmt: skip
    """Audit the server at ``url`` against one of the same target without speculation, both running, so that a clear
    fault ends the sampling. ``draft_url``: a server of the draft model alone.

    Raises:
        ConfigError: one of them is not what it is said to be.
        EngineError, MeasurementError: one does not answer; what an audit refuses.
    """
    with ExitStack() as stack:
        tested = stack.enter_context(RemoteEngine(url, model=target))
        if not tested.info.k:
            raise ConfigError(f"{tested.url} does not speculate, so there is nothing to audit")
        control = Control(stack.enter_context(RemoteEngine(baseline_url, SpecConfig())), plan)
        known = {}
        if draft_url:
            drafter = stack.enter_context(RemoteEngine(draft_url))
            known["drafts"] = lambda records: drafts_of_server(drafter, records)
        texts = audit_texts(tested, control, method=method, **known)
        return _judged(texts, plan, tested.info.k, drafts=bool(draft_url), alpha=alpha)


def audit_started(
    plans: Sequence[AuditPlan], config: EngineConfig, spec: SpecConfig, *, alpha: float = ALPHA, say: Say = _to_stderr
) -> list[Audit | GreedyAudit]:
    """Audit ``spec`` on engines started here, one after the other, for each of ``plans``.

    Raises:
        ConfigError, EngineError, MeasurementError: as the engines and the audit say.
    """
    logs = runs_root() / "audit" / time.strftime("%Y%m%d-%H%M%S")
    with closing(launched(config, [Asked(spec=spec, plans=tuple(plans))], logs=logs, say=say)) as audits:
        return [_judge(one, config, alpha) for one in audits]


def _todo(
    run: Run, k: int | None, temperatures: Sequence[float], done: set[tuple[str, int, float]], **asked: Any
) -> list[Asked]:
    """Each drafter at one K, with the temperatures that are not done."""
    prompts, todo = load_workload(run.plan.workload).prompts, []
    for drafter in run.plan.drafters:
        ks = sorted(spec.k for spec in run.plan.specs if spec.name == drafter.name)
        spec = SpecConfig(drafter=drafter, k=k or next((own for own in ks if own >= 2), ks[-1]))
        left = [t for t in temperatures if (spec.name, spec.k, t) not in done]
        if left:
            todo.append(Asked(spec=spec, plans=tuple(audit_plan(prompts, t, **asked) for t in left)))
    return todo


def _audits(run: Run, todo: Sequence[Asked], alpha: float, say: Say) -> Iterator[Audited]:
    if not todo:
        return
    config, logs = run.plan.engine, run.folder / "logs" / f"audit-{time.strftime('%Y%m%d-%H%M%S')}"
    with closing(launched(config, todo, logs=logs, say=say)) as audits:
        for one in audits:
            try:
                found = _judge(one, config, alpha).plain()
            except MeasurementError as error:
                found = {"verdict": REFUSED, "why": [str(error)], "temperature": one.plan.sampling.temperature}
            yield Audited(
                drafter=one.spec.name, k=one.spec.k, temperature=one.plan.sampling.temperature,
                engine=_words(one.engine), at=time.time(), found=found,
            )  # fmt: skip


def _judge(one: Collected, config: EngineConfig, alpha: float) -> Audit | GreedyAudit:
    return _judged(one.texts(), one.plan, one.spec.k, drafts=drafts_known(config, one.spec), alpha=alpha)


def _judged(
    texts: Iterator[Block] | GreedyTexts, plan: AuditPlan, k: int, *, drafts: bool, alpha: float
) -> Audit | GreedyAudit:
    if isinstance(texts, GreedyTexts):
        return audit_greedy(texts, alpha=alpha)
    family = Family(k=k, categories=tuple(sorted({prompt.category for prompt in plan.prompts})), drafts=drafts)
    with closing(texts) as blocks:
        return lossless.audit(blocks, family=family, alpha=alpha, budget=plan.tokens)


def _words(engine: EngineInfo) -> str:
    repairs = f", repairs: {engine.cpu_fixes}" if engine.cpu_fixes else ""
    return f"{engine.kind} {engine.version or ''} on {engine.device}{repairs}"
