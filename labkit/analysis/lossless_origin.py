"""Where a fault comes from, as far as the tests that found one allow.

Places in a step are independent of each other given the past, so a fault of the bonus token shows there alone, one of
verification at positions 1 … K alone, one of the model or of plain sampling on tokens without drafts. Within
verification only known drafts tell temperature, acceptance and replacement apart: by the likelihood of each cause.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from labkit.analysis.lossless_drafts import MISTAKEN, likeliest_cause, mistaken, recovered, verified
from labkit.analysis.lossless_effect import heat, share
from labkit.analysis.lossless_family import ACCEPTANCE, BONUS_TOKEN, OUTSIDE, RECOVERED, UNDRAFTED, Family
from labkit.analysis.lossless_pit import Tokens
from labkit.analysis.lossless_steps import BONUS, NOT_DRAFTED, UNKNOWN

__all__ = ["ORIGINS", "Origin", "origins"]

#: Every origin that can be named.
ORIGINS = {
    "temperature": "drafts are verified, and rejected ones replaced, at another temperature",
    "acceptance": "drafts are accepted with another probability than p(d)",
    "recovered": "the token that replaces a rejected draft comes from another law than p(x)/(1 - p(d)), x ≠ d",
    "verification": "tokens verified against drafts; which step of it, only known drafts could tell",
    "bonus": "the token after the last accepted draft",
    "top_k": "tokens that top_k and top_p exclude are drawn",
    "tail": "tokens beyond the 20 likeliest are drawn too often or too rarely",
    "undrafted": "tokens without drafts: the model, its weights or plain sampling, not speculation itself",
    "unlocated": "no single place in the step stands out",
}
#: A cause is named when its likelihood is so many times that of the next.
_CLEAR = 4.6  # log 100


@dataclass(frozen=True, kw_only=True)
class Origin:
    """``name`` is one of ORIGINS; ``detail`` is what was found of it; ``clear``: more tokens would not change it."""

    name: str
    detail: str
    clear: bool = True

    @property
    def words(self) -> str:
        return f"{ORIGINS[self.name]}: {self.detail}" if self.detail else ORIGINS[self.name]


def origins(rejected: Set[str], tokens: Tokens, family: Family) -> tuple[Origin, ...]:
    """The origins that the tests ``rejected`` point at; nothing where none is."""
    inside, found = tokens.where(tokens.inside), []
    if OUTSIDE in rejected:
        found.append(_outside(tokens))
    if BONUS_TOKEN in rejected:
        found.append(Origin(name="bonus", detail=_heat(inside.where(inside.place == BONUS))))
    if rejected & {ACCEPTANCE, RECOVERED} or any(name.startswith("position ") for name in rejected):
        found += _verification(rejected, tokens, family)
    if UNDRAFTED in rejected:
        found.append(Origin(name="undrafted", detail=_heat(inside.where(inside.place == NOT_DRAFTED))))
    if rejected and not found:
        found.append(Origin(name="unlocated", detail=_heat(inside), clear=bool((inside.place == UNKNOWN).all())))
    return tuple(found)


def _verification(rejected: Set[str], tokens: Tokens, family: Family) -> list[Origin]:
    checked = verified(tokens)
    if not family.drafts or not len(checked) or mistaken(tokens):
        inside = tokens.where(tokens.inside & (tokens.place > 0))
        return [Origin(name="verification", detail=_heat(inside))]
    replaced = recovered(checked).same
    same = share(int(replaced.sum()), len(replaced))
    drawn_from_p = same.low > MISTAKEN
    found = []
    if drawn_from_p:
        detail = f"{same.mid:.1%} of {len(replaced)} are the very draft that was rejected, as if drawn from p itself"
        found.append(Origin(name="recovered", detail=detail))
    if not drawn_from_p or ACCEPTANCE in rejected:
        found.append(_cause(checked))
    return found


def _cause(checked: Tokens) -> Origin:
    gain, factor = likeliest_cause(checked)
    first, second = sorted(gain, key=lambda name: -gain[name])[:2]
    detail = {
        "temperature": f"best explained by {factor['temperature']:.2f}·T",
        "acceptance": f"best explained by min(1, {factor['acceptance']:.2f}·p/q)",
        "recovered": f"best explained by {factor['recovered']:.2f}·T there alone",
    }[first]
    return Origin(name=first, detail=detail, clear=gain[first] - gain[second] > _CLEAR)


def _outside(tokens: Tokens) -> Origin:
    rate = f"{tokens.outside.mean():.2%} of {len(tokens)} tokens"
    return Origin(name="tail" if tokens.tail.any() else "top_k", detail=rate)


def _heat(tokens: Tokens) -> str:
    ratio = heat(tokens.logp, tokens.column)
    if ratio.low <= 1 <= ratio.high:
        return ""
    return f"they look like {ratio.mid:.2f}·T ({ratio.low:.2f} to {ratio.high:.2f})"
