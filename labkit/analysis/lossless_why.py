"""The reasons an audit gives, in sentences with the numbers in them."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, log

from labkit.analysis.lossless_bets import surprisal_variance
from labkit.analysis.lossless_drafts import mistaken
from labkit.analysis.lossless_family import ACCEPTANCE, OUTSIDE, Family
from labkit.analysis.lossless_finding import Finding, visible_heat
from labkit.analysis.lossless_origin import Origin
from labkit.analysis.lossless_pit import Tokens
from labkit.analysis.lossless_steps import places
from labkit.measure.scored_text import ScoredText

__all__ = ["doubts", "powerless", "fault", "power", "untested"]

#: The share of its tokens that a control may draw beyond what top_k leaves.
LEAVES_TOP_K = 0.005
#: τ/T that an audit must be able to see before it may say that it found nothing.
COARSEST = 1.5


def doubts(control: Tokens, p: dict[str, float], alpha: float) -> tuple[str, ...]:
    """What is wrong with the control, so that no verdict can be given."""
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


def powerless(texts: Sequence[ScoredText], tokens: Tokens, family: Family, alpha: float) -> tuple[str, ...]:
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


def fault(origins: Sequence[Origin], findings: Sequence[Finding]) -> tuple[str, ...]:
    """Where the fault comes from, and which tests found it."""
    tests = ", ".join(f"{f.test} (p = {f.p:.2g}, {f.tokens} tokens)" for f in findings if f.fault)
    return (*(f"{origin.name}: {origin.words}" for origin in origins), f"found by: {tests}")


def power(findings: Sequence[Finding]) -> tuple[str, ...]:
    """How small a fault would have been found."""
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


def untested(texts: Sequence[ScoredText], tokens: Tokens, family: Family) -> tuple[str, ...]:
    """Tests that could not be made, and why."""
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
