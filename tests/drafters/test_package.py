"""What is shipped is small, whole or refused, and becomes a model with what its target has."""

import dataclasses
import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from labkit.drafters import package as package_module
from labkit.drafters.card import CARD, Card, read_card
from labkit.drafters.package import WEIGHTS, assemble, read_weights, shipped, write_package
from labkit.drafters.target import target_tensors
from labkit.errors import ConfigError
from tests.training.conftest import HIDDEN, VOCABULARY, load, make_target

CARD_OF = Card(
    name="head",
    method="eagle3",
    target="demo",
    hidden_size=HIDDEN,
    vocab_size=VOCABULARY,
    licence="Apache-2.0",
    config={"architectures": ["LlamaForCausalLMEagle3"], "draft_vocab_size": 4, "num_hidden_layers": 1},
    training={"texts": 3, "loss": 1.5},
    offline={"code": {"joint": [0.5, 0.25]}},
    served=[{"category": "code", "k": 3, "mean_acceptance_length": 2.5}],
)
IDS = torch.tensor([2, 5, 7, 290])
TENSORS = {"fc.weight": torch.randn(HIDDEN, 3 * HIDDEN), "d2t": IDS - torch.arange(4)}


@pytest.fixture
def package(tmp_path):
    write_package(tmp_path / "package", CARD_OF, TENSORS)
    return tmp_path / "package"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "model").mkdir()
    return tmp_path / "model"


def change(package, **fields):
    card = json.loads((package / CARD).read_text())
    (package / CARD).write_text(json.dumps(card | fields))


def test_a_package_is_read_as_it_was_written(package):
    assert read_card(package) == CARD_OF
    tensors = read_weights(package / WEIGHTS)
    assert set(tensors) == set(TENSORS)
    assert tensors["fc.weight"].dtype == torch.bfloat16
    torch.testing.assert_close(tensors["fc.weight"].float(), TENSORS["fc.weight"], rtol=2**-8, atol=0)
    assert torch.equal(tensors["d2t"], TENSORS["d2t"])
    assert {path.name for path in package.iterdir()} == {WEIGHTS, CARD}


def test_views_and_transposes_are_stored_whole(tmp_path):
    weight = torch.arange(12.0).view(3, 4)
    write_package(tmp_path / "p", CARD_OF, {"a": weight.T, "b": weight[:, :2]})
    tensors = read_weights(tmp_path / "p" / WEIGHTS)
    assert torch.equal(tensors["a"].float(), weight.T)
    assert torch.equal(tensors["b"].float(), weight[:, :2])


def test_an_eagle_head_gets_the_targets_rows_and_tokenizer(package, target, folder):
    assemble(package, target, folder)
    tensors = load_file(folder / "model.safetensors")
    assert set(tensors) == {"fc.weight", "d2t", "lm_head.weight"}
    assert torch.equal(tensors["lm_head.weight"], load(target).lm_head.weight.detach()[IDS])
    config, of_target = (json.loads((path / "config.json").read_text()) for path in (folder, target))
    assert config == of_target | CARD_OF.config
    for name in ("tokenizer.json", "tokenizer_config.json"):
        assert (folder / name).read_bytes() == (target / name).read_bytes()
    assert not (folder / "generation_config.json").exists()


@pytest.mark.parametrize("tied", [True, False])
def test_a_draft_model_gets_the_targets_ends(tmp_path, folder, tied):
    """All layers of the target as the package: assembled, it is the target again."""
    target = make_target(tmp_path / "target", tied=tied)
    whole = load(target)
    layers = {n: w for n, w in whole.state_dict().items() if n.startswith(("model.layers", "model.norm"))}
    card = dataclasses.replace(CARD_OF, method="draft_model", config={"num_hidden_layers": 3})
    write_package(tmp_path / "p", card, layers)
    assemble(tmp_path / "p", target, folder)
    names = {"model.embed_tokens.weight"} | (set() if tied else {"lm_head.weight"})
    assert set(load_file(folder / "model.safetensors")) == names | set(layers)
    again, ids = load(folder), torch.tensor([[4, 8, 15, 16]])
    assert torch.equal(again.lm_head.weight, whole.lm_head.weight)
    torch.testing.assert_close(again(ids).logits, whole(ids).logits, atol=0.2, rtol=0)  # layers went through bfloat16


@pytest.mark.parametrize(("key", "mine"), [("hidden_size", 576), ("vocab_size", 49152)])
def test_another_target_is_refused_with_both_sizes(package, target, folder, key, mine):
    change(package, **{key: mine})
    has = {"hidden_size": HIDDEN, "vocab_size": VOCABULARY}[key]
    with pytest.raises(
        ConfigError,
        match=rf"drafter 'head' was trained for {key} {mine}, the target .* has {has}; use it with demo, or train",
    ):
        assemble(package, target, folder)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("damage", [lambda b: b[:-10], lambda b: b[:5], lambda b: b"", lambda b: b"\x00" * len(b)])
def test_damaged_weights(package, target, folder, damage):
    path = package / WEIGHTS
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ConfigError, match=r"weights\.safetensors is no whole safetensors file \(.*\); get it again"):
        assemble(package, target, folder)
    assert list(folder.iterdir()) == []


def test_missing_weights(package, target, folder):
    (package / WEIGHTS).unlink()
    with pytest.raises(ConfigError, match="is no whole safetensors file"):
        assemble(package, target, folder)


def test_a_head_without_its_vocabulary(package, target, folder):
    save_file({"fc.weight": TENSORS["fc.weight"]}, package / WEIGHTS)
    with pytest.raises(ConfigError, match=r"drafter 'head' has no d2t"):
        assemble(package, target, folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"name": "hea', r"card\.json is no JSON"),
        (b"\xff\xfe", r"card\.json is no JSON"),
        ("[]", r"card\.json: top level: "),
        ('{"name": "head"}', r"card\.json: method: "),
    ],
)
def test_a_damaged_card(package, content, message):
    (package / CARD).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigError, match=message):
        read_card(package)


def test_a_card_with_a_wrong_value(package):
    change(package, hidden_size="wide")
    with pytest.raises(ConfigError, match=r"card\.json: hidden_size: .*; got 'wide'"):
        read_card(package)


def test_a_folder_that_is_no_package(tmp_path):
    with pytest.raises(ConfigError, match=r"no drafter package at .*: card\.json is missing"):
        read_card(tmp_path)


def test_shipped_packages_are_found_by_name(package, tmp_path, monkeypatch):
    monkeypatch.setattr(package_module, "DATA", tmp_path)
    assert shipped() == {}
    (tmp_path / "drafters" / "no-card").mkdir(parents=True)
    package.rename(tmp_path / "drafters" / "mine")
    assert shipped() == {"mine": tmp_path / "drafters" / "mine"}


def test_what_a_target_lends(target):
    ends, whole = target_tensors(target), load(target)
    assert torch.equal(ends["embed"], whole.model.embed_tokens.weight)
    assert torch.equal(ends["norm"], whole.model.norm.weight)
    assert ends["head"] is ends["embed"]


def test_a_target_that_lends_nothing(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    save_file({"transformer.wte.weight": torch.zeros(2, 2)}, tmp_path / "model.safetensors")
    with pytest.raises(ConfigError, match=r"has no model\.embed_tokens\.weight, model\.norm\.weight, lm_head\.weight"):
        target_tensors(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"cut")
    with pytest.raises(ConfigError, match=r"model\.safetensors is no whole safetensors file"):
        target_tensors(tmp_path)


def test_a_target_in_several_files(target, tmp_path):
    """Large models are sharded."""
    tensors = load_file(target / "model.safetensors")
    (tmp_path / "config.json").write_bytes((target / "config.json").read_bytes())
    for i, name in enumerate(sorted(tensors)):
        save_file({name: tensors[name].bfloat16()}, tmp_path / f"model-{i:05}.safetensors")
    ends = target_tensors(tmp_path)
    assert ends["norm"].dtype == torch.float32
    torch.testing.assert_close(ends["embed"], target_tensors(target)["embed"], rtol=2**-8, atol=0)
