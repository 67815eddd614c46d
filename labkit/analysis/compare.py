"""Two runs compared: what changed in each cell, and whether that is more than chance.

Figures of a cell, each with its change from the run *before* to the run *after*:

| figure | change is | worse when | of |
|---|---|---|---|
| ``tpot`` | relative | higher | every cell, the baseline too |
| ``relative_tpot`` | relative | higher | speculative cells: against three other drafters (baseline included) or more |
| ``speedup`` | relative | lower | speculative cells whose baseline was measured in the same blocks |
| ``acceptance_length`` | in tokens | lower | speculative cells with per-step counts |
| ``joint_rate`` | in shares of steps, one a draft position | lower | the same |
| ``divergence`` | in shares of prompts | higher | speculative cells at T = 0: outputs unlike the baseline's |

Only prompts that both runs finished in every block count (in ``relative_tpot`` those of all cells that are compared),
and for all but the last only such whose outputs never loop.
Verdicts hold for the whole comparison: after Holm's correction over all figures, two equal runs are called changed with
a chance of ``false_alarm`` at most. Nine tenths of it are for the times per token and the speedup, and a fortieth for
each other kind of figure, and of each nine tenths for the worse. The interval of a figure is for that figure alone.

A machine that is slower in some hours hides a change of ``tpot``, which is of one run against another. In
``relative_tpot`` and ``speedup`` each block stands for itself; the first is the sharper one where few drafters changed
(:mod:`labkit.analysis.among_cells`), and half of these false alarms are for it, where there are enough drafters.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, expm1, inf, isfinite, isnan, nan

from labkit.analysis.among_cells import changes_among, own_doing
from labkit.analysis.bootstrap import Interval
from labkit.analysis.cell_figures import RELATIVE_TPOT, SPEEDUP, Kind, cell_changes
from labkit.analysis.change import Change, LaunchNoise, holm, judged, launch_noise, noticed_from
from labkit.analysis.drift import Drift, drifts
from labkit.analysis.matching import Cells, matched
from labkit.analysis.pairs import Key
from labkit.analysis.setup_changes import setup_changes
from labkit.errors import ConfigError
from labkit.records import Measurement

__all__ = ["Compared", "Comparison", "compare", "FALSE_ALARM"]

FALSE_ALARM = 0.01
#: Their part in the false alarms: a comparison is made to find them.
FOR_REGRESSIONS = 9 / 10


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One figure of one cell in both runs. ``change`` is relative for times and speedup, else absolute; ``p`` is
    adjusted for the whole comparison. ``verdict``: "regression", "improvement", "no change", "others changed" where a
    time against other drafters moved and the cell did not (its p is 1), or "unknown" where there are too few prompts.
    ``launches``: how they scatter was "measured", or is "assumed" where too few were repeated. ``noticed_from``: the
    smallest change for the worse that would be called so; relative ones as a slowdown."""

    before_key: Key
    after_key: Key
    figure: str
    position: int | None
    before: float
    after: float
    change: Interval
    p: float
    verdict: str
    prompts: int
    blocks: tuple[int, int]
    launches: str
    noticed_from: float
    flags: tuple[str, ...]

    @property
    def relative(self) -> bool:
        return self.figure in ("tpot", "relative_tpot", "speedup")

    @property
    def anchor(self) -> bool:
        """Whether this is the baseline's speed: its change is the engine's or the machine's, no drafter's."""
        return self.figure == "tpot" and self.after_key[2] == 0


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All figures, how the anchor cells drifted inside each run, what else differs between the runs (in words), which
    cells only one of them has, and how often equal runs are called changed."""

    figures: tuple[Compared, ...]
    drifts: tuple[Drift, ...]
    setup: tuple[str, ...]
    unmatched: tuple[str, ...]
    false_alarm: float

    @property
    def regressions(self) -> list[Compared]:
        return [f for f in self.figures if f.verdict == "regression"]

    @property
    def improvements(self) -> list[Compared]:
        return [f for f in self.figures if f.verdict == "improvement"]

    @property
    def noticed_from(self) -> float:
        """The slowdown that any speculative cell must have to be noticed, by the speed that shows it first; NaN where
        none can be judged."""
        least: dict[Key, float] = {}
        for f in self.figures:
            if f.relative and f.after_key[2] and isfinite(f.noticed_from):
                least[f.after_key] = min(least.get(f.after_key, inf), f.noticed_from)
        return max(least.values(), default=nan)

    @property
    def verdict(self) -> str:
        """The worst of them: "regression", "improvement", "no change", or "unknown" where nothing could be judged."""
        found = {f.verdict for f in self.figures}
        return next((v for v in ("regression", "improvement", "no change") if v in found), "unknown")


def compare(
    before: Sequence[Measurement],
    after: Sequence[Measurement],
    *,
    confidence: float = 0.95,
    false_alarm: float = FALSE_ALARM,
    seed: int = 0,
) -> Comparison:
    """Compare two runs cell by cell.

    Raises:
        ConfigError: the runs have no cell in common, or a level is not between 0 and 1.
    """
    for name, level in (("confidence", confidence), ("false_alarm", false_alarm)):
        if not 0 < level < 1:
            raise ConfigError(f"{name} must lie between 0 and 1; got {level}")
    both, unmatched = matched(before, after)
    if not both:
        raise ConfigError(
            "the runs have no cell in common (drafter or method, K, temperature and concurrency): nothing to compare; "
            f"there are {'; '.join(unmatched) or 'no cells at all'}"
        )
    raw = [(cells, *found) for cells in both for found in cell_changes(cells, seed=seed)]
    raw += changes_among(both, seed=seed)
    return Comparison(
        figures=tuple(_judge(raw, confidence=confidence, false_alarm=false_alarm)),
        drifts=(*drifts(before, run="before"), *drifts(after, run="after")),
        setup=tuple(setup_changes(both)),
        unmatched=tuple(unmatched),
        false_alarm=false_alarm,
    )


def _judge(raw: Sequence[tuple[Cells, Kind, Change]], *, confidence: float, false_alarm: float) -> list[Compared]:
    noises = _noises(raw)
    speedups = {cells.after_key: found.mid for cells, kind, found in raw if kind is SPEEDUP and isfinite(found.mid)}
    raw = [(c, kind, found) for c, kind, found in raw if kind is not RELATIVE_TPOT or c.after_key in speedups]
    known = [judged(found, noises[kind.name, cells.load], confidence=confidence) for cells, kind, found in raw]
    of_others = [
        kind is RELATIVE_TPOT and p < false_alarm and not own_doing(found.mid, speedups[cells.after_key])
        for (cells, kind, found), (_, p) in zip(raw, known, strict=True)
    ]
    ps = [1.0 if others else p for others, (_, p) in zip(of_others, known, strict=True)]
    kinds = [kind for _, kind, _ in raw]
    shares = _shares(kinds, ps)
    adjusted = _adjusted(kinds, [found.mid for *_, found in raw], ps, shares)
    figures = []
    for (cells, kind, found), (interval, _), p, share, others in zip(
        raw, known, adjusted, shares, of_others, strict=True
    ):
        noise = noises[kind.name, cells.load]
        verdict = "others changed" if others else _verdict(kind, found, p, false_alarm)
        least = noticed_from(found, noise, level=FOR_REGRESSIONS * share * false_alarm) if share else nan
        figures.append(_compared(cells, kind, found, interval, noise, p=p, verdict=verdict, least=least))
    return figures


def _verdict(kind: Kind, found: Change, p: float, false_alarm: float) -> str:
    if isnan(p):
        return "unknown"
    return "no change" if p >= false_alarm else "regression" if found.mid * kind.worse > 0 else "improvement"


def _shares(kinds: Sequence[Kind], ps: Sequence[float]) -> list[float]:
    """Of each figure in the false alarms, those of the figures that can be judged 1 in all."""
    count = Counter(kind.name for kind, p in zip(kinds, ps, strict=True) if isfinite(p))
    total = sum({kind.name: kind.share for kind in kinds if count[kind.name]}.values())
    return [kind.share / total / count[kind.name] if count[kind.name] else 0.0 for kind in kinds]


def _adjusted(
    kinds: Sequence[Kind], changes: Sequence[float], ps: Sequence[float], shares: Sequence[float]
) -> list[float]:
    """Two-sided ``ps`` adjusted for the whole comparison. Worse and better are two questions about each figure."""
    worse = [
        p / 2 if kind.worse * change > 0 else 1 - p / 2 for kind, change, p in zip(kinds, changes, ps, strict=True)
    ]
    weights = [FOR_REGRESSIONS * share for share in shares] + [(1 - FOR_REGRESSIONS) * share for share in shares]
    both = holm([*worse, *(1 - p for p in worse)], weights)
    return [min(pair) for pair in zip(both[: len(ps)], both[len(ps) :], strict=True)]


def _noises(raw: Sequence[tuple[Cells, Kind, Change]]) -> dict[tuple[str, tuple[float, int]], LaunchNoise]:
    """Variance between launches by kind of figure and load: greedy acceptance does not vary, sampled does."""
    groups: dict[tuple[str, tuple[float, int]], list[Change]] = defaultdict(list)
    for cells, kind, found in raw:
        groups[kind.name, cells.load].append(found)
    kinds = {kind.name: kind for _, kind, _ in raw}
    return {
        (name, load): launch_noise(changes, assumed=kinds[name].assumed, in_step=kinds[name].in_step)
        for (name, load), changes in groups.items()
    }


def _compared(
    cells: Cells, kind: Kind, found: Change, interval: Interval, noise: LaunchNoise, *, p: float, verdict: str,
    least: float,
) -> Compared:  # fmt: skip
    shown, level = (expm1, exp) if kind.logarithmic else (float, float)
    return Compared(
        before_key=cells.before_key,
        after_key=cells.after_key,
        figure=kind.name,
        position=kind.position,
        before=level(found.before),
        after=level(found.after),
        change=Interval(mid=shown(interval.mid), low=shown(interval.low), high=shown(interval.high)),
        p=p,
        verdict=verdict,
        prompts=found.prompts,
        blocks=found.launches,
        launches="measured" if noise.measured else "assumed",
        noticed_from=shown(least),
        flags=cells.flags,
    )
