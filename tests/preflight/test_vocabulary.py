"""Tokenizers in every format are read to the same tokens; damaged files are named."""

import base64
import json
import struct
from pathlib import Path

import pytest

from labkit.errors import ConfigError
from labkit.preflight import vocabulary_files as files
from labkit.preflight.tokenizer import compare
from labkit.preflight.vocabulary import read_vocabulary
from tests.preflight.conftest import MERGES, SPECIAL, tokenizer


def test_a_unigram_model_is_read_by_place(folder):
    unigram = tokenizer(model={"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["▁a", -1.0], ["b", -2.0]]})
    made = read_vocabulary(folder("m", tokens=unigram | {"added_tokens": []}))
    assert made.tokens == {0: "<unk>", 1: "▁a", 2: "b"}
    assert made.parts["merges"] == [0.0, -1.0, -2.0]


def piece(text, kind=None):
    """One SentencePiece piece as protobuf writes it."""
    body = bytes([0x0A, len(text.encode())]) + text.encode() + bytes([0x15]) + struct.pack("<f", -1.0)
    body += bytes([0x18, kind]) if kind else b""
    return bytes([0x0A, len(body)]) + body


PIECES = piece("<unk>", 2) + piece("<s>", 3) + piece("<0x0A>", 6) + piece("▁the") + piece("词")


def test_sentencepiece_is_read_without_its_library(folder):
    path = folder("m", bare=True)
    (path / "tokenizer.model").write_bytes(PIECES + bytes([0x1A, 3]) + b"nfk")
    made = read_vocabulary(path)
    assert made.tokens == {0: "<unk>", 1: "<s>", 2: "<0x0A>", 3: "▁the", 4: "词"}
    assert made.special == {0, 1}
    assert made.parts["normalizer"] == b"nfk"
    assert made.path is None


def test_sentencepiece_and_its_conversion_are_the_same(folder):
    """What stands in tokenizer.json after the conversion of a SentencePiece model is the same piece."""
    old, new = folder("old", bare=True), folder("new")
    (old / "tokenizer.model").write_bytes(PIECES)
    vocab = [[text, 0.0] for text in ("<unk>", "<s>", "<0x0A>", "▁the", "词")]
    model = {"type": "Unigram", "unk_id": 0, "vocab": vocab}
    stored = tokenizer(model=model, added_tokens=[], pre_tokenizer={"type": "Metaspace"}, decoder=None)
    (new / "tokenizer.json").write_text(json.dumps(stored))
    (new / "tokenizer_config.json").unlink()
    found = compare(read_vocabulary(old), read_vocabulary(new))
    assert (found.verdict, found.agreement) == ("same", None)


def tiktoken_lines(tokens):
    return b"".join(base64.b64encode(token) + f" {n}\n".encode() for n, token in enumerate(tokens))


@pytest.mark.parametrize("name", ["tokenizer.model", "qwen.tiktoken"])
def test_tiktoken_files_mean_the_same_as_byte_level_json(folder, name):
    path = folder("m", bare=True)
    ordinary = [files.to_bytes(token, "byte_level") for token in tokenizer()["model"]["vocab"]]
    (path / name).write_bytes(tiktoken_lines(ordinary))
    found = compare(read_vocabulary(folder("target")), read_vocabulary(path))
    assert found.verdict == "same"
    assert "of the draft does not hold its special tokens; 6 not compared" in found.notes[0]
    ordinary[7] = b"other"
    (path / name).write_bytes(tiktoken_lines(ordinary))
    assert compare(read_vocabulary(folder("again")), read_vocabulary(path)).differing_ids == (7,)


def test_special_tokens_beside_a_tiktoken_file_are_compared(folder):
    path = folder("m", bare=True)
    (path / "tokenizer.model").write_bytes(tiktoken_lines([b"a", b"b"]))
    listed = {"2": {"content": "<x>", "special": True}}
    (path / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": listed}))
    made = read_vocabulary(path)
    assert (made.tokens, made.special, made.special_known) == ({0: b"a", 1: b"b", 2: "<x>"}, {2}, True)


def test_tekken(folder):
    path = folder("m", bare=True)
    vocab = [
        {"rank": n, "token_bytes": base64.b64encode(token).decode()} for n, token in enumerate([b"a", b"bc", b"d"])
    ]
    config = {"default_vocab_size": 4, "default_num_special_tokens": 2, "pattern": "x"}
    special = [{"rank": 0, "token_str": "<unk>"}, {"rank": 1, "token_str": "<s>"}]
    (path / "tekken.json").write_text(json.dumps({"config": config, "vocab": vocab, "special_tokens": special}))
    made = read_vocabulary(path)
    assert made.tokens == {0: "<unk>", 1: "<s>", 2: b"a", 3: b"bc"}, "the third is beyond the vocabulary's size"
    assert made.special_known


def test_vocab_and_merges_files(folder):
    path, stored = folder("m", bare=True), tokenizer()
    (path / "vocab.json").write_text(json.dumps(stored["model"]["vocab"]))
    (path / "merges.txt").write_text("#version: 0.2\n" + "\n".join(" ".join(pair) for pair in MERGES))
    (path / "added_tokens.json").write_text(json.dumps({token: 261 + n for n, token in enumerate(SPECIAL)}))
    found = compare(read_vocabulary(folder("target")), read_vocabulary(path))
    assert (found.verdict, found.differing_parts) == ("same", ())


@pytest.mark.parametrize(
    ("token", "spelling", "meaning"),
    [
        ("Ġthe", "byte_level", b" the"), ("Ċ", "byte_level", b"\n"), ("Ã©", "byte_level", "é".encode()),
        ("<tool▁call>", "byte_level", "<tool▁call>".encode()), ("▁the", "pieces", b" the"),
        ("é", "pieces", "é".encode()),
        ("<0x0A>", "pieces", b"\n"), ("<0xZZ>", "pieces", b"<0xZZ>"), (b"\xff", "bytes", b"\xff"),
    ],
)  # fmt: skip
def test_what_a_token_stands_for(token, spelling, meaning):
    assert files.to_bytes(token, spelling) == meaning


def test_a_special_token_is_written_as_it_is(folder):
    made = read_vocabulary(folder("m", tokens=tokenizer(special=["<Ġ>"])))
    assert (made.tokens[32], made.meaning(32)) == ("Ġ", b" ")
    assert (made.meaning(261), made.meaning(999)) == ("<Ġ>".encode(), None)


def test_text_that_the_faster_parser_does_not_take_is_read_all_the_same(folder):
    path = folder("m", tokens=tokenizer())
    text = (path / "tokenizer.json").read_text()
    (path / "tokenizer.json").write_text(text.replace("<|begin|>", "<|\\ud800|>"))
    assert read_vocabulary(path).tokens[261] == "<|\ud800|>"


def test_a_folder_without_a_tokenizer(folder):
    assert read_vocabulary(folder("m", bare=True)) is None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tokenizer.json", b"{"),
        ("tokenizer.json", b'{"version": "1.0"}'),
        ("tokenizer.model", PIECES[:-3]),
        ("tokenizer.model", b"version https://git-lfs.github.com/spec/v1\n"),
        ("tokenizer.model", b""),
        ("tekken.json", b"[]"),
        ("x.tiktoken", b"YQ== 0\nYg==\n"),
    ],
)
def test_a_damaged_file_is_named(folder, name, content):
    path = folder("m", bare=True)
    (path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=rf"the tokenizer .*{name} cannot be read \(.+\); get the file again"):
        read_vocabulary(path)


def test_damaged_roles_are_named(folder):
    path = folder("m")
    (path / "tokenizer_config.json").write_text("{")
    with pytest.raises(ConfigError, match=r"tokenizer_config\.json is no JSON"):
        read_vocabulary(path)


def test_real_sentencepiece_and_tekken_files():
    """Those that Mistral's library brings, read as its own readers do."""
    mistral = pytest.importorskip("mistral_common")
    library = pytest.importorskip("sentencepiece")
    data = Path(mistral.__file__).parent / "data"
    read = library.SentencePieceProcessor(str(data / "tokenizer.model.v1"))
    tokens, special, normalizer = files.sentencepiece((data / "tokenizer.model.v1").read_bytes())
    assert tokens == {n: read.id_to_piece(n) for n in range(read.vocab_size())}
    assert special == {n for n in tokens if read.is_control(n) or read.is_unknown(n)}
    assert normalizer
    tokens, _ = files.tekken(json.loads((data / "tekken_240911.json").read_bytes()))
    assert len(tokens) == 131072 - 1000
    assert tokens[1000 + ord("a")] == b"a"
