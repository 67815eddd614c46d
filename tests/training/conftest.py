"""A tiny target with random weights, texts it wrote, and what it saw inside while it wrote them.

Everything here is float32 on the CPU, so that figures can be compared closely on any machine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM

from labkit.training import features as features_module
from labkit.training.batches import Batch, load_batch
from labkit.training.features import Features, extract
from labkit.training.teacher import Teacher
from labkit.training.texts import Text

VOCABULARY, WORDS, HIDDEN, LAYERS = 300, 290, 32, 3
CATEGORIES = ("code", "report")


def make_target(folder: Path, *, tied: bool = True, **changes) -> Path:
    """A model folder: weights large enough to have opinions, norms that are not all ones, a word tokenizer."""
    settings = {
        "vocab_size": VOCABULARY, "hidden_size": HIDDEN, "intermediate_size": 64, "num_hidden_layers": LAYERS,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "tie_word_embeddings": tied,
        "max_position_embeddings": 256, "initializer_range": 0.2, "rms_norm_eps": 1e-5, "bos_token_id": 0,
        "eos_token_id": 1,
    }  # fmt: skip
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(**settings | changes))
    for name, weight in model.named_parameters():
        if "norm" in name:
            torch.nn.init.uniform_(weight, 0.5, 1.5)
    model.save_pretrained(folder)
    special = ["<s>", "</s>"]
    words = {word: i for i, word in enumerate([*special, *(f"word{i}" for i in range(2, WORDS))])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="</s>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(special)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "</s>"}))
    return folder


def load(folder: Path) -> LlamaForCausalLM:
    return LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


def write_texts(model: LlamaForCausalLM, count: int, *, seed: int = 0) -> list[Text]:
    """Texts of like and unlike lengths; every other one is greedy, the others are drawn at T = 1."""
    pick, texts = torch.Generator().manual_seed(seed), []
    for i in range(count):
        prompt = torch.randint(2, WORDS, (4 + i % 5,), generator=pick)
        ids, greedy = prompt[None], i % 2 == 0
        for _ in range(12 + i % 7):
            with torch.inference_mode():
                chances = model(ids).logits[0, -1].softmax(-1)
            drawn = chances.argmax()[None] if greedy else torch.multinomial(chances, 1, generator=pick)
            ids = torch.cat([ids, drawn[None]], -1)
        texts.append(
            Text(
                prompt_id=f"t{i}",
                category=CATEGORIES[i % 3 == 0],
                temperature=0.0 if greedy else 0.8,
                prompt_ids=tuple(prompt.tolist()),
                output_ids=tuple(ids[0, len(prompt) :].tolist()),
            )
        )
    return texts


@pytest.fixture(scope="package", autouse=True)
def exact() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(features_module, "fast_bfloat16", lambda: False)
        patch.setattr(torch.cuda, "is_available", lambda: False)
        yield


@pytest.fixture(scope="package")
def target(tmp_path_factory: pytest.TempPathFactory, exact: None) -> Path:
    return make_target(tmp_path_factory.mktemp("models") / "target")


@pytest.fixture(scope="package")
def model(target: Path) -> LlamaForCausalLM:
    """The target itself, as transformers runs it."""
    return load(target)


@pytest.fixture(scope="package")
def texts(model: LlamaForCausalLM) -> list[Text]:
    return write_texts(model, 24)


@pytest.fixture(scope="package")
def features(texts: list[Text], target: Path, tmp_path_factory: pytest.TempPathFactory) -> Features:
    return extract(texts, target, tmp_path_factory.mktemp("features"))


@pytest.fixture
def batch(features: Features) -> Batch:
    """Four texts of four lengths."""
    return load_batch(features, np.array([0, 1, 7, 13]))


@pytest.fixture(scope="package")
def teacher(target: Path) -> Teacher:
    """With every third id as the draft vocabulary."""
    return Teacher(target, np.arange(0, VOCABULARY, 3))


@pytest.fixture
def learns() -> Callable[[torch.nn.Module, Batch], None]:
    """Assert that 30 plain steps on one batch take a model most of the way to what can be reached: the
    loss cannot go below the entropy of the target's own distribution."""

    def check(model: torch.nn.Module, batch: Batch) -> None:
        optimizer, losses = torch.optim.AdamW(model.parameters(), lr=5e-3), []
        for _ in range(30):
            loss, _ = model.loss(batch)
            losses.append(float(loss.detach()))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        target = model._teacher[0].distribution(batch.hidden[:, :, -1][Teacher.predicted(batch.answer)])
        floor = float(torch.special.entr(target).sum(-1).mean())
        assert losses[-1] - floor < 0.35 * (losses[0] - floor), (losses, floor)

    return check
