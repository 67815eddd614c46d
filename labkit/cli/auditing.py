"""The audit: is speculation lossless here?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labkit.cli.output import Json, print_json
from labkit.errors import ConfigError

if TYPE_CHECKING:
    from labkit.analysis.lossless import Audit
    from labkit.analysis.lossless_greedy import GreedyAudit
    from labkit.measure.audit import AuditPlan

__all__ = ["audit"]


def audit(
    run: Annotated[
        Path | None, typer.Argument(metavar="[RUN]", help="Audit every drafter of this run and keep it there.")
    ] = None,
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
    k: Annotated[int | None, typer.Option(help="num_speculative_tokens; 3, of a run its smallest from 2 on.")] = None,
    temperature: Annotated[
        list[float] | None, typer.Option(help="0.8, of a run its own; repeatable with RUN. 0 compares greedy texts.")
    ] = None,
    top_k: Annotated[int, typer.Option(help="1 to 20, or 0 for none.")] = 20,
    top_p: Annotated[float, typer.Option(help="Needs a top_k beside it.")] = 1.0,
    tokens: Annotated[int, typer.Option(help="Tokens of the engine under test; a clear fault needs fewer.")] = 2000,
    max_tokens: Annotated[int, typer.Option(help="Tokens of one text at most.")] = 64,
    prompts: Annotated[str, typer.Option(help="'shipped' or a prompts file; of a run its own.")] = "shipped",
    concurrency: int = 8,
    alpha: Annotated[float, typer.Option(help="Chance of a false alarm in the whole audit.")] = 0.005,
    again: Annotated[bool, typer.Option("--again", help="Audit also what the run holds an audit of.")] = False,
    out: Annotated[Path | None, typer.Option(help="Store the result in this JSON file.")] = None,
    as_json: Json = False,
) -> None:
    """Is speculation lossless? Exit 0: no fault found; 1: a fault, or nothing can be said."""
    from labkit import auditing
    from labkit.plan import WorkloadSpec
    from labkit.workloads import load_workload

    if not 0 < alpha < 0.5:
        raise ConfigError(f"alpha is the chance of a false alarm, 0.005 say; got {alpha:g}")
    asked = {"top_k": top_k, "top_p": top_p, "tokens": tokens, "max_tokens": max_tokens, "concurrency": concurrency}
    if run:
        own = {"--url": url, "--baseline-url": baseline_url, "--draft-url": draft_url, "--method": method}
        _check_run(own | {"--draft": draft, "--target": target, "--out": out})
        _of_run(run, as_json, temperatures=temperature, k=k, again=again, alpha=alpha, **asked)
        return
    if bool(url) != bool(baseline_url):
        raise ConfigError(
            "an audit of running servers needs both --url and --baseline-url, or neither to start them here"
        )
    if temperature and len(temperature) > 1:
        raise ConfigError(f"several temperatures are for a run; give one, or RUN; got {temperature}")
    workload = load_workload(WorkloadSpec(source=prompts, max_tokens=max(max_tokens, 2)))
    plan = auditing.audit_plan(workload.prompts, temperature[0] if temperature else 0.8, **asked)
    method = method or ("draft_model" if draft or draft_url else None)
    if url:
        found = auditing.audit_servers(
            plan, url, baseline_url, draft_url=draft_url, method=method, target=target, alpha=alpha
        )
    else:
        found = _started(plan, method, draft, 3 if k is None else k, target=target, alpha=alpha)
    if out:
        _store(out, found.plain())
    print_json(found.plain()) if as_json else _print(found)
    _exit([found.verdict])


def _check_run(given: dict[str, object]) -> None:
    if names := [name for name, value in given.items() if value]:
        raise ConfigError(f"a run has its own engine, drafters and folder; leave {', '.join(names)} out, or RUN")


def _of_run(folder: Path, as_json: bool, **asked) -> None:
    from dataclasses import asdict

    from labkit.auditing import audit as audit_run
    from labkit.store import open_run

    audits = audit_run(open_run(folder), **asked)
    if as_json:
        print_json({"audits": [asdict(audited) for audited in audits]})
    else:
        for audited in audits:
            print(f"{audited.label}: {audited.verdict}", *(f"  {line}" for line in audited.why), sep="\n")
    _exit([audited.verdict for audited in audits])


def _started(
    plan: AuditPlan, method: str | None, draft: str | None, k: int, *, target: str | None, alpha: float
) -> Audit | GreedyAudit:
    from labkit.auditing import audit_started
    from labkit.config import Drafter, EngineConfig, SpecConfig

    if not method:
        raise ConfigError("say what to audit: RUN, --method ngram, --draft FOLDER, or --url and --baseline-url")
    spec = SpecConfig(drafter=Drafter(method=method, model=draft), k=k)
    (found,) = audit_started([plan], EngineConfig(target=target or "demo"), spec, alpha=alpha)
    return found


def _exit(verdicts: list[str]) -> None:
    from labkit.audited import NOTHING_FOUND

    if any(verdict != NOTHING_FOUND for verdict in verdicts):
        raise typer.Exit(1)


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
    for reason in found.unavailable:
        print(f"  not tested: {reason}")
    if "not_covered" in (plain := found.plain()):
        print(f"  not covered: {', '.join(plain['not_covered'])} (--json says why)")
