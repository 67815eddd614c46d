"""A small ``draft_model``: a Llama of a few layers with the target's embeddings, head and tokenizer.

Its layers begin as layers of the target, their MLPs cut down to the neurons with the largest weights; only
layers and final norm are trained.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from labkit.drafters.whole_model import whole_model
from labkit.training.batches import Batch
from labkit.training.teacher import Teacher

__all__ = ["SmallDraft"]


class SmallDraft(nn.Module):
    """``layers``: which of the target's layers it begins from; ``intermediate_size``: width of its MLPs."""

    def __init__(self, target: str | Path, teacher: Teacher, *, layers: Sequence[int], intermediate_size: int) -> None:
        from transformers.models.llama.modeling_llama import LlamaModel

        super().__init__()
        whole = whole_model(target)
        self.config = copy.deepcopy(whole.config)
        self.config.update({"num_hidden_layers": len(layers), "intermediate_size": intermediate_size})
        if getattr(self.config, "layer_types", None):
            self.config.layer_types = self.config.layer_types[: len(layers)]
        self._teacher = [teacher]  # a list hides the target's weights from state_dict
        self.model = LlamaModel(self.config)
        self.model.embed_tokens = nn.Identity()  # embeddings are handed in
        self.model.norm.load_state_dict(whole.model.norm.state_dict())
        for own, layer in zip(self.model.layers, layers, strict=True):
            own.load_state_dict(_narrowed(whole.model.layers[layer].state_dict(), intermediate_size))

    def hidden(self, tokens: torch.Tensor) -> torch.Tensor:
        embeds = self._teacher[0].embed(tokens)
        return self.model(inputs_embeds=embeds, use_cache=False).last_hidden_state

    def loss(self, batch: Batch) -> tuple[torch.Tensor, dict[str, float]]:
        """Cross entropy against the target's distribution where the next token belongs to an answer."""
        teacher = self._teacher[0]
        predicted = teacher.predicted(batch.answer)
        wanted = teacher.distribution(batch.hidden[:, :, -1][predicted])
        logits = teacher.draft_logits(self.hidden(batch.tokens)[predicted])
        loss = -(wanted * logits.log_softmax(-1)).sum(-1).mean()
        top1 = (logits.argmax(-1) == wanted.argmax(-1)).float().mean()
        return loss, {"loss_0": float(loss.detach()), "top1_0": float(top1)}

    @torch.inference_mode()
    def matches(self, batch: Batch, depths: int) -> torch.Tensor:
        """(B, T, depths) bool: whether the draft of base t is, at each depth, the token of the text. The base
        is counted as an EAGLE head's: depth 0 of base t is token t + 2."""
        drafted = self._teacher[0].draft_tokens(self.hidden(batch.tokens))
        right = F.pad(drafted[:, :-1] == batch.tokens[:, 1:], (0, 1), value=False)
        return torch.stack([F.pad(right[:, 1 + d :], (0, min(1 + d, right.shape[1]))) for d in range(depths)], -1)


def _narrowed(layer: dict[str, torch.Tensor], size: int) -> dict[str, torch.Tensor]:
    """``layer`` with the ``size`` neurons of its MLP whose weights are largest."""
    gate, up, down = (f"mlp.{name}_proj.weight" for name in ("gate", "up", "down"))
    strength = layer[gate].norm(dim=1) * layer[up].norm(dim=1) * layer[down].norm(dim=0)
    kept = strength.topk(size).indices.sort().values
    return {**layer, gate: layer[gate][kept], up: layer[up][kept], down: layer[down][:, kept]}
