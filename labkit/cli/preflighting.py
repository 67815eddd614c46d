"""Commands that look before anything is started: whether a pair and its setting work, and known pairs."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labkit.cli.output import Json, print_json
from labkit.errors import ConfigError

if TYPE_CHECKING:
    from labkit.preflight.check import Report
    from labkit.preflight.presets import Preset

__all__ = ["preflight", "presets"]


def preflight(
    target: Annotated[str, typer.Option(help="The target's folder, hub id in the local cache, or 'demo'.")],
    draft: Annotated[str | None, typer.Option(help="The draft's or head's folder.")] = None,
    method: Annotated[str | None, typer.Option(help="vLLM's method; draft_model for a draft without one.")] = None,
    k: Annotated[int | None, typer.Option(help="num_speculative_tokens.")] = None,
    tp: Annotated[int, typer.Option(help="Tensor parallel size of the target.")] = 1,
    draft_tp: Annotated[int | None, typer.Option(help="Of the draft; the target's without.")] = None,
    pp: Annotated[int, typer.Option(help="Pipeline parallel size.")] = 1,
    vllm: Annotated[
        str | None, typer.Option(metavar="VERSION", help="vLLM's version; the installed one, else 0.32.0, without.")
    ] = None,
    speculative_config: Annotated[
        str | None, typer.Option(metavar="JSON", help="As vLLM takes it, in place of method, draft and k.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Repeatable: dp, runner (v1, v2), max_model_len, max_num_seqs, max_num_batched_tokens, "
            "max_cudagraph_capture_size, request_tokens, gpu_memory_gib, gpu_memory_utilization, lora, "
            "structured_outputs, sampling.",
        ),
    ] = None,
    ask_vllm: Annotated[bool, typer.Option("--ask-vllm", help="Also ask the installed vLLM (10 s).")] = False,
    as_json: Json = False,
) -> None:
    """Whether target and drafter work together as asked, from files alone. Exit 1 when they do not."""
    from labkit.config import read
    from labkit.preflight.check import preflight as check
    from labkit.preflight.launch import Launch, merge_speculative_config
    from labkit.preflight.own_words import with_own_words

    named = {"draft": draft, "method": method, "k": k, "draft_tp": draft_tp, "vllm": vllm}
    named |= {"target": target, "tp": tp, "pp": pp, **dict(_setting(text) for text in setting or ())}
    config = _object(speculative_config) if speculative_config else {}
    report = check(read(Launch, merge_speculative_config(config, named), where="preflight"))
    if ask_vllm:
        report = with_own_words(report)
    print_json(report.plain()) if as_json else _print(report)
    if report.verdict == "incompatible":
        raise typer.Exit(1)


def presets(
    name: Annotated[str | None, typer.Argument(help="One preset, in full.")] = None, as_json: Json = False
) -> None:
    """Known pairs of target and drafter: command, verdict, what to know."""
    from labkit.preflight.presets import load_preset, load_presets

    found = [load_preset(name)] if name else list(load_presets().values())
    if as_json:
        print_json([preset.plain() for preset in found])
    elif name:
        _print_preset(found[0])
    else:
        width = max(len(preset.name) for preset in found)
        print(*(f"{p.name:<{width}}  {p.verdict:<12}  {p.title}" for p in found), sep="\n")


def _print(report: Report) -> None:
    print(report.verdict)
    for finding in report.findings:
        print(f"  {finding.level} · {finding.rule}: {finding.message}\n      ({finding.source})")
    if (found := report.tokenizer) is not None:
        tokens = f"{found.tokens['target']:,} and {found.tokens['draft']:,} tokens"
        rates = found.agreement and ", ".join(f"{rate:.1%} ({lang})" for lang, rate in found.agreement.items())
        print(f"tokenizer: {found.verdict} ({tokens}; sample cut alike: {rates or 'not known'})")
        for line in (*found.examples, *found.notes):
            print(f"  {line}")
    print(*report.notes, sep="\n", end="\n" if report.notes else "")
    if config := report.case.launch.speculative_config():
        print("--speculative-config", shlex.quote(json.dumps(config)))


def _print_preset(preset: Preset) -> None:
    print(f"{preset.title}\n{preset.verdict}\n\n{preset.command}\n")
    lines = [f"{finding.level} · {finding.rule}: {finding.message}" for finding in preset.findings()]
    lines += [f"- {line}" for line in preset.caveats]
    print(*(f"  {line}" for line in (*lines, f"sources: {'; '.join(preset.sources)}")), sep="\n")


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ConfigError(f"--set takes NAME=VALUE; got {text!r}")
    return name.replace("-", "_"), _object(value) if value.startswith("{") else value


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"no JSON: {error}; got {text!r}") from None
    if not isinstance(found, dict):
        raise ConfigError(f"expected a JSON object; got {text!r}")
    return found
