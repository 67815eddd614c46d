"""A run, asked one setting at a time: numbers for the panel, from tables that are made once and kept.

No widget and no engine here. What a filter (category, language, confidence) needs is computed at its first use; K,
drafter, temperature and load only choose rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from labkit.analysis.between import between
from labkit.analysis.every_k import EveryK
from labkit.analysis.guarded import guarded
from labkit.analysis.objections import Evidence, said_of
from labkit.analysis.recommend import Recommendation
from labkit.analysis.speedup import cell_tpot
from labkit.config import SpecConfig
from labkit.errors import ConfigError, PredictionError
from labkit.measure.scored import read_scores
from labkit.preflight.plan_check import PlanCheck
from labkit.records import Measurement
from labkit.store import Run
from labkit.view.frames import HERE, RANK, Frames, Row, filtered
from labkit.view.selection import ALL, Options, Selection, options_of

__all__ = ["Answer", "Lab", "UP_TO"]

#: The panel offers K up to this, or the largest measured.
UP_TO = 8
_FIGURES = ["speedup", "low", "high", "mean_acceptance_length", "tokens_per_step"]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Everything that one selection shows. Rows are plain dictionaries: at every move of a slider a data frame would
    cost more than everything else. ``rows``: those of :func:`labkit.view.tables.outlook` at the load (temperature
    and concurrency chosen), by K, interpolated where the temperature was not measured; ``over_temperature``: the same
    of the chosen drafter and K at every temperature; ``positions``: position, joint, low, high, conditional and kind;
    ``chosen``: the row that is shown as the selection's own, None where nothing is known. ``ranges`` hold lowest and
    highest speedup and tokens per step at any load, and the temperatures. ``tpot_ms`` is that of the baseline which
    ``chosen`` is compared with; ``chars_per_token`` that of its outputs. ``lossless``: what audits say, and why it
    must not be switched on whatever its speed."""

    selection: Selection
    drafters: tuple[tuple[str, str], ...]
    rows: list[Row]
    over_temperature: list[Row]
    positions: list[Row]
    chosen: Row | None
    ranges: dict[str, tuple[float, float]]
    tpot_ms: float
    chars_per_token: float
    recommendation: Recommendation | None
    lossless: tuple[str, ...]
    missing: tuple[str, ...]


class Lab:
    """A run that answers selections.

    Raises:
        ConfigError: nothing was measured, or nothing but the baseline; says what to do.
    """

    def __init__(self, run: Run) -> None:
        self.plan, self.name = run.plan, run.id
        self._measurements, self._scores = run.measurements(), read_scores(run)
        self._evidence = Evidence(audits=run.audits(), guards=guarded(self._measurements))
        self._here: list[tuple[str, str, Measurement]] = []
        self._frames: dict[tuple[str, str, float], Frames] = {}
        self._rows: dict[tuple[Frames, float, int], tuple[list[Row], list[str]]] = {}
        if not self._measurements:
            raise ConfigError(f"{run.folder} holds no measured cell yet; 'labkit sweep PLAN.yaml' measures some")
        self._preflight, self._refused = PlanCheck(run.plan), dict[tuple[str, int], tuple[str, ...]]()
        self.options: Options = options_of(run, self._measurements, up_to=UP_TO)
        if not self.options.methods:
            why = "".join(f"\n  {name}: {reason}" for name, reason in self.options.left_out.items())
            raise ConfigError(
                f"{run.folder} holds the baseline only; add drafters and K to its plan and measure again to compare"
                + why
            )

    @property
    def blocks(self) -> int:
        """The next free block number."""
        return 1 + max(m.cell.block for m in (*self._measurements, *(m for *_, m in self._here)))

    def add(self, measurements: Sequence[Measurement], at: Selection) -> None:
        """Show what was measured here at ``at`` beside the run, and not mixed into it: another machine, another day.
        It has the prompts of its category and language, so it is shown where these are chosen."""
        self._here += [(at.category, at.language, m) for m in measurements]
        self._frames.clear()
        self._rows.clear()

    def spec(self, selection: Selection) -> SpecConfig:
        drafters = {d.name: d for d in self.plan.drafters}
        return SpecConfig(drafter=drafters[selection.drafter], k=selection.k)

    def refused(self, selection: Selection) -> tuple[str, ...]:
        """Why the selected setting cannot work as meant with this target, a line each; empty where nothing says so,
        or where the models' files are not here to be looked at."""
        setting = (selection.drafter, selection.k)
        if setting not in self._refused:
            try:
                self._refused[setting] = self._preflight.refused(self.spec(selection))
            except ConfigError:
                self._refused[setting] = ()
        return self._refused[setting]

    def snapped(self, selection: Selection) -> Selection:
        """``selection`` at the measured temperature next to its own, unless it allows others."""
        if selection.interpolate:
            return selection
        return replace(selection, temperature=self.options.nearest(selection.temperature))

    def default(self) -> Selection:
        """What is recommended at the coldest and least busy load, else what was measured first there."""
        o = self.options
        load = (o.temperatures[0], o.concurrencies[0])
        frames = self._frame(ALL, ALL, 0.95)
        made = frames.recommended.get(load)
        rows = [row for row in frames.rows if (row["temperature"], row["concurrency"]) == load]
        drafter, k = (rows[0]["drafter"], rows[0]["k"]) if rows else (next(iter(o.methods)), 1)
        if made and made.choice:
            drafter, k = made.choice.drafter, made.choice.k
        return Selection(drafter=drafter, k=k, temperature=load[0], concurrency=load[1])

    def answer(self, selection: Selection) -> Answer:
        """What is known of ``selection``; what is not is said in ``missing``."""
        chosen = self.snapped(selection)
        frames = self._frame(chosen.category, chosen.language, chosen.confidence)
        arm = (chosen.drafter, chosen.k)
        at_load = [row for row in frames.rows if row["concurrency"] == chosen.concurrency]
        every = [row for row in at_load if (row["drafter"], row["k"]) == arm]
        place = (frames, chosen.temperature, chosen.concurrency)
        if place not in self._rows:  # kept, as K and drafter move without it
            self._rows[place] = _at_temperature(at_load, chosen.temperature)
        rows, missing = self._rows[place]
        own = [row for row in rows if (row["drafter"], row["k"]) == arm]
        row = min(own, key=lambda row: RANK[row["kind"]], default=None)
        positions, load = _positions(frames, chosen), (self.options.nearest(chosen.temperature), chosen.concurrency)
        missing = [*missing, *self._missing(frames, chosen, load, known=bool(own), positions=bool(positions))]
        missing = [*(f"Incompatible, so it is not measured here. {why}" for why in self.refused(chosen)), *missing]
        base = frames.baseline.get(load, [])
        tokens = sum(r.output_tokens or 0 for r in base)
        heat = (0.0, max(1.0, self.options.temperatures[-1]))
        return Answer(
            selection=chosen, drafters=tuple(self.options.methods.items()), rows=rows, over_temperature=every,
            positions=positions, chosen=row, ranges=frames.ranges | {"temperature": heat},
            tpot_ms=row["baseline_tpot_ms"] if row and row["kind"] == HERE else 1000 * cell_tpot(base),
            chars_per_token=sum(len(r.text) for r in base) / tokens if tokens else float("nan"),
            recommendation=frames.recommended.get(load), missing=tuple(missing),
            lossless=said_of((chosen.drafter, chosen.k, *load), self._evidence),
        )  # fmt: skip

    def known(self, selection: Selection) -> list[Row]:
        """Every row, at any K and load, of the prompts and the confidence of ``selection``."""
        return self._frame(selection.category, selection.language, selection.confidence).rows

    def _frame(self, category: str, language: str, confidence: float) -> Frames:
        key = (category, language, confidence)
        if key not in self._frames:
            kept, scores = filtered(self._measurements, self._scores, category, language)
            here = [m for *of, m in self._here if of == [category, language]]
            self._frames[key] = Frames(kept, here, scores, self.options.largest_k, confidence, self._evidence)
        return self._frames[key]

    def _missing(
        self, frames: Frames, chosen: Selection, load: tuple[float, int], *, known: bool, positions: bool
    ) -> list[str]:
        """Sentences on what cannot be shown, and what to do."""
        if frames.empty:
            return [f"No prompt is of workload {chosen.category} in language {chosen.language}; choose another."]
        said = []
        if load not in frames.baseline:
            where = f"T = {load[0]:g}, concurrency {load[1]}"
            said = [f"The baseline was not measured at {where}, and every speedup starts from it; measure it."]
        elif not known:
            said = [self._why_missing(frames, chosen)]
        if not positions:
            where = f"{chosen.drafter} K={chosen.k} at T = {chosen.temperature:g}"
            said.append(f"Acceptance by position of {where} is not known: no run at this K or above there.")
        return said

    def _why_missing(self, frames: Frames, chosen: Selection) -> str:
        known = [line for line in frames.outlook.unknown if line.startswith((f"K = {chosen.k} of {chosen.drafter}",))]
        if known:
            return known[0] + "."
        return (
            f"Not known at T = {chosen.temperature:g}, concurrency {chosen.concurrency}: "
            f"measure {chosen.drafter} K={chosen.k} there."
        )


def _at_temperature(rows: Sequence[Row], temperature: float) -> tuple[list[Row], list[str]]:
    """Rows at ``temperature``, interpolated between the measured ones where it is none of them; and why a drafter
    has none."""
    found = [row for row in rows if row["temperature"] == temperature]
    if any(row["kind"] != HERE for row in found):
        return found, []
    groups: dict[tuple[str, int], dict[float, Row]] = defaultdict(dict)
    for row in sorted(rows, key=lambda row: RANK[row["kind"]], reverse=True):
        if row["kind"] != HERE:  # a measurement replaces the prediction of its place
            groups[row["drafter"], row["k"]][row["temperature"]] = row
    made, missing = [], {}
    for (drafter, k), own in sorted(groups.items()):
        try:
            values = {name: between(list(own), [row[name] for row in own.values()], temperature) for name in _FIGURES}
        except (PredictionError, ValueError) as error:  # ValueError: a figure is unknown at one of them
            why = (
                error
                if isinstance(error, PredictionError)
                else "a figure is unknown at one of the measured temperatures"
            )
            missing[drafter] = f"{drafter} K={k}: {why}."
            continue
        first = next(iter(own.values()))
        between_ = {"temperature": temperature, "kind": "interpolated", "fit_error": float("nan"), "note": ""}
        made.append(first | values | between_ | {"prompts": min(row["prompts"] for row in own.values())})
    return [*found, *made], list(missing.values())


def _positions(frames: Frames, chosen: Selection) -> list[Row]:
    """Joint and conditional rates of the selection: measured here or in the run at this load, else replayed."""
    place = (chosen.drafter, chosen.k, chosen.temperature, chosen.concurrency)
    names = ("drafter", "k", "temperature", "concurrency")
    if own := [row for row in frames.positions if tuple(row[name] for name in names) == place]:
        return [row for row in own if row["kind"] == own[0]["kind"]]
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
