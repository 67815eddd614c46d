"""What the panel can be set to, and what it is set to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labkit.records import Measurement
from labkit.store import Run

__all__ = ["ALL", "Options", "Selection", "options_of"]

#: Of categories and languages: no restriction.
ALL = "all"


@dataclass(frozen=True, kw_only=True)
class Selection:
    """One setting of every control. ``interpolate`` allows temperatures that were not measured."""

    drafter: str
    k: int
    temperature: float
    concurrency: int
    category: str = ALL
    language: str = ALL
    confidence: float = 0.95
    interpolate: bool = False


@dataclass(frozen=True, kw_only=True)
class Options:
    """What there is to choose from; ``methods`` by drafter. ``left_out``: why a drafter of the plan cannot be
    chosen, by name."""

    methods: dict[str, str]
    left_out: dict[str, str]
    largest_k: int
    temperatures: tuple[float, ...]
    concurrencies: tuple[int, ...]
    categories: tuple[str, ...]
    languages: tuple[str, ...]

    def nearest(self, temperature: float) -> float:
        """The measured temperature next to ``temperature``."""
        return min(self.temperatures, key=lambda t: (abs(t - temperature), t))


def options_of(run: Run, measurements: Sequence[Measurement], *, up_to: int) -> Options:
    """Of the ``measurements`` of ``run``; K reaches at least ``up_to``."""
    usable = [m for m in measurements if not m.discarded]
    records = [r for m in usable for r in m.records]
    methods = {m.cell.spec.name: m.cell.spec.method or "" for m in usable if m.cell.spec.k}
    return Options(
        methods=methods,
        left_out={d.name: _why_not(run, d.name) for d in run.plan.drafters if d.name not in methods},
        largest_k=max([up_to, *(m.cell.spec.k for m in usable)]),
        temperatures=tuple(sorted({m.cell.sampling.temperature for m in usable})),
        concurrencies=tuple(sorted({m.cell.concurrency for m in usable})),
        categories=(ALL, *sorted({r.category for r in records})),
        languages=(ALL, *sorted({r.language for r in records})),
    )


def _why_not(run: Run, drafter: str) -> str:
    """What the first failed cell of ``drafter`` says, in a line."""
    causes = [cause for label, cause in run.failures().items() if f", {drafter} K=" in label]
    return causes[0].splitlines()[0] if causes else "not measured yet"
