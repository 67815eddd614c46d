"""What speaks against a setting whatever its speed: an audit that found a fault, answers that are valid less often.

*Conventions*: an audit holds for every K of its drafter on the same side of T = 0, since one piece of code verifies
them all; of several a fault counts before all others, a refusal last. A task guard holds for its own setting alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from labkit.analysis.guarded import Guarded
from labkit.analysis.recommend import Candidate
from labkit.audited import FAULT, NOTHING_FOUND, REFUSED, Audited

__all__ = ["NOT_AUDITED", "Evidence", "Setting", "audit_of", "objections", "said_of", "weighed"]

#: (drafter, K, temperature, concurrency)
Setting = tuple[str, int, float, int]
NOT_AUDITED = "Not audited: 'labkit audit RUN' tells whether it changes the text."
_COUNTS_FIRST = (FAULT, NOTHING_FOUND, REFUSED)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What audits and task guards found in a run."""

    audits: Sequence[Audited] = ()
    guards: Sequence[Guarded] = ()


def weighed(candidates: Sequence[Candidate], evidence: Evidence) -> list[Candidate]:
    """``candidates`` with what speaks against each, and with what audits say of it."""
    return [
        replace(
            c,
            objections=objections((c.drafter, c.k, c.temperature, c.concurrency), evidence),
            audit=_audit_words(c.drafter, c.temperature, evidence.audits),
        )
        for c in candidates
    ]


def said_of(setting: Setting, evidence: Evidence) -> tuple[str, ...]:
    """What is known of the losslessness of ``setting``, in sentences."""
    drafter, _, temperature, _ = setting
    against = (f"Do not switch it on: {reason}." for reason in objections(setting, evidence))
    return (_audit_words(drafter, temperature, evidence.audits), *against)


def objections(setting: Setting, evidence: Evidence) -> tuple[str, ...]:
    """Why ``setting`` must not be switched on; nothing where nothing speaks against it."""
    drafter, _, temperature, _ = setting
    found, said = audit_of(drafter, temperature, evidence.audits), []
    if found is not None and found.verdict == FAULT:
        said.append(f"an audit at T = {found.temperature:g} found that it changes the text ({found.why[0]})")
    for g in evidence.guards:
        if (g.drafter, g.k, g.temperature, g.concurrency) == setting and g.guard.disqualified:
            drop = f"{g.guard.without.mid:.0%} without speculation, {g.guard.with_speculation.mid:.0%} with it"
            said.append(f"its answers are valid {g.guard.check} less often ({drop}, {g.guard.prompts} prompts)")
    return tuple(said)


def audit_of(drafter: str, temperature: float, audits: Sequence[Audited]) -> Audited | None:
    """The audit that counts for ``drafter`` at ``temperature``; of equal verdicts the nearest."""
    own = [a for a in audits if a.drafter == drafter and (a.temperature > 0) == (temperature > 0)]
    return min(own, key=lambda a: (_COUNTS_FIRST.index(a.verdict), abs(a.temperature - temperature), a.k), default=None)


def _audit_words(drafter: str, temperature: float, audits: Sequence[Audited]) -> str:
    found = audit_of(drafter, temperature, audits)
    if found is None:
        return NOT_AUDITED
    where = f"The audit at T = {found.temperature:g} (K = {found.k}, {found.tokens} tokens)"
    if found.verdict == NOTHING_FOUND:
        return f"{where} found no fault."
    return f"{where} {'found a fault' if found.verdict == FAULT else 'could say nothing'}: {found.why[0]}."
