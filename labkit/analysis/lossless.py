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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite, log
from typing import Any, Self

from labkit.analysis.lossless_bets import surprisal_variance
from labkit.analysis.lossless_drafts import mistaken
from labkit.analysis.lossless_family import ACCEPTANCE, OUTSIDE, Family
from labkit.analysis.lossless_finding import Finding, describe, visible_heat
from labkit.analysis.lossless_origin import Origin, origins
from labkit.analysis.lossless_pit import Tokens, tokens_of
from labkit.analysis.lossless_steps import places
from labkit.measure.scored_text import ScoredText

__all__ = ["ALPHA", "NOT_COVERED", "Audit", "audit"]

ALPHA = 0.005
#: The share of its tokens that a control may draw beyond what top_k leaves.
LEAVES_TOP_K = 0.005
#: Share of α that the control's own audit has: a false alarm there takes away a verdict that may be right.
CONTROL = 0.1
#: τ/T that an audit must be able to see before it may say that it found nothing.
COARSEST = 1.5
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
    """``unavailable``: tests that could not be made, and why. ``stopped_early``: a clear fault ended it before every
    prompt was used."""

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
            "verdict",
            "tokens",
            "control_tokens",
            "texts",
            "temperature",
            "top_k",
            "top_p",
            "alpha",
            "stopped_early",
        )
        return {name: getattr(self, name) for name in same} | {
            "why": list(self.why),
            "origins": [{"name": origin.name, "words": origin.words} for origin in self.origins],
            "tests": [finding.plain() for finding in self.findings],
            "control": [finding.plain() for finding in self.control],
            "unavailable": list(self.unavailable),
            "not_covered": NOT_COVERED,
        }


def audit(
    blocks: Iterable[tuple[list[ScoredText], list[ScoredText]]],
    *,
    family: Family,
    alpha: float = ALPHA,
    budget: int | None = None,
) -> Audit:
    """Judge (tested, control) texts as they come, block by block, both in the order of the prompts; the i-th of either
    answers the same prompt. ``family`` is fixed before: it names every test there may be. ``budget``: how many
    tokens there would be without a fault."""
    texts: list[ScoredText] = []
    control: list[ScoredText] = []
    look = None
    for tested, its_control in blocks:
        texts += tested
        control += its_control
        look = _Look.at(texts, control, family, alpha)
        if look.clear:
            break
    if look is None:
        raise ValueError("an audit needs at least one block of texts")
    return look.audit(stopped_early=budget is not None and look.clear and len(look.tokens) < budget)


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
            origins=origins(rejected, tokens, family), doubts=_doubts(its_control, control_p, alpha * CONTROL),
        )  # fmt: skip

    @property
    def clear(self) -> bool:
        """A fault that more tokens would neither undo nor explain better."""
        return bool(self.origins) and not self.doubts and all(origin.clear for origin in self.origins)

    def audit(self, *, stopped_early: bool) -> Audit:
        findings = describe(self.tokens, self.control, self.family, self.p, alpha=self.alpha)
        doubts = self.doubts or (() if self.origins else _powerless(self.texts, self.tokens, self.family, self.alpha))
        verdict = "refused" if doubts else "fault" if self.origins else "no fault found"
        first = self.texts[0]
        return Audit(
            verdict=verdict,
            why=doubts or (_fault(self.origins, findings) if self.origins else _power(findings)),
            origins=() if doubts else self.origins,
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
            unavailable=_unavailable(self.texts, self.tokens, self.family),
        )


def _of_control(family: Family) -> Family:
    return Family(k=0, categories=family.categories, control=False)


def _doubts(control: Tokens, p: dict[str, float], alpha: float) -> tuple[str, ...]:
    found, left = [], float(control.outside.mean())
    if not control.tail.any() and left > LEAVES_TOP_K:
        found.append(
            f"{left:.1%} of the baseline's own tokens lie outside its top_k (at most {LEAVES_TOP_K:.1%} may), so its "
            "scores are not those it samples with: look for logit processors or sampling defaults on the server"
        )
    if flagged := [name for name, value in p.items() if value <= alpha]:
        found.append(
            f"the baseline does not pass its own audit ({', '.join(flagged)}), so a deviation would say nothing about "
            "speculation: look for sampling defaults, logit processors or another temperature on the server"
        )
    return tuple(found)


def _powerless(texts: Sequence[ScoredText], tokens: Tokens, family: Family, alpha: float) -> tuple[str, ...]:
    """Why nothing found is no news."""
    audited = sum(map(_from_drafted_steps, texts)) if family.k else len(tokens)
    if not audited:
        return (f"nothing was drafted in {len(tokens)} tokens, so speculation was not audited; try other prompts",)
    information = surprisal_variance(tokens.logp).mean() * audited
    if visible_heat(information, log(len(family.names) / alpha)) > COARSEST:
        where = (
            f"{audited} of {len(tokens)} tokens come from steps with drafts, " if family.k else f"{audited} tokens are "
        )
        return (f"{where}too few to see even a temperature of {COARSEST:g}·T there; ask for more",)
    return ()


def _from_drafted_steps(text: ScoredText) -> int:
    """Tokens of steps with drafts: by the server's counts, without them at least those of chunks of several tokens."""
    if text.accepted is None:
        return sum(count for count in text.chunk_tokens[1:] if count is not None and count > 1)
    return min(len(text), sum(accepted + 1 for accepted in text.accepted))


def _fault(origins: Sequence[Origin], findings: Sequence[Finding]) -> tuple[str, ...]:
    tests = ", ".join(f"{f.test} (p = {f.p:.2g}, {f.tokens} tokens)" for f in findings if f.fault)
    return (*(f"{origin.name}: {origin.words}" for origin in origins), f"found by: {tests}")


def _power(findings: Sequence[Finding]) -> tuple[str, ...]:
    shown = [
        f for f in findings if f.visible is not None and isfinite(f.visible) and f.test not in (OUTSIDE, ACCEPTANCE)
    ]
    said = [f"{f.test} ({f.tokens} tokens): a temperature {f.visible - 1:.0%} too high" for f in shown]
    for f in findings:
        if f.test == ACCEPTANCE and f.visible is not None:
            said.append(f"acceptance ({f.tokens} drafts): {f.visible - 1:.0%} too often")
        if f.test == OUTSIDE and f.visible is not None:
            said.append(f"outside: {f.visible:.2%} of the tokens")
    return ("what would have been found with a chance of 90 %:", *said)


def _unavailable(texts: Sequence[ScoredText], tokens: Tokens, family: Family) -> tuple[str, ...]:
    if not family.k:
        return ()
    found = sorted({reason for text in texts if (reason := places(text).reason)})
    said = [f"tests by position in the step and of bonus tokens: {reason}" for reason in found]
    alone = "tests of acceptance and of recovered tokens alone"
    if not family.drafts:
        said.append(f"{alone}: the drafter's choices are not known here")
    elif mistaken(tokens):
        said.append(
            f"{alone}: the drafter scored by itself does not choose what was accepted, so its drafts are not known"
        )
    return tuple(said)
