"""A shipped or trained drafter back in training form, to judge it on texts without a server."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from transformers import AutoConfig

from labkit.drafters.card import read_card
from labkit.drafters.package import WEIGHTS, read_weights
from labkit.training.eagle import Eagle3Head
from labkit.training.features import device
from labkit.training.small_draft import SmallDraft
from labkit.training.teacher import Teacher

__all__ = ["load_trained"]


def load_trained(package: Path, target: Path) -> torch.nn.Module:
    """The drafter of a package beside its target's folder; it has ``loss`` and ``matches``.

    Raises:
        ConfigError: the package is damaged or no package.
    """
    card, tensors = read_card(package), read_weights(package / WEIGHTS)
    config = AutoConfig.from_pretrained(target)
    if card.method == "eagle3":
        offsets = tensors.pop("d2t").numpy()
        teacher = Teacher(target, offsets + np.arange(len(offsets)), eps=config.rms_norm_eps)
        model: torch.nn.Module = Eagle3Head(config, card.config["num_aux_hidden_states"], teacher)
    else:
        size = card.config["intermediate_size"]
        layers = range(card.config["num_hidden_layers"])
        model = SmallDraft(target, Teacher(target, eps=config.rms_norm_eps), layers=layers, intermediate_size=size)
    model.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    return model.to(device()).eval()
