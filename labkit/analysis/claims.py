"""Claimed and measured: the own figure that stands nearest to a published one, and what of the two may be compared.

A ratio (speedup, acceptance, tokens per step) says something about another machine too, so it is "partly" comparable,
with the conditions that differ named; absolute speeds are not, unless target and conditions are the same. The own
figure comes from the cell that differs in the fewest of the claim's conditions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan

from labkit.analysis import acceptance
from labkit.analysis.bootstrap import Interval
from labkit.analysis.cell_figures import divergence
from labkit.analysis.matching import cell_name
from labkit.analysis.pairs import Key, Pairs, paired
from labkit.analysis.speedup import cell_tpot, speedup
from labkit.records import Measurement, RequestRecord
from labkit.references import Claim, Reference
from labkit.repetition import is_looping

__all__ = ["Standing", "set_beside", "step_arithmetic"]

_RATIOS = {"speedup", "acceptance_rate", "tokens_per_step", "greedy_agreement"}


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A claim and the ``own`` figure beside it (NaN where there is none), the cell that one comes from, whether the two
    may be compared ("yes", "partly", "no"), and what stands against it or is to be minded, in words."""

    reference: Reference
    claim: Claim
    own: Interval
    cell: str
    comparable: str
    why: tuple[str, ...]


def set_beside(
    references: Sequence[Reference], measurements: Sequence[Measurement], *, confidence: float = 0.95
) -> list[Standing]:
    """The own figure beside each claim of ``references``, in their order."""
    cells = paired(measurements)
    gains = {key: speedup(_blocks(pairs)).interval.mid for key, pairs in cells.items()}
    return [
        _standing(reference, claim, cells, gains, confidence) for reference in references for claim in reference.claims
    ]


def step_arithmetic(claim: Claim) -> str:
    """What a step that a claim tells of really yields; "" without one."""
    if not (step := claim.step):
        return ""
    counted = step.accepted * step.baseline_milliseconds / step.milliseconds
    return (
        f"accepting {step.accepted} of {step.drafted} drafts yields {step.tokens} tokens, not {step.accepted}: the "
        f"target adds one of its own; so {step.tokens * step.baseline_milliseconds:g} against {step.milliseconds:g} ms "
        f"is {step.speedup:.1f}×, not {counted:.1f}×"
    )


def _standing(
    reference: Reference, claim: Claim, cells: Mapping[Key, Pairs], gains: Mapping[Key, float], confidence: float
) -> Standing:
    key = _nearest(claim, gains)
    own, categories = _own(claim, cells[key], confidence) if key else (Interval(mid=nan, low=nan, high=nan), [])
    differing = _differing(claim, key, cells[key][0][1].cell.target, categories) if key else []
    comparable, why = _judged(claim, own, key, differing)
    return Standing(
        reference=reference,
        claim=claim,
        own=own,
        cell="" if isnan(own.mid) else cell_name(_baseline(key) if _of_baseline(claim) else key),
        comparable=comparable,
        why=tuple(filter(None, [*why, step_arithmetic(claim), claim.remark])),
    )


def _of_baseline(claim: Claim) -> bool:
    return claim.figure.startswith("baseline")


def _baseline(key: Key) -> Key:
    return ("baseline", None, 0, key[3], key[4])


def _nearest(claim: Claim, gains: Mapping[Key, float]) -> Key | None:
    """The speculative cell that differs in the fewest of the claim's conditions, of equal ones the fastest (who claims
    shows a good setting); None where none has its method."""
    given = claim.given
    same = [key for key in gains if given.method in (None, key[1])]
    if claim.figure == "other" or not same:
        return None

    def distance(key: Key) -> tuple[int, float, float]:
        asked = [(given.k, key[2]), (given.temperature, key[3]), (given.concurrency, key[4])]
        off = [abs(own - wanted) for wanted, own in asked if wanted is not None]
        return sum(value > 0 for value in off), sum(off), -gains[key] if gains[key] > 0 else 0.0

    return min(same, key=distance)


def _differing(claim: Claim, key: Key, target: str, categories: Sequence[str]) -> list[str]:
    """Which of the claim's conditions the own cell does not have, and which the source leaves open, in words."""
    given = claim.given
    asked = [("K", given.k, key[2]), ("T", given.temperature, key[3]), ("users", given.concurrency, key[4])]
    asked = asked[_of_baseline(claim) :]  # a baseline has no K
    found = [f"{name} = {own:g}, not {wanted:g}" for name, wanted, own in asked if wanted not in (None, own)]
    if given.target not in (None, target):
        found.append(f"another target ({target}, not {given.target}) on another machine")
    if given.categories and set(categories) != set(given.categories):
        found.append(f"other prompts ({', '.join(categories)}, not {', '.join(given.categories)})")
    left_open = [name for name, wanted, _ in asked if wanted is None]
    return found + ([f"the source leaves {' and '.join(left_open)} open"] if left_open else [])


def _judged(claim: Claim, own: Interval, key: Key | None, differing: Sequence[str]) -> tuple[str, Sequence[str]]:
    if claim.figure == "other":
        return "no", []
    if isnan(own.mid):
        return "no", [f"no {claim.given.method or 'such cell'} was measured here"]
    if not differing:
        return "yes", []
    other_k = claim.figure == "acceptance_rate" and claim.given.k not in (None, key[2])  # it falls as K grows
    return ("partly" if claim.figure in _RATIOS and not other_k else "no"), differing


def _own(claim: Claim, pairs: Pairs, confidence: float) -> tuple[Interval, list[str]]:
    """The own figure on the claim's kinds of prompt where there are such, else on all; and on which it is."""
    known = sorted({r.category for _, own in pairs for r in own.records})
    categories = [c for c in known if c in claim.given.categories] or known
    blocks = _blocks(pairs, categories)
    if claim.figure == "speedup":
        return speedup(blocks, confidence=confidence).interval, categories
    if claim.figure == "greedy_agreement":
        mid = 1 - divergence(blocks) if all(own.cell.sampling.temperature == 0 for _, own in pairs) else nan
    else:
        arm = 0 if _of_baseline(claim) else 1
        records = [r for pair in blocks for r in pair[arm] if not r.error and not is_looping(r)]
        mid = _value(claim.figure.removeprefix("baseline_"), records)
    return Interval(mid=mid, low=nan, high=nan), categories


def _blocks(pairs: Pairs, categories: Collection[str] | None = None) -> list[tuple[list[RequestRecord], ...]]:
    return [tuple([r for r in m.records if categories is None or r.category in categories] for m in p) for p in pairs]


def _value(figure: str, records: Sequence[RequestRecord]) -> float:
    if figure == "acceptance_rate":
        found = acceptance.from_records(records)
        return found.rate if found else nan
    if figure == "tokens_per_step":
        return acceptance.tokens_per_step(records)
    per_token = cell_tpot(records)
    if figure == "tokens_per_second":
        return 1 / per_token if per_token > 0 else nan
    written = [(r.output_tokens, len(r.text)) for r in records if r.output_tokens and r.text]
    characters = sum(length for _, length in written)
    return 1000 * per_token * sum(tokens for tokens, _ in written) / characters if characters else nan
