"""What the target saw inside while it wrote its texts: hidden states of a few layers, kept on disk.

One forward pass over every text (prompt and answer).  Hidden states are the residual stream *after* the
given number of layers, before the final norm, as vLLM hands them to an EAGLE-3 head.  The last layer is
always among them: with the target's own norm and head it gives the target's distribution, so that
distributions need not be stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from labkit.config import digest
from labkit.drafters.whole_model import whole_model
from labkit.training.texts import Text

__all__ = ["Features", "aux_layers", "extract"]

_META = "features.json"
_ARRAYS = ("tokens", "hidden", "starts", "answers", "greedy")


@dataclass(frozen=True, kw_only=True)
class Features:
    """Texts laid end to end. Text i is ``[starts[i], starts[i + 1])``, its answer begins at ``answers[i]``.

    ``tokens``: (N,) int32; ``hidden``: (N, layers, hidden) float16 on disk; ``greedy``: (texts,)
    bool; ``layers``: after how many layers of the target each hidden state was read.
    """

    tokens: np.ndarray
    hidden: np.ndarray
    starts: np.ndarray
    answers: np.ndarray
    greedy: np.ndarray
    layers: tuple[int, ...]
    key: str

    @classmethod
    def open(cls, folder: Path) -> Features:
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in _ARRAYS}
        meta = json.loads((folder / _META).read_text())
        return cls(**arrays, layers=tuple(meta["layers"]), key=meta["key"])

    def __len__(self) -> int:
        return len(self.answers)

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.starts)

    @property
    def answer_tokens(self) -> np.ndarray:
        """All tokens of answers, in order."""
        parts = [self.tokens[a:e] for a, e in zip(self.answers, self.starts[1:], strict=True)]
        return np.concatenate(parts)


def aux_layers(num_layers: int) -> tuple[int, ...]:
    """Layers an EAGLE-3 head looks at: after a third, two thirds and all of the target's; each once."""
    return tuple(sorted({max(1, round(i * num_layers / 3)) for i in (1, 2, 3)}))


def extract(
    texts: Sequence[Text],
    target: Path,
    folder: Path,
    *,
    layers: Sequence[int] | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    batch_tokens: int = 4096,
) -> Features:
    """Features of ``texts`` by ``target`` (a model folder), kept in ``folder`` and reused from there."""
    from transformers import AutoConfig

    chosen = tuple(layers or aux_layers(AutoConfig.from_pretrained(target).num_hidden_layers))
    key = digest([[*text.prompt_ids, -1, *text.output_ids] for text in texts], chosen, target.name)
    meta = folder / _META
    if not (meta.exists() and json.loads(meta.read_text())["key"] == key):
        folder.mkdir(parents=True, exist_ok=True)
        meta.unlink(missing_ok=True)
        _write(texts, target, folder, chosen, progress, batch_tokens)
        meta.write_text(json.dumps({"key": key, "layers": chosen}))  # last: a stopped run leaves no key
    return Features.open(folder)


def _write(texts, target, folder, layers, progress, batch_tokens) -> None:
    model = whole_model(target).to(device())
    lengths = np.array([len(text.prompt_ids) + len(text.output_ids) for text in texts])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    shape = (int(starts[-1]), len(layers), model.config.hidden_size)
    hidden = np.lib.format.open_memmap(folder / "hidden.npy", mode="w+", dtype=np.float16, shape=shape)
    tokens = np.concatenate([np.array(text.prompt_ids + text.output_ids, dtype=np.int32) for text in texts])
    seen: dict[int, torch.Tensor] = {}
    hooks = [
        model.model.layers[layer - 1].register_forward_hook(
            lambda module, args, out, layer=layer: seen.__setitem__(layer, out[0] if isinstance(out, tuple) else out)
        )
        for layer in layers
    ]
    for batch in batches_by_length(lengths, batch_tokens):
        ids = torch.zeros(len(batch), int(lengths[batch].max()), dtype=torch.long)
        for row, i in enumerate(batch):
            ids[row, : lengths[i]] = torch.from_numpy(tokens[starts[i] : starts[i + 1]].astype(np.int64))
        with torch.inference_mode(), autocast():
            model.model(ids.to(device()))  # padded at the end only: causal attention never sees it
        stacked = torch.stack([seen[layer] for layer in layers], dim=2).to("cpu", torch.float16)
        for row, i in enumerate(batch):
            hidden[starts[i] : starts[i + 1]] = stacked[row, : lengths[i]].numpy()
        progress(int(lengths[batch].sum()), int(starts[-1]))
    for hook in hooks:
        hook.remove()
    if not np.isfinite(hidden[:: max(1, len(hidden) // 4096)]).all():
        raise FloatingPointError(f"hidden states of {target} exceed the range of float16")
    hidden.flush()
    np.save(folder / "tokens.npy", tokens)
    np.save(folder / "starts.npy", starts)
    np.save(folder / "answers.npy", starts[:-1] + np.array([len(text.prompt_ids) for text in texts]))
    np.save(folder / "greedy.npy", np.array([text.temperature == 0 for text in texts]))


def batches_by_length(lengths: np.ndarray, batch_tokens: int) -> list[np.ndarray]:
    """Indices in groups of like length, each at most ``batch_tokens`` with its padding."""
    groups: list[list[int]] = []
    for i in np.argsort(lengths, kind="stable"):
        if not groups or (len(groups[-1]) + 1) * int(lengths[i]) > batch_tokens:
            groups.append([])
        groups[-1].append(int(i))
    return [np.array(group) for group in groups]


def device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def fast_bfloat16() -> bool:
    """Whether this machine multiplies bfloat16 matrices faster than float32 ones."""
    return device() == "cuda" or torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


def autocast() -> torch.autocast:
    """bfloat16 matrix products where they are fast, else float32 throughout."""
    return torch.autocast(device(), dtype=torch.bfloat16, enabled=fast_bfloat16())
