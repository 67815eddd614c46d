"""Model folders as preflight reads them: a config and a small real tokenizer, no weights."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from labkit.preflight.check import Report, preflight
from labkit.preflight.launch import Launch
from labkit.preflight.rules import Finding
from labkit.preflight.vocabulary_files import _GPT2

#: A whole Llama small enough to be written by hand; vLLM reads it as it stands.
LLAMA = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4, "max_position_embeddings": 512,
    "hidden_act": "silu", "rms_norm_eps": 1e-5, "dtype": "float32", "tie_word_embeddings": True,
    "bos_token_id": 261, "eos_token_id": 262, "vocab_size": 272,
}  # fmt: skip
MERGES = [["t", "h"], ["th", "e"], ["Ġ", "a"], ["o", "n"], ["Ġ", "the"]]
SPECIAL = ["<|begin|>", "<|end|>", "<|tool_response|>", "<|/tool_response|>", "<|think|>", "<|/think|>"]


def tokenizer(merges=MERGES, special=SPECIAL, **changed: Any) -> dict[str, Any]:
    """A byte-level BPE tokenizer of 256 bytes, the merges and the special tokens."""
    tokens = [*sorted(_GPT2, key=_GPT2.get), *("".join(pair) for pair in merges)]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    added = [
        {"id": len(tokens) + n, "content": token, "single_word": False, "lstrip": False, "rstrip": False,
         "normalized": False, "special": True}
        for n, token in enumerate(special)
    ]  # fmt: skip
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
        "pre_tokenizer": level, "post_processor": None, "decoder": level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                  "vocab": {token: n for n, token in enumerate(tokens)}, "merges": merges},
    } | changed  # fmt: skip


def permuted() -> dict[str, Any]:
    """The same tokens, the ordinary ones under other ids."""
    made = tokenizer()
    vocab = made["model"]["vocab"]
    made["model"]["vocab"] = {token: len(vocab) - 1 - number for token, number in vocab.items()}
    return made


def write_folder(path: Path, *, tokens: dict[str, Any] | None = None, bare: bool = False, **config: Any) -> Path:
    """A model folder with the config of LLAMA, changed, and a tokenizer; a bare one has no tokenizer."""
    path.mkdir()
    (path / "config.json").write_text(json.dumps(LLAMA | config))
    if not bare:
        (path / "tokenizer.json").write_text(json.dumps(tokens or tokenizer()))
        roles = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": SPECIAL[0], "eos_token": SPECIAL[1]}
        (path / "tokenizer_config.json").write_text(json.dumps(roles))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """Write a model folder by name: ``folder("draft", tokens=tokenizer(), vocab_size=128)``."""
    return lambda name, **fields: write_folder(tmp_path / name, **fields)


@pytest.fixture
def judge(folder: Callable[..., Path]) -> Callable[..., Report]:
    """Preflight of a target and a draft given as config fields, and of a launch given as its fields."""

    def look(
        *, target: dict | None = None, draft: dict | None = None, generation: dict | None = None, **launch
    ) -> Report:
        target_folder = folder("target", **target or {})
        if generation:
            (target_folder / "generation_config.json").write_text(json.dumps(generation))
        name = launch.pop("draft_name", "draft")
        draft_folder = str(folder(name, **draft)) if draft is not None else None
        asked = Launch(**{"target": str(target_folder), "draft": draft_folder, "vllm": "0.32.0"} | launch)
        return preflight(asked)

    return look


def finding(report: Report, rule: str) -> Finding | None:
    """The finding of a rule, None where it has nothing to say."""
    return next((found for found in report.findings if found.rule == rule), None)


__all__ = ["LLAMA", "MERGES", "SPECIAL", "finding", "permuted", "tokenizer", "write_folder"]
