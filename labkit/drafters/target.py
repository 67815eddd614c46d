"""What a drafter borrows from its target's folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from labkit.errors import ConfigError

__all__ = ["target_tensors"]

_NAMES = {"embed": "model.embed_tokens.weight", "norm": "model.norm.weight", "head": "lm_head.weight"}


def target_tensors(target: str | Path) -> dict[str, Any]:
    """``embed`` (vocabulary, hidden), ``norm`` (hidden,) and ``head`` (vocabulary, hidden) of a model folder,
    as float32 torch tensors; a tied head is the embedding.

    Raises:
        ConfigError: the weights are damaged, or have other names than a Llama's.
    """
    from safetensors import SafetensorError, safe_open

    folder, found = Path(target), {}
    for path in sorted(folder.glob("*.safetensors")):
        try:
            with safe_open(path, framework="pt") as file:
                there = set(file.keys())
                found |= {key: file.get_tensor(name).float() for key, name in _NAMES.items() if name in there}
        except (SafetensorError, OSError) as error:
            raise ConfigError(f"{path} is no whole safetensors file ({error}); get the target again") from None
    if json.loads((folder / "config.json").read_text(encoding="utf-8")).get("tie_word_embeddings") and "embed" in found:
        found["head"] = found["embed"]
    if missing := [_NAMES[key] for key in _NAMES if key not in found]:
        raise ConfigError(
            f"the target {target} has no {', '.join(missing)}; drafters are trained for Llama-like targets"
        )
    return found
