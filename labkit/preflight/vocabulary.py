"""The tokenizer of a model's folder, read from its files: every id's token, and the parts that cut text.

*Conventions*: ``parts`` holds what must be equal for text to be cut alike (normaliser, pre-tokenizer,
merges, post-processor) and what only names roles (chat template, BOS, EOS); a part the files do not tell
is missing. ``special_known`` is False where the format leaves special tokens to code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from labkit.errors import ConfigError
from labkit.preflight import vocabulary_files as files

__all__ = ["CUTTING", "Vocabulary", "read_vocabulary"]

#: Parts that decide into which tokens a text is cut.
CUTTING = ("normalizer", "pre_tokenizer", "model", "merges")


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """``tokens``: id → token, written in the ``spelling`` of the format. ``path``: a tokenizer.json that can be loaded
    to encode, else None."""

    source: str
    tokens: Mapping[int, str | bytes] = field(repr=False)
    spelling: files.Spelling
    special: frozenset[int] = frozenset()
    special_known: bool = True
    parts: Mapping[str, Any] = field(default_factory=dict, repr=False)
    path: Path | None = None

    def meaning(self, number: int) -> bytes | None:
        """The bytes that an id stands for; None where there is no such id."""
        token = self.tokens.get(number)
        if token is None:
            return None
        literal = isinstance(token, str) and number in self.special
        return token.encode("utf-8", "surrogatepass") if literal else files.to_bytes(token, self.spelling)

    def shown(self, number: int) -> str:
        """The token of an id, to read."""
        meaning = self.meaning(number)
        return "nothing" if meaning is None else repr(meaning.decode("utf-8", "replace"))


def read_vocabulary(folder: Path) -> Vocabulary | None:
    """The tokenizer of ``folder``, the file taken that transformers would take; None where there is none.

    Raises:
        ConfigError: a tokenizer file is damaged.
    """
    for name, reader in _READERS.items():
        found = sorted(folder.glob(name))
        if not found:
            continue
        try:
            return _with_roles(reader(found[0]), folder)
        except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            raise ConfigError(
                f"the tokenizer {found[0]} cannot be read ({error or type(error).__name__}); get the file again"
            ) from None
    return None


def _from_tokenizer_json(path: Path) -> Vocabulary:
    stored = _parsed(path.read_bytes())
    tokens, special = files.hugging_face(stored)
    model = {key: value for key, value in stored["model"].items() if key not in ("vocab", "merges")}
    vocab = stored["model"].get("vocab")
    cuts = (
        [score for _, score in vocab] if isinstance(vocab, list) else files.merge_pairs(stored["model"].get("merges"))
    )
    parts = {name: stored.get(name) for name in ("normalizer", "pre_tokenizer", "post_processor")}
    parts |= {"model": model, "merges": cuts}  # a Unigram model cuts by scores
    return Vocabulary(
        source=path.name, tokens=tokens, spelling=files.spelling_of(stored), special=special, parts=parts, path=path
    )


def _from_model_file(path: Path) -> Vocabulary:
    """``tokenizer.model`` is SentencePiece's, or tiktoken's as Llama 3 ships it."""
    data = path.read_bytes()
    if files.is_tiktoken(data):
        return _from_tiktoken(path)
    tokens, special, normalizer = files.sentencepiece(data)
    parts = {"normalizer": normalizer}
    return Vocabulary(source=path.name, tokens=tokens, spelling="pieces", special=special, parts=parts)


def _from_tiktoken(path: Path) -> Vocabulary:
    tokens = files.tiktoken(path.read_bytes())
    return Vocabulary(source=path.name, tokens=tokens, spelling="bytes", special_known=False)


def _from_tekken(path: Path) -> Vocabulary:
    stored = json.loads(path.read_bytes())
    tokens, special = files.tekken(stored)
    return Vocabulary(
        source=path.name, tokens=tokens, spelling="bytes", special=special,
        special_known=bool(stored.get("special_tokens")), parts={"pre_tokenizer": stored["config"].get("pattern")},
    )  # fmt: skip


def _from_vocab_json(path: Path) -> Vocabulary:
    vocab = json.loads(path.read_bytes())
    merges = path.with_name("merges.txt")
    parts = {"merges": files.gpt2_merges(merges.read_text(encoding="utf-8"))} if merges.exists() else {}
    tokens = {number: token for token, number in vocab.items()}
    return Vocabulary(source=path.name, tokens=tokens, spelling="byte_level", parts=parts)


#: By preference: what is found first is read.
_READERS = {
    "tokenizer.json": _from_tokenizer_json,
    "tokenizer.model*": _from_model_file,
    "tekken.json": _from_tekken,
    "vocab.json": _from_vocab_json,
    "*.tiktoken": _from_tiktoken,
}


@lru_cache(maxsize=2)
def _parsed(data: bytes) -> dict[str, Any]:
    """Target and draft often have the same file: it is parsed once."""
    return json.loads(data)


def _with_roles(vocabulary: Vocabulary, folder: Path) -> Vocabulary:
    """Add what stands beside the vocabulary: more added tokens, roles, the chat template."""
    config = _beside(folder / "tokenizer_config.json")
    listed = {int(number): entry for number, entry in (config.get("added_tokens_decoder") or {}).items()}
    added = {number: token for token, number in _beside(folder / "added_tokens.json").items()}
    more = added | {number: entry["content"] for number, entry in listed.items()}
    special = vocabulary.special | {number for number, entry in listed.items() if entry.get("special")}
    roles = _beside(folder / "special_tokens_map.json") | config
    parts = {name: _content(roles[f"{name}_token"]) for name in ("bos", "eos") if f"{name}_token" in roles}
    template = folder / "chat_template.jinja"
    shown = template.read_text(encoding="utf-8") if template.exists() else config.get("chat_template")
    return replace(
        vocabulary, tokens={**vocabulary.tokens, **more} if more else vocabulary.tokens, special=frozenset(special),
        special_known=vocabulary.special_known or bool(listed),
        parts={**vocabulary.parts, **parts, **({"chat_template": shown} if shown else {})},
    )  # fmt: skip


def _content(token: Any) -> Any:
    return token.get("content") if isinstance(token, Mapping) else token


def _beside(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigError(f"{path} is no JSON: {error}; get the file again") from None
    return found if isinstance(found, dict) else {}
