"""How well a drafter guesses greedy text: agreement by depth, and what it would give at every K.

Given a base position, an EAGLE head or a draft model drafts the same whether or not a target runs beside
it, so run lengths on the target's own greedy answers replay into the exact number of steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from labkit.training.batches import load_batch
from labkit.training.features import Features, autocast, batches_by_length

__all__ = ["Agreement", "agreement", "run_lengths"]


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Offline figures on ``tokens`` greedy answer tokens.

    ``joint[d]``: share of start positions with d + 1 tokens left where at least so many drafts are right;
    ``conditional[d]``: the same among those where the d before are; ``mean_acceptance_length[K]``: replayed, 1 … K + 1.
    """

    tokens: int
    joint: tuple[float, ...]
    conditional: tuple[float, ...]
    mean_acceptance_length: dict[int, float]


def agreement(model: torch.nn.Module, features: Features, *, depths: int, texts: np.ndarray | None = None) -> Agreement:
    """Figures of ``model`` on the greedy texts among ``texts`` (indices; all without)."""
    chosen = np.arange(len(features)) if texts is None else np.asarray(texts)
    runs = run_lengths(model, features, depths=depths, texts=chosen[features.greedy[chosen]])
    if not runs or not sum(map(len, runs)):
        return Agreement(tokens=0, joint=(), conditional=(), mean_acceptance_length={})
    flat, left = np.concatenate(runs), np.concatenate([np.arange(len(run), 0, -1) for run in runs])
    reached = [int((flat > d).sum()) for d in range(depths)]
    possible = [int((left > d).sum()) for d in range(depths)]  # the end of a text is no rejection
    begun = [int(((flat >= d) & (left > d)).sum()) for d in range(depths)]
    return Agreement(
        tokens=len(flat),
        joint=tuple(n / total if total else 0.0 for n, total in zip(reached, possible, strict=True)),
        conditional=tuple(n / total if total else 0.0 for n, total in zip(reached, begun, strict=True)),
        mean_acceptance_length={k: _replay(runs, k) for k in range(1, depths + 1)},
    )


def run_lengths(
    model: torch.nn.Module, features: Features, *, depths: int, texts: np.ndarray | None = None
) -> list[np.ndarray]:
    """Per text (indices; all without), for each output position after the first the number of drafts that
    would be accepted in a row if a step began there: 0 … ``depths``, never past the end."""
    chosen = np.arange(len(features)) if texts is None else np.asarray(texts)
    runs: dict[int, np.ndarray] = {}
    model.eval()
    for group in batches_by_length(features.lengths[chosen], 4096):
        ids = chosen[group]
        batch = load_batch(features, ids)
        with autocast():
            matches = model.matches(batch, depths).cpu().numpy()
        for row, i in enumerate(ids):
            first, end = features.answers[i] - features.starts[i], features.lengths[i]
            runs[i] = _run_lengths(matches[row, first - 1 : end - 2])
    return [runs[i] for i in chosen]


def _run_lengths(matches: np.ndarray) -> np.ndarray:
    """(n, depths) bool → (n,): leading trues, cut at the end of the text."""
    n = len(matches)
    runs = np.cumprod(matches, axis=1).sum(axis=1)
    return np.minimum(runs, np.arange(n, 0, -1))


def _replay(runs: list[np.ndarray], k: int) -> float:
    """1 + accepted / steps over all texts."""
    steps = accepted = 0
    for run in runs:
        start = 0
        while start < len(run):
            taken = min(int(run[start]), k)
            steps, accepted, start = steps + 1, accepted + taken, start + taken + 1
    return 1 + accepted / steps if steps else 1.0
