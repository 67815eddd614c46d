"""A draft with another tokenizer: the same model, its token ids shuffled.

To show what a draft from another family does: ids that mean other tokens, so that almost nothing is
accepted, although every shape fits and vLLM starts.
"""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

__all__ = ["build_wrong_tokenizer"]

SEED = 0


def build_wrong_tokenizer(draft: Path, folder: Path) -> None:
    """Fill ``folder`` (empty) with ``draft``, all ids but those of special tokens permuted, in the weights
    and in the tokenizer alike. Embeddings and head must be tied."""
    import torch
    from safetensors.torch import load_file, save_file

    for path in draft.iterdir():
        if path.is_file() and path.suffix != ".safetensors" and path.name != "labkit.json":
            shutil.copy(path, folder)
    tokenizer = json.loads((draft / "tokenizer.json").read_text(encoding="utf-8"))
    special = {entry["id"] for entry in tokenizer["added_tokens"]}
    size = json.loads((draft / "config.json").read_text(encoding="utf-8"))["vocab_size"]
    new_id = _shuffled(size, fixed=special)
    tokenizer["model"]["vocab"] = {token: new_id[i] for token, i in tokenizer["model"]["vocab"].items()}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False), encoding="utf-8")
    tensors = load_file(draft / "model.safetensors")
    old_id = torch.tensor(new_id).argsort()
    tensors["model.embed_tokens.weight"] = tensors["model.embed_tokens.weight"][old_id].contiguous()
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def _shuffled(size: int, *, fixed: set[int]) -> list[int]:
    """Entry i is the new id of token i; ``fixed`` ids stay."""
    free = [i for i in range(size) if i not in fixed]
    drawn = free.copy()
    random.Random(SEED).shuffle(drawn)
    new = list(range(size))
    for old, other in zip(free, drawn, strict=True):
        new[old] = other
    return new
