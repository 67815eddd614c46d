"""Target and draft mean the same by an id, or it is said which ids differ."""

import json
import sys
from unicodedata import is_normalized

import pytest

from labkit.preflight.sample_text import _sample, agreement, coverage, encoded_sample
from labkit.preflight.tokenizer import LISTED, compare
from labkit.preflight.vocabulary import read_vocabulary
from tests.preflight.conftest import MERGES, SPECIAL, permuted, tokenizer


@pytest.fixture
def between(folder):
    """Compare two tokenizers, and models of two sizes."""

    def look(ours, theirs, **sizes):
        return compare(
            read_vocabulary(folder("ours", tokens=ours)), read_vocabulary(folder("theirs", tokens=theirs)), **sizes
        )

    return look


def test_the_same_tokenizer(between):
    found = between(tokenizer(), tokenizer(), target_size=272, draft_size=272)
    assert (found.verdict, found.differing_ids, found.differing_parts) == ("same", (), ())
    assert found.agreement == {"en": 1.0, "zh": 1.0}
    assert found.tokens == {"target": 267, "draft": 267}


def test_padded_sizes_are_padding_only(between):
    """Field notes, launch: 152064 against 151936."""
    found = between(tokenizer(), tokenizer(), target_size=152064, draft_size=151936)
    assert (found.verdict, found.differing_ids) == ("padding_only", ())
    assert found.agreement == {"en": 1.0, "zh": 1.0}


def test_four_special_tokens_that_differ_are_incompatible_and_listed(between):
    """Field notes, launch: same size, other tokens."""
    other = [*SPECIAL[:2], "<|a|>", "<|b|>", "<|c|>", "<|d|>"]
    found = between(tokenizer(), tokenizer(special=other), target_size=272, draft_size=272)
    assert (found.verdict, found.differing_ids, found.only_special) == ("incompatible", (263, 264, 265, 266), True)
    assert found.examples[0] == "id 263: target '<|tool_response|>', draft '<|a|>'"
    assert found.agreement == {"en": 1.0, "zh": 1.0}, "no plain text holds a special token"


def test_tokens_on_one_side_only_are_incompatible_either_way(between, folder):
    found = between(tokenizer(), tokenizer(special=SPECIAL[:2]), target_size=272, draft_size=272)
    assert (found.verdict, found.differing_ids) == ("incompatible", (263, 264, 265, 266))
    assert found.examples[0] == "id 263: target '<|tool_response|>', draft nothing"
    back = compare(read_vocabulary(folder("a", tokens=tokenizer(special=SPECIAL[:2]))), read_vocabulary(folder("b")))
    assert back.differing_ids == found.differing_ids


@pytest.mark.parametrize("name", ["[PAD{}]", "<|extra_{}|>", "<unused{}>", "<|reserved_special_token_{}|>", "<pad_{}>"])
def test_fillers_behind_the_end_are_padding(between, name):
    padded = [*SPECIAL, *(name.format(n) for n in range(3))]
    assert between(tokenizer(), tokenizer(special=padded)).verdict == "padding_only"


@pytest.mark.parametrize("name", ["<|think_{}|>", "<tool_{}>", "filler {}"])
def test_other_names_behind_the_end_are_tokens(between, name):
    longer = [*SPECIAL, *(name.format(n) for n in range(3))]
    assert between(tokenizer(special=longer), tokenizer()).differing_ids == (267, 268, 269)


def test_a_permuted_vocabulary(between):
    found = between(tokenizer(), permuted(), target_size=272, draft_size=272)
    assert found.verdict == "incompatible"
    assert len(found.differing_ids) == 260, "261 ordinary tokens, the middle one stays"
    assert not found.only_special
    assert max(found.agreement.values()) < 0.05


def test_ids_that_cannot_occur_in_the_sample_spare_the_cutting(folder, monkeypatch):
    """Byte 0 stands in no text, "e" in every one; both keep their ids, all others go round."""
    vocab, found = tokenizer()["model"]["vocab"], {}
    target = read_vocabulary(folder("target"))
    for kept in ("Ā", "e"):
        others = [token for token in vocab if token != kept]
        turned = dict(zip(others, [vocab[token] for token in [*others[1:], others[0]]], strict=True))
        model = tokenizer()["model"] | {"vocab": turned | {kept: vocab[kept]}}
        found[kept] = read_vocabulary(folder(kept, tokens=tokenizer(model=model)))
    assert compare(target, found["e"]).agreement["en"] > 0
    measured = coverage(encoded_sample(target.path), {vocab["Ā"]})
    monkeypatch.setattr("labkit.preflight.tokenizer.encoded_sample", lambda path: pytest.fail("it was cut"))
    assert compare(target, found["Ā"]).agreement == measured == {"en": 0.0, "zh": 0.0}


def test_the_sample_is_as_normalisation_leaves_it():
    assert all(is_normalized("NFC", text) for texts in _sample().values() for text in texts)


def test_other_merges_cut_text_otherwise_although_ids_agree(between):
    found = between(tokenizer(), tokenizer() | {"model": tokenizer()["model"] | {"merges": MERGES[:2]}})
    assert (found.verdict, found.differing_parts) == ("same", ("merges",))
    assert 0.9 < found.agreement["en"] < 1
    assert found.agreement["zh"] > found.agreement["en"]


def test_a_normaliser_is_a_difference(between):
    found = between(tokenizer(), tokenizer(normalizer={"type": "Lowercase"}))
    assert (found.verdict, found.differing_parts) == ("same", ("normalizer",))
    assert found.agreement["en"] < 1


def test_older_and_newer_spelling_of_merges_are_the_same(between):
    older = tokenizer()
    older["model"]["merges"] = [" ".join(pair) for pair in MERGES]
    assert between(tokenizer(), older).differing_parts == ()


def test_roles_and_templates_are_compared_but_decide_nothing(folder):
    ours, theirs = folder("ours"), folder("theirs")
    (theirs / "chat_template.jinja").write_text("{{ messages }}")
    (ours / "chat_template.jinja").write_text("{{ messages[0] }}")
    roles = {"bos_token": {"content": SPECIAL[2]}, "eos_token": SPECIAL[1]}
    (theirs / "tokenizer_config.json").write_text(json.dumps(roles))
    found = compare(read_vocabulary(ours), read_vocabulary(theirs))
    assert (found.verdict, found.differing_parts) == ("same", ("bos", "chat_template"))


def test_a_tokenizer_the_library_cannot_load_is_compared_without_cutting_text(folder):
    ours, theirs = folder("ours"), folder("theirs")
    bare = {"model": {"vocab": tokenizer()["model"]["vocab"]}, "added_tokens": tokenizer()["added_tokens"]}
    (theirs / "tokenizer.json").write_text(json.dumps(bare | {"pre_tokenizer": {"type": "Nobody"}}))
    found = compare(read_vocabulary(ours), read_vocabulary(theirs))
    assert (found.verdict, found.agreement) == ("same", None)
    assert "text was not cut by both: the tokenizers library cannot load" in found.notes[0]


def test_without_the_library_ids_are_compared_all_the_same(between, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    found = between(tokenizer(), permuted())
    assert (found.verdict, len(found.differing_ids), found.agreement) == ("incompatible", 260, None)
    assert found.notes == ("text was not cut by both: the tokenizers library is not installed",)


def test_json_lists_so_many_ids_and_counts_all(between):
    found = between(tokenizer(), permuted())
    plain = found.plain()
    assert plain["differing"] == len(found.differing_ids) == 260
    assert plain["differing_ids"] == list(found.differing_ids[:LISTED])
    json.dumps(plain)


def test_agreement_and_coverage_by_hand():
    ours = {"en": [[(0, 1), (2, 5), (4, 7), (6, 1)]], "zh": [[(0, 9)]]}
    theirs = {"en": [[(0, 1), (2, 6), (4, 7), (7, 1)]], "zh": [[(0, 9)]]}
    assert agreement(ours, theirs) == {"en": 0.5, "zh": 1.0}
    assert coverage(ours, {1, 7}) == {"en": 0.75, "zh": 0.0}


def test_the_demo_drafts(demo_folder):
    target = read_vocabulary(demo_folder("demo"))
    same = compare(target, read_vocabulary(demo_folder("demo/draft-2l")), target_size=49152, draft_size=49152)
    assert (same.verdict, len(target.tokens)) == ("same", 49152)
    wrong = compare(target, read_vocabulary(demo_folder("demo/wrong-tokenizer")))
    assert wrong.verdict == "incompatible"
    assert len(wrong.differing_ids) == 49135, "17 special tokens keep their ids"
    assert max(wrong.agreement.values()) < 0.01
