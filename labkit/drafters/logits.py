"""Probabilities that a local model gives to the tokens of texts, with every other token in the sum."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from labkit.drafters.whole_model import whole_model

__all__ = ["token_probabilities"]


def token_probabilities(
    model: Path, texts: Sequence[tuple[Sequence[int], Sequence[int]]], *, temperature: float
) -> list[np.ndarray]:
    """Of each text (prompt ids, output ids): the probability of every output token given what stands before it,
    at ``temperature`` over the whole vocabulary, in float32."""
    import torch

    loaded, found = whole_model(model), []
    with torch.inference_mode():
        for prompt, output in texts:
            ids = torch.tensor([[*prompt, *output]])
            logits = loaded(ids, logits_to_keep=len(output) + 1).logits[0, :-1]
            probs = (logits / temperature).softmax(-1)
            found.append(probs.gather(1, torch.tensor(output)[:, None])[:, 0].numpy())
    return found
