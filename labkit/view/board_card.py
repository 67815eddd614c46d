"""The panel's card: what the selected setting gives, what is recommended, why, and the line that switches it on."""

from __future__ import annotations

import json
import shlex
from html import escape
from math import isnan

from labkit.config import EngineConfig, SpecConfig
from labkit.view.frames import Row
from labkit.view.lab import Answer
from labkit.view.phrases import phrases

__all__ = ["card_html", "launch_line"]


def card_html(answer: Answer, engine: EngineConfig, spec: SpecConfig, language: str = "en") -> str:
    """Verdict, interval, n, the prediction's error; tok/s and the time for 1,000 characters against the baseline;
    what audits and task guards say; what is missing. Escaped."""
    lossless = "".join(f"<p class='labkit-lossless'>{escape(line)}</p>" for line in answer.lossless)
    notes = [answer.chosen["note"]] if answer.chosen and answer.chosen["note"] else []
    missing = "".join(f"<p class='labkit-missing'>{escape(line)}</p>" for line in (*notes, *answer.missing))
    why = answer.recommendation.why if answer.recommendation else ()
    reasons = "".join(f"<li>{escape(line)}</li>" for line in why)
    return phrases(language).html(
        f"<h3>{escape(headline(answer))}</h3>{_table(answer)}{lossless}{missing}"
        f"<p><code>{escape(launch_line(engine, spec))}</code></p>{_names(engine, spec)}"
        f"<details><summary>why: {escape(_recommended(answer))}</summary><ul>{reasons}</ul></details>"
    )


def headline(answer: Answer) -> str:
    """The selected setting in one sentence, with its interval, n and where the figure comes from."""
    chosen, row = answer.selection, answer.chosen
    users = f"{chosen.concurrency} user{'' if chosen.concurrency == 1 else 's'}"
    where = f"{chosen.drafter} K={chosen.k}, T = {chosen.temperature:g}, {users}"
    if not row or isnan(row["speedup"]):
        return f"{where}: not known"
    bounds = "no interval" if isnan(row["low"]) else f"[{row['low']:.2f}, {row['high']:.2f}]"
    error = f"; fit off by {row['fit_error']:.1%}" if row["kind"] == "predicted" and row["fit_error"] >= 0 else ""
    rests = f"{row['kind']}{error}; n = {row['prompts']} prompts"
    return f"{where}: {row['speedup']:.2f}× {bounds}, {_sure(row)} ({rests})"


def launch_line(engine: EngineConfig, spec: SpecConfig) -> str:
    """The ``vllm serve`` command of ``spec`` on the run's engine."""
    config = spec.for_vllm()
    speculative = ["--speculative-config", json.dumps(config, ensure_ascii=False)] if config else []
    length = ["--max-model-len", str(engine.max_model_len)]
    return shlex.join(["vllm", "serve", engine.target, *length, *engine.args, *speculative])


def _sure(row: Row) -> str:
    """Nothing is proven by an interval that lacks the error of the prediction."""
    whole = row["kind"] != "predicted" or row["fit_error"] >= 0
    if whole and row["low"] > 1:
        return "faster"
    return "slower" if whole and row["high"] < 1 else "not proven"


def _names(engine: EngineConfig, spec: SpecConfig) -> str:
    """What labkit's own names stand for."""
    draft = (spec.drafter and spec.drafter.model) or ""
    if not any(name.split("/")[0] == "demo" for name in (engine.target, draft)):
        return ""
    return "<p><small>demo names stand for folders: labkit models demo makes and names them</small></p>"


def _table(answer: Answer) -> str:
    """Against the baseline: TPOT, tok/s, 1,000 characters."""
    base = answer.tpot_ms
    rows = [("no speculation", base)]
    if answer.chosen and answer.chosen["speedup"] > 0:
        rows.append((f"{answer.selection.drafter} K={answer.selection.k}", base / answer.chosen["speedup"]))
    per_text = 1000 / answer.chars_per_token if answer.chars_per_token > 0 else float("nan")
    heads = ("setting", "TPOT (ms)", "tok/s per user", "1,000 characters", "gain")
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(
        f"<tr><td class='said'>{escape(name)}</td><td>{tpot:.1f}</td><td>{1000 / tpot:.1f}</td>"
        f"<td>{_seconds(per_text * tpot / 1000)}</td><td>{base / tpot:.2f}×</td></tr>"
        for name, tpot in rows
        if tpot > 0
    )
    return f"<table class='labkit'><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _seconds(value: float) -> str:
    return "–" if isnan(value) else f"{value:.1f} s"


def _recommended(answer: Answer) -> str:
    made = answer.recommendation
    if made is None:
        return "nothing was measured at this load"
    return f"{made.choice.label if made.choice else 'off'} ({made.verdict})"
