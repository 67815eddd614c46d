"""The audit: is speculation lossless here?"""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labkit.cli.output import Json, print_json
from labkit.errors import ConfigError

if TYPE_CHECKING:
    from labkit.analysis.lossless import Audit
    from labkit.analysis.lossless_greedy import GreedyAudit
    from labkit.config import EngineConfig, SpecConfig
    from labkit.measure.audit import AuditPlan

__all__ = ["audit"]


def audit(
    target: Annotated[
        str | None, typer.Option(help="Folder, hub id or 'demo' (default); with --url what it serves.")
    ] = None,
    url: Annotated[str | None, typer.Option(help="The running server under test.")] = None,
    baseline_url: Annotated[str | None, typer.Option(help="The same target without speculation, running.")] = None,
    draft_url: Annotated[str | None, typer.Option(help="The draft model alone, running: names more origins.")] = None,
    method: Annotated[
        str | None, typer.Option(help="vLLM's speculative method; with --url it tells steps apart.")
    ] = None,
    draft: Annotated[str | None, typer.Option(help="The draft's folder or hub id.")] = None,
    k: Annotated[int, typer.Option(help="num_speculative_tokens.")] = 3,
    temperature: Annotated[float, typer.Option(help="0 compares greedy texts.")] = 0.8,
    top_k: Annotated[int, typer.Option(help="1 to 20, or 0 for none.")] = 20,
    top_p: Annotated[float, typer.Option(help="Needs a top_k beside it.")] = 1.0,
    tokens: Annotated[int, typer.Option(help="Tokens of the engine under test; a clear fault needs fewer.")] = 2000,
    max_tokens: Annotated[int, typer.Option(help="Tokens of one text at most.")] = 64,
    prompts: Annotated[str, typer.Option(help="'shipped' or a prompts file.")] = "shipped",
    concurrency: int = 8,
    alpha: Annotated[float, typer.Option(help="Chance of a false alarm in the whole audit.")] = 0.005,
    out: Annotated[Path | None, typer.Option(help="Store the result in this JSON file.")] = None,
    as_json: Json = False,
) -> None:
    """Is speculation lossless? Exit 0: no fault found; 1: a fault, or nothing can be said."""
    from labkit.config import Drafter, EngineConfig, Sampling, SpecConfig
    from labkit.measure.audit import AuditPlan
    from labkit.plan import WorkloadSpec
    from labkit.workloads import load_workload

    if not 0 < alpha < 0.5:
        raise ConfigError(f"alpha is the chance of a false alarm, 0.005 say; got {alpha:g}")
    if bool(url) != bool(baseline_url):
        raise ConfigError(
            "an audit of running servers needs both --url and --baseline-url, or neither to start them here"
        )
    plan = AuditPlan(
        prompts=load_workload(WorkloadSpec(source=prompts, max_tokens=max(max_tokens, 2))).prompts,
        sampling=Sampling(
            temperature=temperature, top_k=top_k if temperature else 0, top_p=top_p if temperature else 1.0
        ),
        tokens=tokens,
        max_tokens=max_tokens,
        concurrency=concurrency,
    )
    if url:
        known = method or ("draft_model" if draft_url else None)
        found = _running(plan, (url, baseline_url, draft_url), method=known, target=target, alpha=alpha)
    else:
        method = method or ("draft_model" if draft else None)
        if not method:
            raise ConfigError("say what to audit: --method ngram, --draft FOLDER, or --url and --baseline-url")
        spec = SpecConfig(drafter=Drafter(method=method, model=draft), k=k)
        found = _started(plan, EngineConfig(target=target or "demo"), spec, alpha)
    if out:
        _store(out, found.plain())
    print_json(found.plain()) if as_json else _print(found)
    if found.verdict != "no fault found":
        raise typer.Exit(1)


def _running(
    plan: AuditPlan, urls: tuple[str, str, str | None], *, method: str | None, target: str | None, alpha: float
) -> Audit | GreedyAudit:
    """Both servers at hand: a clear fault ends the sampling."""
    from labkit.analysis import lossless, lossless_greedy
    from labkit.config import SpecConfig
    from labkit.engine.remote import RemoteEngine
    from labkit.measure.audit_drafts import drafts_of_server
    from labkit.measure.audit_greedy import greedy_texts
    from labkit.measure.audit_run import audit_blocks

    url, baseline_url, draft_url = urls
    with ExitStack() as stack:
        tested = stack.enter_context(RemoteEngine(url, model=target))
        if not tested.info.k:
            raise ConfigError(f"{tested.url} does not speculate, so there is nothing to audit")
        baseline = stack.enter_context(RemoteEngine(baseline_url, SpecConfig()))
        if not plan.sampling.temperature:
            return lossless_greedy.audit_greedy(greedy_texts(plan, tested=tested, baseline=baseline), alpha=alpha)
        known = {}
        if draft_url:
            drafter = stack.enter_context(RemoteEngine(draft_url))
            known["drafts"] = lambda records: drafts_of_server(drafter, records)
        family = _family(plan, tested.info.k, drafts=bool(draft_url))
        blocks = audit_blocks(plan, tested=tested, baseline=baseline, method=method, **known)
        watched = stack.enter_context(closing(blocks))
        return lossless.audit(watched, family=family, alpha=alpha, budget=plan.tokens)


def _started(plan: AuditPlan, config: EngineConfig, spec: SpecConfig, alpha: float) -> Audit | GreedyAudit:
    from labkit.analysis import lossless, lossless_greedy
    from labkit.measure.audit_run import drafts_known, launched_blocks, launched_greedy
    from labkit.paths import runs_root

    logs = runs_root() / "audit" / time.strftime("%Y%m%d-%H%M%S")

    def say(line: str) -> None:
        print(line, file=sys.stderr)

    if not plan.sampling.temperature:
        return lossless_greedy.audit_greedy(launched_greedy(config, spec, plan, logs=logs, say=say), alpha=alpha)
    family = _family(plan, spec.k, drafts=drafts_known(config, spec))
    with closing(launched_blocks(config, spec, plan, logs=logs, say=say)) as blocks:
        return lossless.audit(blocks, family=family, alpha=alpha, budget=plan.tokens)


def _family(plan: AuditPlan, k: int, *, drafts: bool):
    from labkit.analysis.lossless_family import Family

    return Family(k=k, categories=tuple(sorted({prompt.category for prompt in plan.prompts})), drafts=drafts)


def _store(out: Path, found: dict) -> None:
    import json

    try:
        out.write_text(json.dumps(found, ensure_ascii=False, indent=1), encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"cannot write {out}: {error.strerror}; give a file in a folder that can be written"
        ) from None


def _print(found: Audit | GreedyAudit) -> None:
    print(found.verdict, *(f"  {line}" for line in found.why), sep="\n")
    for reason in getattr(found, "unavailable", ()):
        print(f"  not tested: {reason}")
