"""Training batches: whole texts of like length, in an order that the seed and the step fix.

``batch(step)`` depends on nothing else, so training that was stopped goes on exactly where it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

from labkit.training.features import Features, batches_by_length, device

__all__ = ["Batch", "Batches", "load_batch"]

#: Texts that are shuffled first and then put together by length: enough for little padding.
WINDOW = 128


@dataclass(frozen=True)
class Batch:
    """``tokens``: (B, T) int64; ``hidden``: (B, T, layers, H) float32; ``answer``: (B, T) bool, true where a
    token belongs to an answer; padded at the end."""

    tokens: torch.Tensor
    hidden: torch.Tensor
    answer: torch.Tensor


def load_batch(features: Features, texts: np.ndarray) -> Batch:
    longest = int(features.lengths[texts].max())
    tokens = torch.zeros(len(texts), longest, dtype=torch.long)
    hidden = torch.zeros(len(texts), longest, *features.hidden.shape[1:])
    answer = torch.zeros(len(texts), longest, dtype=torch.bool)
    for row, i in enumerate(texts):
        start, end = features.starts[i], features.starts[i + 1]
        tokens[row, : end - start] = torch.from_numpy(features.tokens[start:end].astype(np.int64))
        hidden[row, : end - start] = torch.from_numpy(features.hidden[start:end].astype(np.float32))
        answer[row, features.answers[i] - start : end - start] = True
    return Batch(tokens.to(device()), hidden.to(device()), answer.to(device()))


class Batches:
    """Endless batches of ``features``; ``len`` is the number of one epoch."""

    def __init__(self, features: Features, *, batch_tokens: int, seed: int) -> None:
        self._features, self._tokens, self._seed = features, batch_tokens, seed
        self._epoch = lru_cache(maxsize=2)(self._order)
        self._ends = [len(self._order(0))]

    def __len__(self) -> int:
        return self._ends[0]

    def batch(self, step: int) -> Batch:
        while step >= self._ends[-1]:
            self._ends.append(self._ends[-1] + len(self._epoch(len(self._ends))))
        epoch = next(i for i, end in enumerate(self._ends) if step < end)
        order = self._epoch(epoch)
        return load_batch(self._features, order[step - self._ends[epoch] + len(order)])

    def _order(self, epoch: int) -> list[np.ndarray]:
        pick = np.random.default_rng([self._seed, epoch])
        shuffled = pick.permutation(len(self._features))
        groups: list[np.ndarray] = []
        for begin in range(0, len(shuffled), WINDOW):
            window = shuffled[begin : begin + WINDOW]
            groups += [window[g] for g in batches_by_length(self._features.lengths[window], self._tokens)]
        return [groups[i] for i in pick.permutation(len(groups))]
