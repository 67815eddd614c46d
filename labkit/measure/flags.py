"""What is wrong with a measurement, decided from counts alone. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from labkit.records import Counters, Flag, RequestRecord
from labkit.repetition import is_looping

__all__ = ["counter_state", "counter_flags", "censored", "contamination", "degeneration", "partial", "pace"]

CONTAMINATION_TOLERANCE = 0.02
#: Chunks per second that one labkit client process reads without falling behind
#: (``benchmarks/client_overhead.py``).
CLIENT_CHUNK_LIMIT = 10_000.0

_SPEC_SERIES = ("drafts", "draft_tokens", "accepted_tokens", "accepted_per_pos")


def counter_state(delta: Counters) -> str:
    """``ok``, or why there is no acceptance to speak of: ``reset``, ``absent``, ``not_enabled``,
    ``enabled_idle``, ``enabled_no_drafts``. Never "0 %"."""
    total = delta.total
    missing = [name for name in _SPEC_SERIES if getattr(total, name) is None]
    if any(value < 0 for engine in delta.per_engine.values() for value in engine.values()):
        return "reset"
    if total.generation_tokens is None or 0 < len(missing) < len(_SPEC_SERIES):
        return "absent"
    if missing:
        return "not_enabled"
    if total.drafts == 0:
        return "enabled_no_drafts" if total.generation_tokens else "enabled_idle"
    return "ok"


def counter_flags(delta: Counters, *, k: int | None = None) -> list[Flag]:
    """Flags of a counter delta; ``k`` the number of drafts a step may have, 0 for a baseline, for which
    ``not_enabled`` is as it should be."""
    state, total, flags = counter_state(delta), delta.total, []
    engines = delta.per_engine
    if state == "reset":
        back = [name for name, engine in engines.items() if any(value < 0 for value in engine.values())]
        flags.append(
            Flag(name="reset", reason=f"counters of engine {', '.join(back)} went backwards; discard this cell")
        )
    elif state == "absent":
        lacking = [n for n in (*_SPEC_SERIES, "generation_tokens") if getattr(total, n) is None]
        flags.append(Flag(name="absent", reason=f"the metrics page has no {', '.join(lacking)}"))
    elif state == "enabled_idle":
        flags.append(Flag(name="enabled_idle", reason="speculation is on and no token was generated"))
    elif state == "enabled_no_drafts":
        flags.append(
            Flag(
                name="enabled_no_drafts", reason=f"{total.generation_tokens} tokens were generated and none was drafted"
            )
        )
    elif state == "not_enabled" and k != 0:
        flags.append(Flag(name="not_enabled", reason="the server has no speculative counters: it does not speculate"))
    if len(engines) > 1 and state != "reset":
        idle = [name for name, engine in engines.items() if engine.generation_tokens == 0 or engine.drafts == 0]
        if idle and len(idle) < len(engines):
            flags.append(Flag(name="idle_engine", reason=f"engine {', '.join(idle)} of {len(engines)} did nothing"))
    if state == "ok" and (broken := total.broken_invariant(k)):
        flags.append(Flag(name="invariant", reason=broken))
    if delta.running or delta.waiting:
        flags.append(
            Flag(
                name="not_quiescent",
                reason=f"{delta.running or 0} running and {delta.waiting or 0} waiting requests at the snapshot",
            )
        )
    return flags


def censored(delta: Counters, records: Sequence[RequestRecord]) -> Flag | None:
    """Where only counters tell of acceptance and not every step drafted K tokens: p_i / p_(i-1) is then a lower bound
    of the conditional rate at i."""
    total = delta.total
    if counter_state(delta) != "ok" or any(r.per_step_accepted is not None for r in records):
        return None
    whole = len(total.accepted_per_pos or ()) * (total.drafts or 0)
    if total.draft_tokens == whole:
        return None
    return Flag(
        name="censored",
        reason=f"{total.drafts} steps drafted {total.draft_tokens} tokens of {whole}, and the server sends no steps",
    )


def contamination(delta: Counters, records: Sequence[RequestRecord]) -> Flag | None:
    """Whether the server generated tokens for others: more than 2 % beyond what this client received."""
    generated = delta.total.generation_tokens
    unknown = any(r.output_tokens is None and not r.error for r in records)
    if generated is None or generated < 0 or unknown:
        return None
    received = sum(r.output_tokens or 0 for r in records)  # a request that failed unanswered received none
    if abs(generated - received) <= CONTAMINATION_TOLERANCE * max(received, 1):
        return None
    return Flag(name="contaminated", reason=f"the server generated {generated} tokens, this client received {received}")


def partial(records: Sequence[RequestRecord]) -> Flag | None:
    failed = [r for r in records if r.error]
    if not failed:
        return None
    return Flag(name="partial", reason=f"{len(failed)} of {len(records)} requests failed; first: {failed[0].error}")


def degeneration(records: Sequence[RequestRecord]) -> Flag | None:
    looping = [r for r in records if is_looping(r)]
    if not looping:
        return None
    return Flag(
        name="degenerate",
        reason=f"{len(looping)} of {len(records)} outputs repeat themselves; headline figures leave them out",
    )


def pace(records: Sequence[RequestRecord], wall_seconds: float) -> Flag | None:
    chunks = sum(len(r.chunk_times) for r in records)
    rate = chunks / wall_seconds if wall_seconds else 0.0
    if rate <= CLIENT_CHUNK_LIMIT:
        return None
    return Flag(name="client_bound", reason=f"{rate:.0f} chunks/s; this client keeps up with {CLIENT_CHUNK_LIMIT:.0f}")
