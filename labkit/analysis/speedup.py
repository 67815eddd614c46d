"""Speed of an arm against the baseline of the same session.

TPOT of a cell is Σ(t_last − t_first) / Σ(N − n_first); the speedup of a block is TPOT(K = 0) / TPOT(K) on
the prompts both arms finished; over blocks it is the geometric mean.  The interval is a bootstrap of
that ratio: prompts are resampled jointly in both arms and all blocks, blocks as clusters; with fewer
than three blocks only prompts, which speaks for this launch only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from labkit.analysis.bootstrap import Interval, draw_weights, interval_of
from labkit.records import RequestRecord
from labkit.repetition import is_looping

__all__ = ["Speedup", "speedup", "cell_tpot", "MIN_BLOCKS"]

MIN_BLOCKS = 3
Block = tuple[Sequence[RequestRecord], Sequence[RequestRecord]]


@dataclass(frozen=True, kw_only=True)
class Speedup:
    """``interval`` leaves looping outputs out; ``with_looping`` is the figure over all. ``launches`` is
    "resampled" or "this launch only"."""

    interval: Interval
    with_looping: float
    prompts: int
    left_out: int
    blocks: int
    launches: str


def cell_tpot(records: Sequence[RequestRecord]) -> float:
    """Seconds per output token after the first chunk, over a cell; NaN where nothing tells."""
    known = [r for r in records if r.tpot is not None and not r.error]
    return sum(r.decode_seconds for r in known) / sum(r.decode_tokens for r in known) if known else float("nan")


def speedup(blocks: Sequence[Block], *, confidence: float = 0.95, seed: int = 0) -> Speedup:
    """Speedup over ``blocks`` of (baseline records, records of the arm).

    A prompt (a turn of a conversation) counts where both arms finished it in every block with a TPOT; it is
    left out of the headline where any of its outputs loops. NaN when no prompt is left.
    """
    arms = [(_by_prompt(base), _by_prompt(arm)) for base, arm in blocks]
    shared = sorted(set.intersection(*(set(records) for pair in arms for records in pair))) if arms else []
    sound = [key for key in shared if not any(is_looping(records[key]) for pair in arms for records in pair)]
    everything = _ratios(arms, shared, np.ones((1, len(shared))))
    mids = _ratios(arms, sound, np.ones((1, len(sound))))
    prompts = list(dict.fromkeys(prompt for prompt, _ in sound))
    weights = draw_weights(len(prompts), seed=seed) if prompts else np.ones((1, 0))
    weights = weights[:, [prompts.index(prompt) for prompt, _ in sound]]  # all turns of a prompt together
    replicates = _over_blocks(_ratios(arms, sound, weights), seed=seed)
    return Speedup(
        interval=interval_of(_geometric_mean(mids), replicates, units=len(prompts), confidence=confidence),
        with_looping=_geometric_mean(everything),
        prompts=len(prompts),
        left_out=len({prompt for prompt, _ in shared}) - len(prompts),
        blocks=len(arms),
        launches="resampled" if len(arms) >= MIN_BLOCKS else "this launch only",
    )


def _by_prompt(records: Sequence[RequestRecord]) -> dict[tuple[str, int], RequestRecord]:
    return {(r.prompt_id, r.turn): r for r in records if r.tpot is not None and not r.error}


def _ratios(arms: Sequence[tuple[Mapping, Mapping]], keys: Sequence, weights: np.ndarray) -> np.ndarray:
    """Speedup [replicates, blocks] of the prompts ``keys`` under ``weights`` [replicates, prompts]."""
    if not keys:
        return np.full((len(weights), max(len(arms), 1)), np.nan)

    def tpot(records: Mapping) -> np.ndarray:
        return (
            weights
            @ _column(records, keys, lambda r: r.decode_seconds)
            / (weights @ _column(records, keys, lambda r: r.decode_tokens))
        )

    return np.stack([tpot(base) / tpot(arm) for base, arm in arms], axis=1)


def _column(records: Mapping, keys: Sequence, value: Callable[[RequestRecord], float]) -> np.ndarray:
    return np.array([value(records[key]) for key in keys], dtype=float)


def _over_blocks(ratios: np.ndarray, *, seed: int) -> np.ndarray:
    """Geometric mean over blocks per replicate; blocks themselves resampled where there are enough."""
    replicates, blocks = ratios.shape
    if blocks < MIN_BLOCKS:
        return np.exp(np.log(ratios).mean(axis=1))
    weights = draw_weights(blocks, replicates=replicates, seed=seed + 1) / blocks
    return np.exp((np.log(ratios) * weights).sum(axis=1))


def _geometric_mean(ratios: np.ndarray) -> float:
    return float(np.exp(np.log(ratios).mean()))
