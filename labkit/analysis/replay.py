"""Replay: one trace, every K. From run lengths, or from acceptance probabilities, to the steps of each K.

*Conventions*: arrays hold one entry per output position after the first token, which prefill produces (see
:mod:`labkit.analysis.run_lengths`). ``drafted[s]`` is the number of tokens the drafter proposes where a step
begins at s; without it, and wherever it is larger, a step proposes K. Accepted excludes the bonus token and is
cut at the output's end; proposed is not, as in vLLM's counters, so a draft past the end counts as drafted and
not accepted. (vLLM also counts drafts accepted past the end, fewer than K per request.)

A drafter whose choice depends on how deep in a step it is (EAGLE) has no run lengths of its own: what comes out
for it is approximate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from labkit.analysis.replay_figures import Replay, intervals
from labkit.analysis.run_lengths import whole_numbers
from labkit.analysis.scan import recursion, scan
from labkit.errors import ConfigError

__all__ = ["MAX_K", "Replay", "replay", "replay_expected", "intervals", "checked_ks"]

#: Arrays grow with the square of K; drafts this long are of no use anywhere.
MAX_K = 128


def replay(
    runs: Sequence[Any], ks: Sequence[int], *, drafted: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
) -> Replay:  # fmt: skip
    """The exact steps of each K of ``ks`` from each request's run lengths r_s, cut to what is left of the output:
    s = 0; while s < n: a = min(r_s, K, drafted_s); s += a + 1. An entry of ``drafted`` may be None: a draft of K
    at every step. ``names`` names the requests in errors.

    Raises:
        ConfigError: no request, K < 1, unequal lengths, or a run length or a proposal that cannot be.
    """
    names = _named(runs, names)
    arrays = [whole_numbers(run, f"{name}: run lengths") for run, name in zip(runs, names, strict=True)]
    starts = _starts(arrays)
    flat = np.concatenate(arrays)
    left = np.repeat(starts[1:], np.diff(starts)) - np.arange(flat.size)
    _refuse((flat < 0) | (flat > left), starts, names,
            lambda i: f"a run length lies between 0 and the {left[i]} positions left; got {flat[i]}")  # fmt: skip
    return _replayed(scan, flat, starts, ks, drafted, names)


def replay_expected(
    probs: Sequence[Any], ks: Sequence[int], *, drafted: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
) -> Replay:  # fmt: skip
    """The expected steps of each K where the draft token at position s is accepted with ``probs[s]`` if all
    before it in the step were (probabilistic drafting); else as :func:`replay`.

    Raises:
        ConfigError: as :func:`replay`, or a probability outside 0…1.
    """
    names = _named(probs, names)
    arrays = [_reals(prob, f"{name}: probabilities") for prob, name in zip(probs, names, strict=True)]
    starts = _starts(arrays)
    flat = np.concatenate(arrays)
    _refuse(~((flat >= 0) & (flat <= 1)), starts, names,
            lambda i: f"a probability lies between 0 and 1; got {flat[i]}")  # fmt: skip
    return _replayed(recursion, flat, starts, ks, drafted, names)


def checked_ks(ks: Sequence[int]) -> tuple[int, ...]:
    """The values of K to replay, ascending, each once.

    Raises:
        ConfigError: there is none, or one is outside 1…MAX_K.
    """
    asked = whole_numbers(list(ks), "K")
    wrong = asked[(asked < 1) | (asked > MAX_K)]
    if wrong.size or not asked.size:
        got = wrong[0] if wrong.size else "none"
        raise ConfigError(f"K must lie between 1 and {MAX_K} (K = 0, the baseline, needs no replay); got {got}")
    return tuple(sorted(set(asked.tolist())))


def _replayed(
    loop: Callable[..., None], flat: np.ndarray, starts: np.ndarray, ks: Sequence[int],
    drafted: Sequence[Any] | None, names: Sequence[str],
) -> Replay:  # fmt: skip
    """Run ``loop`` over checked arrays; its counts are whole numbers or not as ``flat`` is."""
    ks, requests = checked_ks(ks), len(starts) - 1
    counts = [np.zeros((requests, len(ks)), flat.dtype) for _ in range(2)]
    by_position = [np.zeros((requests, len(ks), ks[-1] + 1), flat.dtype) for _ in range(2)]
    loop(flat, _proposed(drafted, starts, names), starts, np.array(ks, dtype=np.int64), *counts, *by_position)
    steps, draft_tokens = counts
    per_pos, reached = (array[..., 1:] for array in by_position)
    return Replay(
        ks=ks, positions=np.diff(starts), steps=steps, draft_tokens=draft_tokens, per_pos=per_pos, reached=reached
    )


def _proposed(drafted: Sequence[Any] | None, starts: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Proposals end to end; MAX_K where every step has a draft of K."""
    lengths = np.diff(starts)
    if drafted is None:
        return np.full(starts[-1], MAX_K, dtype=np.int64)
    if len(drafted) != len(lengths):
        raise ConfigError(f"every request needs its proposals, or None; got {len(drafted)} for {len(lengths)} requests")
    arrays = []
    for given, length, name in zip(drafted, lengths, names, strict=True):
        array = np.full(length, MAX_K) if given is None else whole_numbers(given, f"{name}: drafted")
        if array.size != length:
            raise ConfigError(f"{name}: every position needs one proposal; got {length} positions and {array.size}")
        arrays.append(array)
    flat = np.concatenate(arrays)
    _refuse(flat < 0, starts, names, lambda i: f"drafted is the number of tokens proposed, ≥ 0; got {flat[i]}")
    return flat


def _named(requests: Sequence[Any], names: Sequence[str] | None) -> Sequence[str]:
    if not len(requests):
        raise ConfigError("no request to replay")
    return names or [f"request {r}" for r in range(len(requests))]


def _starts(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum([array.size for array in arrays])]).astype(np.int64)


def _refuse(wrong: np.ndarray, starts: np.ndarray, names: Sequence[str], why: Callable[[int], str]) -> None:
    if wrong.any():
        i = int(wrong.argmax())
        r = int(np.searchsorted(starts, i, side="right")) - 1
        raise ConfigError(f"{names[r]}, position {i - starts[r]}: {why(i)}")


def _reals(values: Any, name: str) -> np.ndarray:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError):
        array = np.empty((0, 0))
    if array.ndim != 1:
        raise ConfigError(f"{name} must be a flat list of numbers; got {values!r:.80}")
    return array
