"""The step timeline of the board: mode A, a token a step, against mode B, several. HTML with its own style, so that it
reads the same in a notebook, on a board and in a report."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from plotly.colors import hex_to_rgb

from labkit.view.lab import Answer
from labkit.view.style import BASELINE

__all__ = ["timeline"]

#: Tokens that both modes yield.
TOKENS = 5
_STEP = (
    "display: flex; align-items: center; justify-content: center; min-width: 0; height: 44px; font-size: 13px; "
    "-webkit-print-color-adjust: exact; print-color-adjust: exact;"
)
_DARK, _LIGHT = "black", "white"


def timeline(answer: Answer, say: Callable[[str], str], colour: str) -> dict[str, Any]:
    """Chart without plotly: how long TOKENS tokens take without speculation and at the selection."""
    lanes = [(say("no speculation"), answer.tpot_ms, 1.0, BASELINE)] if answer.tpot_ms > 0 else []
    if lanes and (point := answer.chosen) and point["speedup"] > 0:
        name = f"{point['drafter']} K={point['k']}"
        lanes.append((name, answer.tpot_ms / point["speedup"], point["tokens_per_step"], colour))
    slowest = max((tpot for _, tpot, _, _ in lanes), default=0.0)
    totals = " → ".join(f"{TOKENS * tpot:.0f} ms" for _, tpot, _, _ in lanes) or "–"
    drawn = "".join(_lane(*lane, slowest=slowest) for lane in lanes)
    return {"title": f"{say('time for 5 tokens (ms)')}: {totals}", "html": drawn}


def _lane(name: str, tpot: float, per_step: float, colour: str, *, slowest: float) -> str:
    """A bar in proportion to its time; a part of it is a step, and says how many tokens it yields."""
    steps = "".join(
        f'<div title="{part * tpot:.1f} ms" style="{_STEP} flex: {part:.4g} 1 0; background: {colour}; '
        f'color: {_ink(colour)}">{f"{part:.2g}" if per_step > 0 else ""}</div>'
        for part in _steps(per_step)
    )
    return (
        f'<div style="margin: 14px 0 3px; font-size: 13px"><bdi>{escape(name)}</bdi>: {TOKENS * tpot:.0f} ms</div>'
        f'<div style="display: flex; gap: 2px; width: {100 * tpot / slowest:.2f}%">{steps}</div>'
    )


def _ink(colour: str) -> str:
    """What can be read on ``colour``, by its brightness (W3C, "Techniques For Accessibility Evaluation", 2000)."""
    red, green, blue = hex_to_rgb(colour)
    return _DARK if 0.299 * red + 0.587 * green + 0.114 * blue > 128 else _LIGHT


def _steps(per_step: float) -> list[float]:
    """Tokens of each step until TOKENS are there; one of them all where ``per_step`` is not known."""
    if not per_step > 0:
        return [float(TOKENS)]
    whole, rest = divmod(TOKENS, per_step)
    return [per_step] * int(whole) + ([rest] if rest > 1e-9 else [])
