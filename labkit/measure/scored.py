"""Scores of a run: what its drafters would have proposed for the baseline's own outputs, kept beside its cells.

runs/<run id>/scores/<drafter>-T<temperature>.jsonl   traces (:mod:`labkit.measure.traces`), one an output
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from labkit.config import Drafter, SpecConfig, digest
from labkit.drafters.demo import locate
from labkit.engine import launch
from labkit.errors import ConfigError
from labkit.measure.score import draft_alone, lookup_bounds, score_with_logits, score_with_lookup, score_with_server
from labkit.measure.traces import Trace, read_traces, write_traces
from labkit.records import RequestRecord
from labkit.store import Run

__all__ = ["can_be_scored", "read_scores", "score_run"]

#: The longest context of a server elsewhere is not known.
_NO_LIMIT = 2**31 - 1


def can_be_scored(drafter: Drafter) -> bool:
    """Whether its drafts follow from the text alone, so that an output is enough to know them."""
    return drafter.method in ("ngram", "draft_model")


def score_run(run: Run, say: Callable[[str], None] = print) -> list[Path]:
    """Score the baseline's outputs (first block, fewest users) at every temperature, for every drafter that can be
    scored; what is there already is kept. Returns the files.

    Raises:
        MeasurementError: the outputs hold no token ids, or a server does not score.
        EngineError, ConfigError: the drafter cannot be served, vLLM is missing, or the run was simulated.
    """
    if run.plan.engine.kind == "simulated":
        raise ConfigError(f"{run.folder} was simulated: its drafters are no models that could score")
    made = []
    for drafter in filter(can_be_scored, run.plan.drafters):
        todo = [(t, records) for t, records in _outputs(run) if not _path(run, drafter.name, t).exists()]
        if todo:
            say(f"scoring {drafter.name} on {sum(len(records) for _, records in todo)} outputs")
        for temperature, traces in _scored(run, drafter, todo):
            write_traces(_path(run, drafter.name, temperature), traces)
        made += [_path(run, drafter.name, t) for t, _ in _outputs(run)]
    return made


def read_scores(run: Run) -> dict[tuple[str, float], list[Trace]]:
    """Traces by (drafter, temperature), of every drafter of the plan that was scored."""
    temperatures = sorted({cell.sampling.temperature for cell in run.plan.cells()})
    paths = {(d.name, t): _path(run, d.name, t) for d in run.plan.drafters for t in temperatures}
    return {key: read_traces(path) for key, path in paths.items() if path.exists()}


def _path(run: Run, drafter: str, temperature: float) -> Path:
    name = re.sub(r"[^A-Za-z0-9._-]", "-", drafter)
    if name != drafter:  # others may become the same text
        name += f"-{digest(drafter)}"
    return run.folder / "scores" / f"{name}-T{temperature:g}.jsonl"


def _outputs(run: Run) -> list[tuple[float, tuple[RequestRecord, ...]]]:
    """By temperature, the records of the baseline's first block at the fewest users."""
    found = {}
    for m in sorted(run.measurements(), key=lambda m: (m.cell.block, m.cell.concurrency), reverse=True):
        if not m.cell.spec.k:
            found[m.cell.sampling.temperature] = m.records
    return sorted(found.items())


def _scored(run: Run, drafter: Drafter, todo: list) -> Iterable[tuple[float, list[Trace]]]:
    if drafter.method == "ngram":
        low, high = lookup_bounds(drafter)
        limit = _NO_LIMIT if run.plan.engine.kind == "remote" else run.plan.engine.max_model_len
        for temperature, records in todo:
            yield temperature, score_with_lookup(records, shortest=low, longest=high, max_model_len=limit)
        return
    sampled = drafter.options.get("draft_sample_method") == "probabilistic"
    for temperature, records in todo:
        if sampled and temperature > 0:
            target, draft = (Path(locate(name)) for name in (run.plan.engine.target, drafter.model))
            yield temperature, score_with_logits(records, target=target, draft=draft, temperature=temperature)
    greedy = [(t, records) for t, records in todo if not (sampled and t > 0)]
    if greedy:
        log = run.log_path(f"score {drafter.name}")
        alone = draft_alone(run.plan.engine, drafter.model, [r for _, records in greedy for r in records])
        with launch(alone, SpecConfig(), log_path=log) as engine:
            for temperature, records in greedy:
                yield temperature, score_with_server(engine, records)
