"""A run, asked one setting at a time: numbers for the panel, from tables that are made once and kept.

No widget and no engine here. What a filter (category, language, confidence) needs is computed at its first use; K,
drafter, temperature and load only choose rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Any

from labkit.analysis.between import between
from labkit.analysis.every_k import EveryK, Scores
from labkit.analysis.outlook import Outlook, measured_outcomes, outlook
from labkit.analysis.pairs import by_cell, sound
from labkit.analysis.recommend import Recommendation, recommend_by_load
from labkit.analysis.speedup import cell_tpot
from labkit.config import SpecConfig
from labkit.errors import ConfigError, PredictionError
from labkit.measure.scored import read_scores
from labkit.records import Measurement
from labkit.store import Run
from labkit.view import tables
from labkit.view.outlook_table import as_table, outcome_rows
from labkit.view.selection import ALL, Options, Selection, options_of

__all__ = ["Answer", "HERE", "Lab", "Row", "UP_TO"]

#: The panel offers K up to this, or the largest measured.
UP_TO = 8
#: The kind of what was measured with the panel, beside "measured", "predicted" and "interpolated".
HERE = "measured here"
_RANK = {HERE: 0, "measured": 1, "predicted": 2, "interpolated": 3}
_FIGURES = ["speedup", "low", "high", "mean_acceptance_length", "tokens_per_step"]


Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Everything that one selection shows. Rows are plain dictionaries: at every move of a slider a data frame would
    cost more than everything else. ``rows``: those of :func:`labkit.view.tables.outlook` at the load (temperature
    and concurrency chosen), by K, interpolated where the temperature was not measured; ``over_temperature``: the same
    of the chosen drafter and K at every temperature; ``positions``: position, joint, low, high, conditional and kind;
    ``chosen``: the row that is shown as the selection's own, None where nothing is known. ``ranges`` hold lowest and
    highest speedup and tokens per step at any load. ``tpot_ms`` is the baseline's; ``chars_per_token`` that of its
    outputs."""

    selection: Selection
    drafters: tuple[tuple[str, str], ...]
    rows: list[Row]
    over_temperature: list[Row]
    positions: list[Row]
    chosen: Row | None
    ranges: dict[str, tuple[float, float]]
    prompts: int
    tpot_ms: float
    chars_per_token: float
    recommendation: Recommendation | None
    missing: tuple[str, ...]


class _Frames:
    """What one (category, language, confidence) needs, made once."""

    def __init__(
        self, measurements: Sequence[Measurement], here: Sequence[Measurement], scores: Scores, largest_k: int,
        confidence: float,
    ) -> None:  # fmt: skip
        self.outlook: Outlook = outlook(measurements, scores, up_to=largest_k, confidence=confidence)
        table = as_table(self.outlook, measurements)
        self.drafters = tuple(table.attrs["drafters"])
        own = outcome_rows(measured_outcomes(here, confidence=confidence), dict(self.drafters))
        self.rows: list[Row] = [*table.to_dict("records"), *own.assign(kind=HERE).to_dict("records")]
        self.rows.sort(key=lambda row: (row["drafter"], row["k"], row["temperature"], row["concurrency"]))
        self.ranges = {"speedup": _span(self.rows, "speedup", "low", "high")}
        self.ranges["tokens_per_step"] = _span(self.rows, "tokens_per_step")
        self.positions: list[Row] = tables.positions(measurements, confidence=confidence).to_dict("records")
        self.recommended = recommend_by_load(self.outlook.candidates())
        self.baseline = {key[3:]: sound(own) for key, own in by_cell(measurements, baseline=True).items() if not key[2]}


class Lab:
    """A run that answers selections.

    Raises:
        ConfigError: nothing was measured, or nothing but the baseline; says what to do.
    """

    def __init__(self, run: Run) -> None:
        self.plan, self.name = run.plan, run.id
        self._measurements, self._scores = run.measurements(), read_scores(run)
        self._here: list[Measurement] = []
        self._frames: dict[tuple[str, str, float], _Frames] = {}
        if not self._measurements:
            raise ConfigError(f"{run.folder} holds no measured cell yet; 'labkit sweep PLAN.yaml' measures some")
        self.options: Options = options_of(self._measurements, up_to=UP_TO)
        if not self.options.methods:
            raise ConfigError(
                f"{run.folder} holds the baseline only; add drafters and K to its plan and measure again to compare"
            )

    @property
    def blocks(self) -> int:
        """The next free block number."""
        return 1 + max(m.cell.block for m in (*self._measurements, *self._here))

    def add(self, measurements: Sequence[Measurement]) -> None:
        """Show what was measured here beside the run, and not mixed into it: another machine, another day."""
        self._here += measurements
        self._frames.clear()

    def spec(self, selection: Selection) -> SpecConfig:
        drafters = {d.name: d for d in self.plan.drafters}
        return SpecConfig(drafter=drafters[selection.drafter], k=selection.k)

    def default(self) -> Selection:
        """What is recommended at the coldest and least busy load, else the first drafter there."""
        o = self.options
        load = (o.temperatures[0], o.concurrencies[0])
        made = self._frame(ALL, ALL, 0.95).recommended.get(load)
        drafter, k = next(iter(o.methods)), min(3, o.largest_k)
        if made and made.choice:
            drafter, k = made.choice.drafter, made.choice.k
        return Selection(drafter=drafter, k=k, temperature=load[0], concurrency=load[1])

    def answer(self, selection: Selection) -> Answer:
        """What is known of ``selection``; what is not is said in ``missing``."""
        chosen = selection
        if not chosen.interpolate:
            chosen = replace(chosen, temperature=self.options.nearest(chosen.temperature))
        frames = self._frame(chosen.category, chosen.language, chosen.confidence)
        at_load = [row for row in frames.rows if row["concurrency"] == chosen.concurrency]
        every = [row for row in at_load if (row["drafter"], row["k"]) == (chosen.drafter, chosen.k)]
        rows, missing = _at_temperature(at_load, chosen.temperature)
        own = [row for row in rows if (row["drafter"], row["k"]) == (chosen.drafter, chosen.k)]
        if not own:
            missing = [*missing, self._why_missing(frames, chosen)]
        positions = _positions(frames, chosen)
        if not positions:
            where = f"{chosen.drafter} K={chosen.k} at T = {chosen.temperature:g}"
            missing = [*missing, f"Acceptance by position of {where} is not known: no run at this K or above there."]
        load = (self.options.nearest(chosen.temperature), chosen.concurrency)
        base = frames.baseline.get(load, [])
        tokens = sum(r.output_tokens or 0 for r in base)
        return Answer(
            selection=chosen, drafters=frames.drafters, rows=rows, over_temperature=every, positions=positions,
            chosen=min(own, key=lambda row: _RANK[row["kind"]], default=None), ranges=frames.ranges,
            prompts=len({r.prompt_id for r in base}), tpot_ms=1000 * cell_tpot(base),
            chars_per_token=sum(len(r.text) for r in base) / tokens if tokens else float("nan"),
            recommendation=frames.recommended.get(load), missing=tuple(missing),
        )  # fmt: skip

    def _frame(self, category: str, language: str, confidence: float) -> _Frames:
        key = (category, language, confidence)
        if key not in self._frames:
            kept, scores = _filtered(self._measurements, self._scores, category, language)
            here, _ = _filtered(self._here, {}, category, language)
            self._frames[key] = _Frames(kept, here, scores, self.options.largest_k, confidence)
        return self._frames[key]

    def _why_missing(self, frames: _Frames, chosen: Selection) -> str:
        known = [line for line in frames.outlook.unknown if line.startswith((f"K = {chosen.k} of {chosen.drafter}",))]
        if known:
            return known[0] + "."
        return (
            f"Not known at T = {chosen.temperature:g}, concurrency {chosen.concurrency}: "
            f"measure {chosen.drafter} K={chosen.k} there."
        )


def _filtered(
    measurements: Sequence[Measurement], scores: Scores, category: str, language: str
) -> tuple[list[Measurement], Scores]:
    if category == ALL and language == ALL:
        return list(measurements), scores

    def wanted(record) -> bool:
        return category in (ALL, record.category) and language in (ALL, record.language)

    kept = [replace(m, records=tuple(filter(wanted, m.records))) for m in measurements]
    prompts = {r.prompt_id for m in kept for r in m.records}
    return [m for m in kept if m.records], {
        key: [trace for trace in traces if trace.prompt_id in prompts] for key, traces in scores.items()
    }


def _at_temperature(rows: Sequence[Row], temperature: float) -> tuple[list[Row], list[str]]:
    """Rows at ``temperature``, interpolated between the measured ones where it is none of them; and why a drafter
    has none."""
    if found := [row for row in rows if row["temperature"] == temperature]:
        return found, []
    groups: dict[tuple[str, int], dict[float, Row]] = defaultdict(dict)
    for row in sorted(rows, key=lambda row: _RANK[row["kind"]], reverse=True):
        if row["kind"] != HERE:  # a measurement replaces the prediction of its place
            groups[row["drafter"], row["k"]][row["temperature"]] = row
    made, missing = [], {}
    for (drafter, k), own in sorted(groups.items()):
        try:
            values = {name: between(list(own), [row[name] for row in own.values()], temperature) for name in _FIGURES}
        except (PredictionError, ValueError) as error:  # ValueError: a figure is unknown at one of them
            missing[drafter] = f"{drafter} K={k}: {error}."
            continue
        first = next(iter(own.values()))
        made.append(first | values | {"temperature": temperature, "kind": "interpolated", "fit_error": float("nan")})
    return made, list(missing.values())


def _positions(frames: _Frames, chosen: Selection) -> list[Row]:
    """Joint and conditional rates of the selection: measured at this load, else replayed."""
    place = (chosen.drafter, chosen.k, chosen.temperature, chosen.concurrency)
    names = ("drafter", "k", "temperature", "concurrency")
    if own := [row for row in frames.positions if tuple(row[name] for name in names) == place]:
        return [row | {"kind": "measured"} for row in own]
    found = next((e for e in frames.outlook.replays if _holds(e, chosen)), None)
    if found is None:
        return []
    rates, nan = found.replay.at(chosen.k), float("nan")
    return [
        {"position": i, "joint": joint, "low": nan, "high": nan, "conditional": given, "kind": found.source}
        for i, (joint, given) in enumerate(zip(rates.joint, rates.conditional, strict=True), start=1)
    ]


def _holds(found: EveryK, chosen: Selection) -> bool:
    same = (found.drafter, found.temperature) == (chosen.drafter, chosen.temperature)
    return same and chosen.k in found.replay.ks


def _span(rows: Sequence[Row], *names: str) -> tuple[float, float]:
    """Lowest and highest of the known figures ``names``; NaN without any."""
    known = [row[name] for row in rows for name in names if row[name] is not None and not isnan(row[name])]
    return (min(known), max(known)) if known else (float("nan"), float("nan"))
