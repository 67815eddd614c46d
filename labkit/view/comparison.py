"""Two runs compared, as one tidy table and in sentences.

*Conventions*: ``change``, ``low`` and ``high`` are relative (0.08 is 8 % more) for times per token and the speedup,
in tokens for the acceptance length, in shares (0…1) for joint rates and divergence.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from labkit.analysis.cell_figures import ASSUMED_LAUNCH_SD
from labkit.analysis.compare import Compared, Comparison, compare
from labkit.analysis.drift import Drift
from labkit.analysis.matching import cell_name
from labkit.records import Measurement

__all__ = ["changes_table", "changes_of", "sentences", "headline", "FIGURES"]

#: Names of the figures for people, with the unit of their values before and after.
FIGURES = {
    "tpot": "time per token (ms)",
    "relative_tpot": "time per token against other drafters (×)",
    "speedup": "speedup (×)",
    "acceptance_length": "acceptance length (tokens)",
    "joint_rate": "joint rate",
    "divergence": "outputs unlike the baseline's",
}
_COLUMNS = [
    "drafter", "method", "k", "temperature", "concurrency", "figure", "position", "before", "after", "change", "low",
    "high", "p", "verdict", "prompts", "launches", "flags",
]  # fmt: skip
#: So many changes are told one by one; the table has them all.
_TOLD = 6
#: A comparison that notices slowdowns from here on is as sharp as one may expect.
_NOTICED = 0.08


def changes_table(
    before: Sequence[Measurement], after: Sequence[Measurement], *, confidence: float = 0.95
) -> pd.DataFrame:
    """One row per cell of both runs and figure (and draft position): drafter, method, k, temperature, concurrency,
    figure, position, before, after (time per token in ms), change, low, high, p (adjusted for the whole comparison),
    verdict, prompts, launches (before and after; "assumed" where their scatter is), flags. ``attrs["comparison"]``: the
    comparison itself, ``attrs["sentences"]``: what it says."""
    return changes_of(compare(before, after, confidence=confidence))


def changes_of(found: Comparison) -> pd.DataFrame:
    """The table of a comparison that was made already."""
    frame = pd.DataFrame([_row(f) for f in found.figures], columns=_COLUMNS)
    order = ["temperature", "concurrency", "drafter", "k"]
    frame["position"] = pd.Series([f.position for f in found.figures], dtype=object)
    frame = frame.sort_values(order, kind="stable", ignore_index=True)
    frame.attrs["drafters"] = sorted({(f.after_key[0], f.after_key[1]) for f in found.figures if f.after_key[2]})
    frame.attrs["comparison"], frame.attrs["sentences"] = found, sentences(found)
    return frame


def _row(f: Compared) -> dict[str, object]:
    drafter, method, k, temperature, concurrency = f.after_key
    scale = 1000 if f.figure == "tpot" else 1
    launches = f"{f.blocks[0]} and {f.blocks[1]}" + ("" if f.launches == "measured" else ", assumed")
    return {
        "drafter": drafter, "method": method, "k": k, "temperature": temperature, "concurrency": concurrency,
        "figure": f.figure, "position": f.position, "before": scale * f.before, "after": scale * f.after,
        "change": f.change.mid, "low": f.change.low, "high": f.change.high, "p": f.p, "verdict": f.verdict,
        "prompts": f.prompts, "launches": launches, "flags": ", ".join(f.flags),
    }  # fmt: skip


def headline(found: Comparison) -> str:
    """What the comparison comes to, in one sentence."""
    judged = [f for f in found.figures if f.verdict != "unknown"]
    if not judged:
        return "Nothing could be judged: no figure has enough prompts in both runs"
    worse, better = found.regressions, found.improvements
    if worse:
        also = f", {len(better)} better" if better else ""
        return f"Regression: {len(worse)} of {len(judged)} figures are worse beyond chance{also}"
    if better:
        return f"Improvement: {len(better)} of {len(judged)} figures are better beyond chance, none is worse"
    return f"No change: none of {len(judged)} figures differs beyond chance"


def sentences(found: Comparison) -> list[str]:
    """The headline, each change, what the anchor cells did, and what limits the comparison."""
    told = [*found.regressions, *found.improvements]
    lines = [
        f"{headline(found)} (equal runs are called changed in {100 * found.false_alarm:g} % of comparisons at most)."
    ]
    lines += [f"{f.verdict.capitalize()}: {change_text(f)}." for f in told[:_TOLD]]
    lines += [f"… and {len(told) - _TOLD} more in the table."] if len(told) > _TOLD else []
    lines += [_anchor_text(f) for f in found.figures if f.anchor and f.verdict in ("regression", "improvement")]
    lines += [_drift_text(drift) for drift in found.drifts if drift.notable]
    if any(f.launches == "assumed" and f.relative for f in found.figures):
        lines.append(
            "Too few launches were repeated to see how they scatter, so speeds are judged as if one launch varied by "
            f"{100 * ASSUMED_LAUNCH_SD:g} %; where they vary by more, equal runs are called changed: measure 3 blocks."
        )
    if found.unmatched:
        lines.append(f"Not compared: {'; '.join(found.unmatched)}.")
    if found.noticed_from > _NOTICED:
        slower = f"{100 * found.noticed_from:.0f} % slower"
        lines.append(f"A cell is noticed from {slower} on; more blocks, or engines that take turns, show less.")
    return lines


def change_text(f: Compared) -> str:
    """``eagle3 K=3, T = 0, concurrency 1: time per token +8.2 % [+5.1 %, +11.4 %]``."""
    name = FIGURES[f.figure].split(" (")[0] + (f" at draft position {f.position}" if f.position else "")
    bounds = f"[{_signed(f, f.change.low)}, {_signed(f, f.change.high)}]"
    renamed = "" if f.before_key[0] == f.after_key[0] else f"{f.before_key[0]} → "
    return f"{renamed}{cell_name(f.after_key)}: {name} {_signed(f, f.change.mid)} {bounds}"


def _signed(f: Compared, value: float) -> str:
    if f.figure == "acceptance_length":
        return _minus(f"{value:+.2f} tokens")
    return _minus(f"{100 * value:+.1f} {'%' if f.relative else 'points'}")


def _minus(text: str) -> str:
    return text.replace("-", "−")


def _anchor_text(f: Compared) -> str:
    moved = f"{100 * abs(f.change.mid):.1f} % {'slower' if f.change.mid > 0 else 'faster'}"
    return (
        f"The baseline itself is {moved} ({cell_name(f.after_key)}): that is the engine or the machine and is in every "
        "time per token; what the drafters do stands in the speedups."
    )


def _drift_text(drift: Drift) -> str:
    scale, name = 1000 if drift.figure == "tpot" else 1, FIGURES[drift.figure].split(" (")[0]
    values = ", ".join(f"{scale * value:.2f}" for value in drift.values)
    return (
        f"The anchor cell {cell_name(drift.key)} moved inside the run {drift.run}: drift "
        f"{_minus(f'{100 * drift.relative:+.1f} %')} in {name} ({values} by block)."
    )
