"""All that is known about a launch before it is started: one verdict with its findings.

report = preflight(Launch(target="demo", draft="demo/draft-2l", k=4))
report.verdict        # ok, warn or incompatible
report.plain()        # as `labkit preflight --json` prints it
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from labkit.errors import ConfigError
from labkit.preflight.case import Case
from labkit.preflight.launch import Launch
from labkit.preflight.models import Model, read_model
from labkit.preflight.pruned import target_ids
from labkit.preflight.rules import Finding, evaluate, load_rules, verdict
from labkit.preflight.sample_text import CannotEncode, coverage, encoded_sample
from labkit.preflight.tokenizer import TokenizerComparison, compare
from labkit.preflight.vocabulary import Vocabulary, read_vocabulary

__all__ = ["Report", "preflight"]


@dataclass(frozen=True, kw_only=True)
class Report:
    """``findings`` hold the worst first; ``tokenizer`` is None where there was nothing to compare."""

    case: Case
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> str:
        return verdict(list(self.findings))

    @property
    def tokenizer(self) -> TokenizerComparison | None:
        return self.case.tokenizer

    def plain(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "findings": [finding.plain() for finding in self.findings],
            "tokenizer": self.tokenizer.plain() if self.tokenizer else None,
            "method": self.case.method,
            "k": self.case.launch.k,
            "vllm": self.case.launch.vllm,
            "speculative_config": self.case.launch.speculative_config(),
        }

    def check(self) -> None:
        """Raise a ConfigError that names what is incompatible."""
        if self.verdict == "incompatible":
            wrong = [f"{f.rule}: {f.message}" for f in self.findings if f.level == "incompatible"]
            raise ConfigError("vLLM would not run this as meant:\n" + "\n".join(wrong))


def preflight(launch: Launch) -> Report:
    """Read target and draft, compare their tokenizers, apply every rule.

    Raises:
        ConfigError: a folder is missing or a file in it is damaged.
    """
    rules = load_rules()
    target = read_model(launch.target, role="target")
    draft = read_model(launch.draft, role="draft") if launch.draft else None
    case = Case(launch=launch, target=target, draft=draft, lists=rules.lists)
    if draft is not None:
        found, unread = _compare(target, draft, head=case.method != "draft_model")
        case = replace(case, tokenizer=found, unread=unread)
    return Report(case=case, findings=tuple(evaluate(case, rules)))


def _compare(target: Model, draft: Model, *, head: bool) -> tuple[TokenizerComparison | None, str]:
    """The comparison, or None and why there is none. A head without a tokenizer uses its target's."""
    ours, theirs = (read_vocabulary(model.folder) if model.folder else None for model in (target, draft))
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
    ids = target_ids(draft.folder) if draft.folder else None
    if ids is None:  # without the weights' file the map is not known
        return found
    if len(ids) != draft.draft_vocab_size:
        return found | {
            "valid": False,
            "why": f"d2t has {len(ids)} entries, draft_vocab_size is {draft.draft_vocab_size}",
        }
    outside = [number for number in ids if not 0 <= number < (target.vocab_size or len(vocabulary.tokens))]
    if outside:
        return found | {
            "valid": False,
            "why": f"{len(outside)} of its tokens are beyond the target's {target.vocab_size}",
        }
    try:
        return found | {"covers": coverage(encoded_sample(vocabulary.path), ids) if vocabulary.path else None}
    except CannotEncode:
        return found
