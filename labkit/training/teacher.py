"""What a drafter borrows from its target: embeddings, the final norm, head rows, and its distribution."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from labkit.drafters.target import target_tensors
from labkit.training.features import device

__all__ = ["Teacher", "choose_vocabulary"]

VOCABULARY_STEP = 512


def choose_vocabulary(tokens: np.ndarray, *, coverage: float) -> np.ndarray:
    """The most frequent ids that make up ``coverage`` of ``tokens``, sorted; their number is rounded up to
    a multiple of 512."""
    ids, counts = np.unique(tokens, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    enough = int(np.searchsorted(np.cumsum(counts[order]), coverage * counts.sum())) + 1
    size = min(len(ids), -(-enough // VOCABULARY_STEP) * VOCABULARY_STEP)
    return np.sort(ids[order[:size]])


class Teacher:
    """The target's frozen ends. ``vocabulary``: (V,) sorted token ids the drafter can propose; all without."""

    def __init__(self, target: str | Path, vocabulary: np.ndarray | None = None, *, eps: float = 1e-5) -> None:
        tensors = {name: tensor.to(device()) for name, tensor in target_tensors(target).items()}
        self._embed, self.norm_weight, self.eps = tensors["embed"], tensors["norm"], eps
        ids = np.arange(len(tensors["head"])) if vocabulary is None else vocabulary
        self.vocabulary = torch.from_numpy(np.asarray(ids, dtype=np.int64)).to(device())
        self.head = tensors["head"][self.vocabulary].contiguous()

    def embed(self, tokens: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.embedding(tokens, self._embed)

    @torch.no_grad()
    def distribution(self, hidden: torch.Tensor) -> torch.Tensor:
        """The target's probabilities at T = 1 over the draft vocabulary, from its last layer's output."""
        normed = torch.nn.functional.rms_norm(hidden, hidden.shape[-1:], self.norm_weight, self.eps)
        return self.draft_logits(normed).softmax(-1)

    def draft_logits(self, normed: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.linear(normed, self.head).float()

    def draft_tokens(self, normed: torch.Tensor) -> torch.Tensor:
        """Token ids (of the target) of the highest logits."""
        return self.vocabulary[self.draft_logits(normed).argmax(-1)]

    @staticmethod
    def predicted(answer: torch.Tensor) -> torch.Tensor:
        """Positions whose next token belongs to an answer."""
        return torch.nn.functional.pad(answer[:, 1:], (0, 1), value=False)
