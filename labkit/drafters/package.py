"""The form in which trained drafters are shipped: only what was trained, and a card.

A package is a folder with ``weights.safetensors`` (bfloat16, plus ``d2t`` for a reduced vocabulary) and
``card.json``.  What belongs to the target (embeddings, head rows, tokenizer) is not in it; :func:`assemble`
takes it from the target and makes a folder that vLLM loads.

*d2t*: for draft id i the target's id is i + d2t[i], as vLLM reads it.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from labkit.drafters.card import CARD, Card, read_card, write_card
from labkit.drafters.pairing import read_config
from labkit.errors import ConfigError
from labkit.paths import DATA

__all__ = ["WEIGHTS", "assemble", "read_weights", "shipped", "write_package"]

WEIGHTS = "weights.safetensors"
_TOKENIZER = ("tokenizer", "chat_template", "special_tokens", "vocab", "merges")


def shipped() -> dict[str, Path]:
    """Packages that come with labkit, by name."""
    return {path.parent.name: path.parent for path in sorted((DATA / "drafters").glob(f"*/{CARD}"))}


def write_package(package: Path, card: Card, tensors: dict[str, Any]) -> None:
    """Store a drafter: floating-point tensors as bfloat16, whole numbers as they are."""
    import torch
    from safetensors.torch import save_file

    package.mkdir(parents=True, exist_ok=True)
    small = {name: t.to(torch.bfloat16) if t.is_floating_point() else t for name, t in tensors.items()}
    save_file({name: t.contiguous().cpu() for name, t in small.items()}, package / WEIGHTS, metadata={"format": "pt"})
    write_card(package, card)


def assemble(package: Path, target: Path, folder: Path) -> None:
    """Make ``folder`` (empty) a model folder that vLLM loads, out of a package and its target's folder.

    Raises:
        ConfigError: the card does not fit the target, or the weights are damaged.
    """
    from safetensors.torch import save_file

    card, config = read_card(package), read_config(target)
    for key, wanted in (("hidden_size", card.hidden_size), ("vocab_size", card.vocab_size)):
        if config.get(key) != wanted:
            raise ConfigError(
                f"drafter {card.name!r} was trained for {key} {wanted}, the target {target} has {config.get(key)}; "
                f"use it with {card.target}, or train one with 'labkit drafters train --target {target}'"
            )
    tensors = read_weights(package / WEIGHTS)
    tensors |= _from_target(tensors, card, target)
    config |= card.config
    config.pop("_name_or_path", None)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    for path in target.iterdir():
        if path.name.startswith(_TOKENIZER):
            shutil.copy(path, folder)


def read_weights(path: Path) -> dict[str, Any]:
    """All tensors of a safetensors file.

    Raises:
        ConfigError: the file is missing, cut off or no safetensors.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise ConfigError(f"{path} is no whole safetensors file ({error}); get it again, or train it anew") from None


def _from_target(tensors: dict[str, Any], card: Card, target: Path) -> dict[str, Any]:
    """Head rows of the draft vocabulary for an EAGLE-3 head; embeddings and head for a draft model."""
    import torch

    from labkit.drafters.target import target_tensors

    ends = target_tensors(target)
    if card.method == "eagle3":
        if "d2t" not in tensors:
            raise ConfigError(f"drafter {card.name!r} has no d2t, the ids it can propose; get it again")
        ids = torch.arange(len(tensors["d2t"])) + tensors["d2t"]
        return {"lm_head.weight": ends["head"][ids].contiguous()}
    own = {"model.embed_tokens.weight": ends["embed"].contiguous()}
    tied = ends["head"] is ends["embed"]
    return own if tied else own | {"lm_head.weight": ends["head"].contiguous()}
