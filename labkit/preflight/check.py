"""All that is known about a launch before it is started: one verdict with its findings.

report = preflight(Launch(target="demo", draft="demo/draft-2l", k=4))
report.verdict        # ok, warn or incompatible
report.plain()        # as `labkit preflight --json` prints it

Of a public model that is not on this machine the fields that presets carry are looked at, and a note says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from labkit.errors import IncompatibleError
from labkit.preflight.case import Case
from labkit.preflight.launch import Launch
from labkit.preflight.models import Model, read_model
from labkit.preflight.presets import public_model, public_tokenizers
from labkit.preflight.pruned import target_ids
from labkit.preflight.rules import Finding, evaluate, load_rules, verdict
from labkit.preflight.sample_text import CannotEncode, coverage, encoded_sample
from labkit.preflight.tokenizer import TokenizerComparison, compare
from labkit.preflight.vocabulary import Vocabulary, read_vocabulary

__all__ = ["Report", "case_of", "judge", "preflight"]


@dataclass(frozen=True, kw_only=True)
class Report:
    """``findings`` hold the worst first."""

    case: Case
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> str:
        return verdict(list(self.findings))

    @property
    def tokenizer(self) -> TokenizerComparison | None:
        """None where there was nothing to compare."""
        return self.case.tokenizer

    @property
    def refused(self) -> tuple[str, ...]:
        """What is incompatible, a line each."""
        return tuple(f"{f.rule}: {f.message}" for f in self.findings if f.level == "incompatible")

    @property
    def notes(self) -> tuple[str, ...]:
        """Where less was read than a folder holds."""
        models = (self.case.target, self.case.draft)
        return tuple(
            f"{model.name}: its files are not here; looked at were the fields of its public config that labkit carries"
            for model in models
            if model and not model.folder and model.config
        )

    def plain(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "findings": [finding.plain() for finding in self.findings],
            "tokenizer": self.tokenizer.plain() if self.tokenizer else None,
            "method": self.case.method,
            "k": self.case.launch.k,
            "vllm": self.case.launch.vllm,
            "speculative_config": self.case.launch.speculative_config(),
            "notes": list(self.notes),
        }

    def check(self) -> None:
        """Raise an IncompatibleError that names what is incompatible."""
        if self.refused:
            raise IncompatibleError("vLLM would not run this as meant:\n" + "\n".join(self.refused))


def preflight(launch: Launch) -> Report:
    """Read target and draft, compare their tokenizers, apply every rule.

    Raises:
        ConfigError: a folder is missing or a file in it is damaged.
    """
    return judge(case_of(launch))


def case_of(launch: Launch) -> Case:
    """The launch with what its models' files say.

    Raises:
        ConfigError: a folder is missing or a file in it is damaged.
    """
    target = _model(launch.target, role="target")
    draft = _model(launch.draft, role="draft") if launch.draft else None
    case = Case(launch=launch, target=target, draft=draft, lists=load_rules().lists)
    if draft is None:
        return case
    found, unread = _compare(target, draft, head=case.method != "draft_model")
    return replace(case, tokenizer=found, unread=unread)


def judge(case: Case) -> Report:
    """Apply every rule to a case."""
    return Report(case=case, findings=tuple(evaluate(case, load_rules())))


def _model(name: str, *, role: str) -> Model:
    model = read_model(name, role=role)
    return model if model.folder else public_model(model.name) or model


def _compare(target: Model, draft: Model, *, head: bool) -> tuple[TokenizerComparison | None, str]:
    """The comparison, or None and why there is none. A head without a tokenizer uses its target's."""
    if not (target.folder and draft.folder):
        known = public_tokenizers(target.name, draft.name)
        return known, "" if known else "the tokenizer files of both are not here"
    ours, theirs = read_vocabulary(target.folder), read_vocabulary(draft.folder)
    if ours is None:
        return None, f"the target {target.name} has no tokenizer that labkit reads"
    if theirs is None and not head:
        return None, f"the draft {draft.name} has no tokenizer that labkit reads"
    sizes = {"target_size": target.vocab_size, "draft_size": target.vocab_size if head else draft.vocab_size}
    found = compare(ours, theirs or ours, **sizes)
    if theirs is None:
        found = replace(found, notes=(*found.notes, "the head has no tokenizer of its own and uses the target's"))
    if head and draft.draft_vocab_size and draft.draft_vocab_size != target.vocab_size:
        found = replace(found, pruned=_pruned(ours, target, draft))
    return found, ""


def _pruned(vocabulary: Vocabulary, target: Model, draft: Model) -> dict[str, Any]:
    """A head's reduced vocabulary: its size, whether its map fits the target, what of a text it covers."""
    found = {"draft_vocab_size": draft.draft_vocab_size, "valid": True, "why": "", "covers": None}
    ids = target_ids(draft.folder)
    if ids is None:  # without the weights' file the map is not known
        return found
    beyond = sum(not 0 <= number < (target.vocab_size or len(vocabulary.tokens)) for number in ids)
    if len(ids) != draft.draft_vocab_size:
        why = f"d2t has {len(ids)} entries, draft_vocab_size is {draft.draft_vocab_size}"
        return found | {"valid": False, "why": why}
    if beyond:
        return found | {"valid": False, "why": f"{beyond} of its tokens are beyond the target's {target.vocab_size}"}
    try:
        return found | {"covers": coverage(encoded_sample(vocabulary.path), ids) if vocabulary.path else None}
    except CannotEncode:
        return found
