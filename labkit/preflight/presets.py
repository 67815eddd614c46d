"""Known pairs of target and drafter (``data/presets/*.yaml``): command, verdict, what to know.

*Conventions*: a preset holds the fields of both public configs that rules look at, with the places they were read
from, so that its verdict follows from the rules and not from an opinion; what could not be read is left out and
counts as unknown. Its tokenizer verdict is stated with a source, for no tokenizer files are shipped.
``labkit preflight`` on the real folders says more.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import yaml

from labkit.config import STRICT, read
from labkit.errors import ConfigError, did_you_mean
from labkit.paths import DATA
from labkit.preflight.case import Case
from labkit.preflight.launch import READ_FROM, Launch
from labkit.preflight.models import Model
from labkit.preflight.rules import Finding, evaluate, load_rules
from labkit.preflight.tokenizer import TokenizerComparison

__all__ = ["Preset", "load_preset", "load_presets", "public_id", "public_model", "public_tokenizers"]


@dataclass(frozen=True, kw_only=True)
class Named:
    """A model by its hub id, with fields of its public config.json."""

    __pydantic_config__ = STRICT

    model: str
    config: dict[str, Any] = field(default_factory=dict)

    def described(self) -> Model:
        return Model(name=self.model, config=self.config)


@dataclass(frozen=True, kw_only=True)
class SameTokens:
    """What is known of both tokenizers; ``differing`` names some of the ids that differ."""

    __pydantic_config__ = STRICT

    verdict: Literal["same", "padding_only", "incompatible"]
    source: str
    differing: tuple[int, ...] = ()

    def described(self) -> TokenizerComparison:
        return TokenizerComparison(verdict=self.verdict, differing_ids=self.differing, examples=(self.source,))


@dataclass(frozen=True, kw_only=True)
class Preset:
    """``because``: the rules that the verdict rests on; ``sources``: where the fields of the configs stand."""

    __pydantic_config__ = STRICT

    name: str
    title: str
    target: Named
    verdict: Literal["ok", "warn", "incompatible"]
    because: tuple[str, ...]
    sources: tuple[str, ...]
    draft: Named | None = None
    method: str
    k: int
    tp: int = 1
    options: dict[str, Any] = field(default_factory=dict)
    serve: dict[str, Any] = field(default_factory=dict)
    tokenizer: SameTokens | None = None
    caveats: tuple[str, ...] = ()

    @property
    def launch(self) -> Launch:
        served = {key: value for key, value in self.serve.items() if key in ("max_model_len", "max_num_seqs")}
        return Launch(
            target=self.target.model, draft=self.draft.model if self.draft else None, method=self.method, k=self.k,
            tp=self.tp, options=self.options, vllm=READ_FROM, **served,
        )  # fmt: skip

    @property
    def case(self) -> Case:
        return Case(
            launch=self.launch, target=self.target.described(), draft=self.draft.described() if self.draft else None,
            tokenizer=self.tokenizer.described() if self.tokenizer else None,
            unread="the tokenizer files of both are not here" if self.draft and not self.tokenizer else "",
            lists=load_rules().lists,
        )  # fmt: skip

    @property
    def command(self) -> str:
        """The command that serves it, ready for a shell; the demo's models are served by the lab."""
        if self.target.model == "demo":
            words = ["labkit", "measure", "--target", "demo", "--method", self.method, "--k", str(self.k)]
            return shlex.join([*words, "--draft", self.draft.model] if self.draft else words)
        words = ["vllm", "serve", self.target.model]
        words += ["--tensor-parallel-size", str(self.tp)] if self.tp > 1 else []
        for name, value in self.serve.items():
            words += [f"--{name.replace('_', '-')}", str(value)]
        return shlex.join([*words, "--speculative-config", json.dumps(self.launch.speculative_config())])

    def findings(self) -> list[Finding]:
        """What the rules say of the fields given here."""
        return evaluate(self.case, load_rules())

    def plain(self) -> dict[str, Any]:
        return {
            "name": self.name, "title": self.title, "target": self.target.model,
            "draft": self.draft.model if self.draft else None, "method": self.method, "k": self.k, "tp": self.tp,
            "verdict": self.verdict, "findings": [finding.plain() for finding in self.findings()],
            "tokenizer": self.tokenizer.verdict if self.tokenizer else None, "command": self.command,
            "speculative_config": self.launch.speculative_config(), "caveats": list(self.caveats),
            "sources": list(self.sources),
        }  # fmt: skip


@lru_cache
def load_presets() -> dict[str, Preset]:
    """All shipped presets by name.

    Raises:
        ConfigError: a file is no preset.
    """
    found = {}
    for path in sorted((DATA / "presets").glob("*.yaml")):
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        found[path.stem] = read(Preset, {"name": path.stem, **data}, where=str(path))
    return found


def load_preset(name: str) -> Preset:
    """One preset.

    Raises:
        ConfigError: there is none of that name.
    """
    known = load_presets()
    if name not in known:
        raise ConfigError(f"no preset {name!r}; there are {', '.join(known)}{did_you_mean(name, known)}")
    return known[name]


def public_model(hub_id: str) -> Model | None:
    """What presets carry of a public model; None of others."""
    return next((each.described() for each in _public() if each.model == hub_id), None)


def public_id(folder: str) -> str | None:
    """The hub id of the public model that ``folder`` is named like; None where presets have none."""
    last = folder.rstrip("/").split("/")[-1].lower()
    return next((each.model for each in _public() if each.model.split("/")[-1].lower() == last), None)


def _public() -> list[Named]:
    named = [each for preset in load_presets().values() for each in (preset.target, preset.draft) if each]
    return [each for each in named if each.config and not each.model.startswith("demo")]


def public_tokenizers(target: str, draft: str) -> TokenizerComparison | None:
    """What is known of the tokenizers of two public models, given by their hub ids; None where nothing is."""
    pairs = {(p.target.model, p.draft.model): p.tokenizer for p in load_presets().values() if p.draft and p.tokenizer}
    known = pairs.get((target, draft))
    return known.described() if known else None
