"""Progress as lines of text: every cell on a terminal, one line per tenth in a notebook without a screen."""

from __future__ import annotations

from collections.abc import Callable

from labkit.measure.sweep import Progress

__all__ = ["each_cell", "each_tenth"]


def each_cell(say: Callable[[str], None] = print) -> Callable[[Progress], None]:
    return lambda progress: say(_line(progress))


def each_tenth(say: Callable[[str], None] = print) -> Callable[[Progress], None]:
    """At most eleven lines a sweep, and every failure: a hundred lines of output would stay in a report."""
    last = -1

    def report(progress: Progress) -> None:
        nonlocal last
        tenth = 10 * progress.done // progress.total
        if tenth > last or progress.failure:
            last = tenth
            say(_line(progress))

    return report


def _line(progress: Progress) -> str:
    left = f", about {progress.eta / 60:.1f} min left" if progress.eta else ""
    failed = f"\n    FAILED: {progress.failure}" if progress.failure else ""
    return f"[{progress.done}/{progress.total}] {progress.cell.label}{left}{failed}"
