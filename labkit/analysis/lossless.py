"""Is it lossless? The verdict of an audit at T > 0, one that can say no.

Texts of the engine under test, and of the baseline as its control, are scored by the baseline. If speculation is
lossless every token comes from the target's distribution given the text before it and its place in the step; the tests
of :mod:`labkit.analysis.lossless_family` bet against that. Verdicts:

- "fault": a Holm-corrected p-value is ≤ α; ``origins`` says where.
- "no fault found": none is; ``findings`` say how small a fault would have been seen.
- "refused": nothing can be said. The control does not pass its own audit or leaves its top_k; or, without a fault,
  nothing was drafted, or the tokens of steps with drafts are too few to see a temperature half too high.

An audit may be watched: the p-values hold at whichever block of prompts it stops, so a clear fault ends it early.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from labkit.analysis.lossless_family import Family
from labkit.analysis.lossless_finding import Finding, describe
from labkit.analysis.lossless_origin import Origin, origins
from labkit.analysis.lossless_pit import Tokens, tokens_of
from labkit.analysis.lossless_why import doubts, fault, power, powerless, untested
from labkit.audited import FAULT, NOTHING_FOUND, REFUSED
from labkit.measure.scored_text import Block, ScoredText

__all__ = ["ALPHA", "NOT_COVERED", "Audit", "audit"]

ALPHA = 0.005
#: Share of α that the control's own audit has. A control that fails takes away a verdict that may be right, so it must
#: not fail by chance. Its family is the smaller, so that it needs but a few times the evidence a fault needs, and what
#: is wrong with both engines shows in it.
CONTROL = 0.1
#: Sampling that an audit does not look at, and why.
NOT_COVERED = {
    "min_p": "vLLM refuses it with speculation",
    "logit_bias": "vLLM refuses it with speculation",
    "penalties": "presence, frequency and repetition penalties change logits by the text so far; scores of the 20 "
    "likeliest tokens do not tell which tokens they lift into them",
    "structured outputs": "the grammar's mask is not in the scores; compare validity rates with a task guard instead",
    "stop strings": "they cut a text at its own tokens; texts of an audit end at the stop token or at max_tokens",
    "sampled drafts": "acceptance and recovered tokens have a known law for greedy drafts only; the rest is covered",
}


@dataclass(frozen=True, kw_only=True)
class Audit:
    """``unavailable``: what could not be tested or checked, and why. ``stopped_early``: a clear fault ended it before
    every prompt was used."""

    verdict: str
    why: tuple[str, ...]
    origins: tuple[Origin, ...]
    findings: tuple[Finding, ...]
    control: tuple[Finding, ...]
    tokens: int
    control_tokens: int
    texts: int
    temperature: float
    top_k: int
    top_p: float
    alpha: float
    stopped_early: bool = False
    unavailable: tuple[str, ...] = ()

    def finding(self, test: str) -> Finding:
        return next(finding for finding in self.findings if finding.test == test)

    def plain(self) -> dict[str, Any]:
        """The fields of ``labkit audit --json``."""
        same = (
            "verdict", "tokens", "control_tokens", "texts", "temperature", "top_k", "top_p", "alpha", "stopped_early",
        )  # fmt: skip
        return {name: getattr(self, name) for name in same} | {
            "why": list(self.why),
            "origins": [{"name": origin.name, "words": origin.words} for origin in self.origins],
            "tests": [finding.plain() for finding in self.findings],
            "control": [finding.plain() for finding in self.control],
            "unavailable": list(self.unavailable),
            "not_covered": NOT_COVERED,
        }


def audit(blocks: Iterable[Block], *, family: Family, alpha: float = ALPHA, budget: int | None = None) -> Audit:
    """Judge texts as they come, block by block, in the order of the prompts. ``family`` is fixed before: it names
    every test there may be. ``budget``: how many tokens there would be without a fault."""
    texts: list[ScoredText] = []
    control: list[ScoredText] = []
    notes: tuple[str, ...] = ()
    look = None
    for block in blocks:
        texts += block.tested
        control += block.control
        notes += tuple(note for note in block.notes if note not in notes)
        look = _Look.at(texts, control, family, alpha)
        if look.clear:
            break
    if look is None:
        raise ValueError("an audit needs at least one block of texts")
    early = budget is not None and look.clear and len(look.tokens) < budget
    return look.audit(notes, stopped_early=early)


@dataclass(frozen=True, kw_only=True)
class _Look:
    """Everything up to one block. ``doubts``: why neither verdict can be given."""

    texts: list[ScoredText]
    tokens: Tokens
    control: Tokens
    family: Family
    p: dict[str, float]
    control_p: dict[str, float]
    alpha: float
    origins: tuple[Origin, ...]
    doubts: tuple[str, ...]

    @classmethod
    def at(cls, texts: list[ScoredText], control: list[ScoredText], family: Family, alpha: float) -> Self:
        tokens, its_control = tokens_of(texts), tokens_of(control)
        p = family.p_values(tokens, its_control)
        control_p = _of_control(family).p_values(its_control, None)
        rejected = {name for name, value in p.items() if value <= alpha}
        return cls(
            texts=texts, tokens=tokens, control=its_control, family=family, p=p, control_p=control_p, alpha=alpha,
            origins=origins(rejected, tokens, family), doubts=doubts(its_control, control_p, alpha * CONTROL),
        )  # fmt: skip

    @property
    def clear(self) -> bool:
        """A fault that more tokens would neither undo nor explain better."""
        return bool(self.origins) and not self.doubts and all(origin.clear for origin in self.origins)

    def audit(self, notes: tuple[str, ...], *, stopped_early: bool) -> Audit:
        findings = describe(self.tokens, self.control, self.family, self.p, alpha=self.alpha)
        refused = self.doubts
        if not refused and not self.origins:
            refused = powerless(self.texts, self.tokens, self.family, self.alpha)
        verdict = REFUSED if refused else FAULT if self.origins else NOTHING_FOUND
        first = self.texts[0]
        return Audit(
            verdict=verdict,
            why=refused or (fault(self.origins, findings) if self.origins else power(findings)),
            origins=() if refused else self.origins,
            findings=findings,
            control=describe(self.control, None, _of_control(self.family), self.control_p, alpha=self.alpha * CONTROL),
            tokens=len(self.tokens),
            control_tokens=len(self.control),
            texts=len(self.texts),
            temperature=first.temperature,
            top_k=max(text.top_k for text in self.texts),
            top_p=first.top_p,
            alpha=self.alpha,
            stopped_early=stopped_early,
            unavailable=(*untested(self.texts, self.tokens, self.family), *notes),
        )


def _of_control(family: Family) -> Family:
    return Family(k=0, categories=family.categories, control=False)
