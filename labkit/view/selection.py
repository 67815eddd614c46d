"""What the panel can be set to, and what it is set to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labkit.records import Measurement

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
    """What there is to choose from; ``methods`` by drafter."""

    methods: dict[str, str]
    largest_k: int
    temperatures: tuple[float, ...]
    concurrencies: tuple[int, ...]
    categories: tuple[str, ...]
    languages: tuple[str, ...]

    def nearest(self, temperature: float) -> float:
        """The measured temperature next to ``temperature``."""
        return min(self.temperatures, key=lambda t: (abs(t - temperature), t))


def options_of(measurements: Sequence[Measurement], *, up_to: int) -> Options:
    usable = [m for m in measurements if not m.discarded]
    records = [r for m in usable for r in m.records]
    return Options(
        methods={m.cell.spec.name: m.cell.spec.method or "" for m in usable if m.cell.spec.k},
        largest_k=max([up_to, *(m.cell.spec.k for m in usable)]),
        temperatures=tuple(sorted({m.cell.sampling.temperature for m in usable})),
        concurrencies=tuple(sorted({m.cell.concurrency for m in usable})),
        categories=(ALL, *sorted({r.category for r in records})),
        languages=(ALL, *sorted({r.language for r in records})),
    )
