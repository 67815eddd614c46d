"""What a model's folder says without its weights: config.json, generation_config.json, sizes of files.

*Conventions*: sizes in bytes or tokens; a property is None where the config does not tell. A multimodal
config keeps the language model under ``text_config``, which is what speculation concerns; a head in the
speculators format keeps its layers under ``transformer_layer_config``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labkit.drafters.demo import locate
from labkit.drafters.pairing import read_config
from labkit.errors import ConfigError

__all__ = ["Model", "read_model"]

#: Where the number of multi-token prediction layers stands, by family.
_MTP_LAYERS = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")
#: RoPE types that stretch max_position_embeddings by their factor (vLLM 0.32, ``config/model.py``).
_STRETCHING = ("linear", "dynamic")
_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1}


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model as its config describes it; ``folder`` is None where only the config is known, or (an empty one) not
    even that."""

    name: str
    config: Mapping[str, Any]
    folder: Path | None = None
    generation: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> Mapping[str, Any]:
        return self.config.get("text_config") or self.config.get("transformer_layer_config") or self.config

    def get(self, key: str) -> Any:
        value = self.text.get(key)
        return self.config.get(key) if value is None else value

    @property
    def vocab_size(self) -> int | None:
        return self.get("vocab_size")

    @property
    def hidden_size(self) -> int | None:
        return self.get("hidden_size")

    @property
    def reads_hidden(self) -> int | None:
        """Size of the hidden states a head reads from its target."""
        return self.get("target_hidden_size") or self.hidden_size

    @property
    def heads(self) -> int | None:
        return self.get("num_attention_heads")

    @property
    def model_type(self) -> str:
        return str(self.config.get("model_type") or "")

    @property
    def architectures(self) -> list[str]:
        return list(self.config.get("architectures") or [])

    @property
    def mtp_layers(self) -> int | None:
        return next((n for n in map(self.get, _MTP_LAYERS) if n is not None), None)

    @property
    def draft_vocab_size(self) -> int | None:
        """Of a head with a pruned vocabulary."""
        return self.get("draft_vocab_size")

    @property
    def is_head(self) -> bool:
        """Whether the config is that of a head, which cannot run without a target's hidden states."""
        named = any("eagle" in name.lower() for name in (*self.architectures, self.model_type))
        return named or self.draft_vocab_size is not None

    @property
    def window(self) -> int | None:
        """The longest sequence the model was made for."""
        length = self.get("max_position_embeddings")
        rope = self.get("rope_parameters") or self.get("rope_scaling") or {}
        if length is None or rope.get("rope_type", rope.get("type")) not in _STRETCHING:
            return length
        return int(length * (rope.get("factor") or 1))

    @property
    def kv_bytes_per_token(self) -> int | None:
        """Of plain attention; None for latent attention and for configs that do not say."""
        layers, heads = self.get("num_hidden_layers"), self.heads
        if not layers or not heads or not self.hidden_size or self.get("kv_lora_rank"):
            return None
        head = self.get("head_dim") or self.hidden_size // heads
        size = _BYTES.get(str(self.get("dtype") or self.get("torch_dtype")), 2)
        return 2 * layers * (self.get("num_key_value_heads") or heads) * head * size

    @property
    def weight_bytes(self) -> int | None:
        """Size of the weights, from their files or their index; None where neither is there."""
        if self.folder is None:
            return None
        index = self.folder / "model.safetensors.index.json"
        if index.exists():
            return _json(index).get("metadata", {}).get("total_size")
        return sum(path.stat().st_size for path in self.folder.glob("*.safetensors")) or None


def read_model(name: str, *, role: str) -> Model:
    """The model that ``name`` (a folder, a demo name, or a hub id) stands for. Of a hub id the local hub cache is
    read; one that is not there gives an empty config, for nothing is fetched here.

    Raises:
        ConfigError: there is no such folder, it has no config.json, or it is no JSON.
    """
    folder = Path(locate(name, role=role))
    hub_id = None if folder.is_dir() else name
    if hub_id and (folder := _cached(hub_id)) is None:
        return Model(name=hub_id, config={})
    config = read_config(folder)
    if not isinstance(config, dict):
        raise ConfigError(f"{folder / 'config.json'} holds no JSON object; get the file again")
    generation = folder / "generation_config.json"
    return Model(
        name=hub_id or str(folder), config=config, folder=folder,
        generation=_json(generation) if generation.exists() else {},
    )  # fmt: skip


def _cached(name: str) -> Path | None:
    """The newest snapshot of a hub id that was fetched before."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    cache = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    snapshots = (cache / f"models--{name.replace('/', '--')}" / "snapshots").glob("*/config.json")
    found = max(snapshots, key=lambda path: path.stat().st_mtime, default=None)
    return found.parent if found else None


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} is no JSON: {error}; get the file again") from None
    return found if isinstance(found, dict) else {}
