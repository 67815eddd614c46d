"""The draft that cannot work is the same model, its ids shuffled: right in itself, wrong for the target."""

import json

import pytest
import torch
from tokenizers import Tokenizer

from labkit.drafters.wrong_tokenizer import _shuffled, build_wrong_tokenizer
from tests.training.conftest import VOCABULARY, WORDS, load

TEXT = " ".join(f"word{i}" for i in (5, 17, 200, 5, 289, 33))


@pytest.fixture(scope="module")
def wrong(target, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wrong")
    (target / "labkit.json").write_text("{}")
    build_wrong_tokenizer(target, folder)
    (target / "labkit.json").unlink()
    return folder


def encode(folder, text=TEXT):
    return Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text).ids


@pytest.fixture(scope="module")
def new_id(target, wrong):
    """What each id of the original became, by its word."""
    vocabularies = [json.loads((f / "tokenizer.json").read_text())["model"]["vocab"] for f in (target, wrong)]
    return torch.tensor([vocabularies[1][word] for word, _ in sorted(vocabularies[0].items(), key=lambda e: e[1])])


def test_the_same_words_have_other_ids(target, wrong, new_id):
    assert encode(wrong) == new_id[encode(target)].tolist()
    assert encode(wrong) != encode(target)
    assert len(set(new_id.tolist())) == WORDS
    assert (new_id != torch.arange(WORDS)).float().mean() > 0.9


def test_read_back_it_is_the_same_text(wrong):
    assert Tokenizer.from_file(str(wrong / "tokenizer.json")).decode(encode(wrong)) == TEXT


def test_special_tokens_keep_their_ids(target, wrong, new_id):
    assert new_id[:2].tolist() == [0, 1]
    assert encode(wrong, "<s> word7 </s>")[::2] == [0, 1]
    specials = [json.loads((f / "tokenizer.json").read_text())["added_tokens"] for f in (target, wrong)]
    assert specials[0] == specials[1]


def test_it_computes_the_same_under_the_new_ids(target, wrong, new_id):
    ids = torch.tensor([[0, *encode(target)]])
    with torch.inference_mode():
        wanted, got = load(target)(ids).logits, load(wrong)(new_id[ids]).logits
    torch.testing.assert_close(got[..., new_id], wanted[..., :WORDS], atol=1e-4, rtol=0)
    assert not torch.allclose(got, wanted, atol=0.1)


def test_everything_else_is_copied(target, wrong):
    names = {path.name for path in wrong.iterdir()}
    assert names == {path.name for path in target.iterdir()}
    assert "labkit.json" not in names
    assert (wrong / "config.json").read_bytes() == (target / "config.json").read_bytes()


def test_it_is_built_the_same_each_time(target, wrong, tmp_path):
    build_wrong_tokenizer(target, tmp_path)
    for name in ("tokenizer.json", "model.safetensors"):
        assert (tmp_path / name).read_bytes() == (wrong / name).read_bytes()


@pytest.mark.parametrize("fixed", [set(), {0, 1, 299}, set(range(VOCABULARY))])
def test_a_shuffle_is_a_permutation_that_leaves_the_fixed(fixed):
    new = _shuffled(VOCABULARY, fixed=fixed)
    assert sorted(new) == list(range(VOCABULARY))
    assert all(new[i] == i for i in fixed)
