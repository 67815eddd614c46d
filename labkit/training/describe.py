"""From a trained model to the package that is shipped: tensors, config and card."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from labkit.drafters.card import Card
from labkit.drafters.pairing import read_config
from labkit.training.evaluate import agreement
from labkit.training.features import Features, device
from labkit.training.plan import DEPTHS, Training
from labkit.training.texts import Text

__all__ = ["describe", "package_tensors"]


def package_tensors(model: torch.nn.Module, vocabulary: np.ndarray | None) -> dict[str, torch.Tensor]:
    """What a package holds: the trained tensors and, for a reduced vocabulary, d2t."""
    tensors = {name: tensor.detach() for name, tensor in model.state_dict().items()}
    if vocabulary is not None:
        tensors["d2t"] = torch.from_numpy(vocabulary - np.arange(len(vocabulary)))
    return tensors


def describe(
    asked: Training,
    target: Path,
    model: torch.nn.Module,
    *,
    vocabulary: np.ndarray | None,
    features: Features,
    held_out: Features,
    held_out_texts: list[Text],
    history: list[dict[str, Any]],
    name: str,
) -> Card:
    """The card, with offline figures on ``held_out``, by category and over all."""
    config = read_config(target)
    training = {
        "texts": len(features),
        "answer_tokens": len(features.answer_tokens),
        "epochs": asked.epochs,
        "steps": len(history),
        "seed": asked.seed,
        "loss": round(history[-1]["loss"], 4),
        "minutes": round(sum(row["seconds"] for row in history) / 60, 1),
        "device": device(),
        "learning_curve": _curve(history),
    }
    if vocabulary is not None:
        unseen = held_out.answer_tokens
        training["vocabulary"] = len(vocabulary)
        training["coverage_held_out"] = round(float(np.isin(unseen, vocabulary).mean()), 4)
    return Card(
        name=name,
        method=asked.method,
        target=asked.target,
        hidden_size=config["hidden_size"],
        vocab_size=config["vocab_size"],
        licence="as the target's: for the demo Apache-2.0",
        config=_config(asked, config, vocabulary, features),
        training=training,
        offline=_offline(model, held_out, held_out_texts),
    )


def _config(
    asked: Training, target: dict[str, Any], vocabulary: np.ndarray | None, features: Features
) -> dict[str, Any]:
    """What the drafter's config.json says other than its target's."""
    if asked.method == "draft_model":
        return {"num_hidden_layers": asked.draft_layers, "intermediate_size": asked.intermediate_size}
    return {
        "architectures": ["LlamaForCausalLMEagle3"],
        "num_hidden_layers": 1,
        "draft_vocab_size": len(vocabulary),
        "eagle_aux_hidden_state_layer_ids": list(features.layers),
        "num_aux_hidden_states": len(features.layers),
        "fc_norm": True,
        "tie_word_embeddings": False,
    }


def _offline(model: torch.nn.Module, held_out: Features, texts: list[Text]) -> dict[str, Any]:
    categories = np.array([text.category for text in texts])
    groups = {name: np.flatnonzero(categories == name) for name in sorted(set(categories))}
    groups["all"] = np.arange(len(texts))
    return {
        name: _rounded(asdict(agreement(model, held_out, depths=DEPTHS, texts=ids))) for name, ids in groups.items()
    }


def _curve(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Answer tokens seen so far, loss (mean since the point before) and held-out agreement by depth."""
    return [
        _rounded({"tokens_seen": row["tokens_seen"], "loss": row["mean_loss"], **row["held_out"]})
        for row in history
        if "held_out" in row
    ]


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(entry) for entry in value]
    return round(value, 4) if isinstance(value, float) else value
