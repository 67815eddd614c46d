"""Commands that measure nothing themselves: acceptance from a metrics page, every K from a trace."""

from __future__ import annotations

import re
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labkit.cli.output import Json, print_fields, print_json
from labkit.errors import ConfigError

if TYPE_CHECKING:
    from labkit.analysis.replay import Replay

__all__ = ["metrics", "replay"]


def metrics(
    source: Annotated[str, typer.Argument(metavar="FILE|URL", help="A saved metrics page, or a server.")],
    since: Annotated[
        Path | None, typer.Option(help="An earlier page of the same server: show what happened since.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Which served model, where there are several.")] = None,
    as_json: Json = False,
) -> None:
    """Acceptance from a vLLM metrics page."""
    from labkit.analysis.counter_report import counter_report
    from labkit.engine.metrics_page import fetch_page, parse_page, select_model

    def counters(where: str):
        text = fetch_page(where) if where.startswith(("http://", "https://")) else _read(Path(where))
        return select_model(parse_page(text), model, where=where)

    now = counters(source)
    found = counter_report(now.since(counters(str(since))) if since else now)
    print_json(found) if as_json else print_fields(found)


def replay(
    trace: Annotated[
        Path, typer.Argument(metavar="TRACE.jsonl", help="Outputs with the drafter's choice at every token.")
    ],
    k: Annotated[str, typer.Option(metavar="K", help="4, 1:8 (from 1 to 8) or 1,2,4.")] = "1:8",
    as_json: Json = False,
) -> None:
    """Every K from one trace: the exact steps that each would have taken."""
    from labkit.analysis.replay_report import replay_report, replay_traces
    from labkit.measure.traces import read_traces

    ks = _ks(k)
    replayed = replay_traces(read_traces(trace), ks)
    print_json(replay_report(replayed)) if as_json else _print_replay(replayed)


def _ks(text: str) -> list[int]:
    from labkit.analysis.replay import checked_ks

    asked: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"([0-9]{1,9})(?::([0-9]{1,9}))?", part.strip())
        low, high = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if high < low:
            raise ConfigError(f"--k takes 4, 1:8 (from 1 to 8) or 1,2,4; got {text!r}")
        checked_ks([low, high])
        asked += range(low, high + 1)
    return asked


def _print_replay(replayed: Replay) -> None:
    """A table of every K; "–" where nothing was drafted."""
    print(f"{len(replayed.positions)} outputs, {replayed.positions.sum()} tokens without the first of each")
    print("  K    steps  tokens/step  acceptance length  acceptance rate  at least 1, 2, … accepted")
    for j, k in enumerate(replayed.ks):
        found, per_step = replayed.at(k), replayed.tokens_per_step()[j]
        columns = [_shown(value) for value in (per_step, found.mean_acceptance_length, found.rate)]
        joint = " ".join(map(_shown, found.joint[:8])) + (" …" if k > 8 else "")
        print("{:>3} {:>8}  {:>11}  {:>17}  {:>15}  {}".format(k, replayed.steps[:, j].sum(), *columns, joint))


def _shown(value: float) -> str:
    return f"{value:.3f}" if isfinite(value) else "–"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"cannot read {path}: {getattr(error, 'strerror', None) or error}; give a saved metrics page or a URL"
        ) from None
