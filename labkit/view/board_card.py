"""The panel's card: what the selected setting gives, what is recommended, why, and the line that switches it on."""

from __future__ import annotations

import json
import shlex
from html import escape
from math import isnan

from labkit.config import SpecConfig
from labkit.view.lab import Answer
from labkit.view.words import word

__all__ = ["card_html", "launch_line"]


def card_html(answer: Answer, target: str, spec: SpecConfig, language: str = "en") -> str:
    """Verdict, interval, n, the prediction's error; tok/s and the time for 1,000 characters against the baseline;
    what is missing. Escaped."""
    missing = "".join(f"<p class='labkit-missing'>{escape(line)}</p>" for line in answer.missing)
    why = answer.recommendation.why if answer.recommendation else ()
    reasons = "".join(f"<li>{escape(line)}</li>" for line in why)
    return (
        f"<h3>{escape(headline(answer))}</h3>{_table(answer, language)}{missing}"
        f"<p><code>{escape(launch_line(target, spec))}</code></p>"
        f"<details><summary>{escape(word('why', language))}: {escape(_recommended(answer))}</summary>"
        f"<ul>{reasons}</ul></details>"
    )


def headline(answer: Answer) -> str:
    """The selected setting in one sentence, with its interval, n and where the figure comes from."""
    chosen, row = answer.selection, answer.chosen
    where = f"{chosen.drafter} K={chosen.k}, T = {chosen.temperature:g}, {chosen.concurrency} user(s)"
    if not row or isnan(row["speedup"]):
        return f"{where}: not known"
    bounds = "no interval" if isnan(row["low"]) else f"[{row['low']:.2f}, {row['high']:.2f}]"
    error = f", fit off by {row['fit_error']:.1%}" if row["kind"] == "predicted" and row["fit_error"] >= 0 else ""
    sure = "faster" if row["low"] > 1 else "slower" if row["high"] < 1 else "not proven"
    n = f"n = {answer.prompts} prompts"
    return f"{where}: {row['speedup']:.2f}× {bounds}, {sure} ({row['kind']}{error}; {n})"


def launch_line(target: str, spec: SpecConfig) -> str:
    """The ``vllm serve`` command of ``spec``."""
    config = spec.for_vllm()
    speculative = ["--speculative-config", json.dumps(config)] if config else []
    return shlex.join(["vllm", "serve", target, *speculative])


def _table(answer: Answer, language: str) -> str:
    """Against the baseline: TPOT, tok/s, 1,000 characters."""
    base = answer.tpot_ms
    rows = [(word("no speculation", language), base)]
    if answer.chosen and answer.chosen["speedup"] > 0:
        rows.append((f"{answer.selection.drafter} K={answer.selection.k}", base / answer.chosen["speedup"]))
    per_text = 1000 / answer.chars_per_token if answer.chars_per_token > 0 else float("nan")
    heads = [word(name, language) for name in ("setting", "TPOT (ms)", "tok/s", "1,000 characters", "gain")]
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(
        f"<tr><td>{escape(name)}</td><td>{tpot:.1f}</td><td>{1000 / tpot:.1f}</td>"
        f"<td>{per_text * tpot / 1000:.1f} s</td><td>{base / tpot:.2f}×</td></tr>"
        for name, tpot in rows
        if tpot > 0
    )
    return f"<table class='labkit'><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _recommended(answer: Answer) -> str:
    made = answer.recommendation
    if made is None:
        return "nothing was measured at this load"
    return f"{made.choice.label if made.choice else 'off'} ({made.verdict})"
