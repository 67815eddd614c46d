"""Run lengths of one output: how many drafts in a row a step would have accepted, wherever it began.

*Positions*: the first token of an output comes from prefill and is no decode step's. Position s, from 0, is the
output token s + 1, so an output of N tokens has n = N − 1 positions. A step that begins at s drafts for
s, s + 1, …; its run length r_s is the number of drafts in a row that are right, K unlimited, cut at the output's
end: 0 ≤ r_s ≤ n − s. Where the draft at a position does not depend on where the step began (a draft model that
is given the true prefix), r_s = r_(s+1) + 1 if the draft at s is right, else 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from labkit.errors import ConfigError

__all__ = ["StepRuns", "run_lengths_from_drafts", "run_lengths_from_steps", "whole_numbers"]


class StepRuns(NamedTuple):
    """Run lengths read from the steps of one run, and what of them is not known.

    ``unseen[s]``: whether the draft at s is right was not seen. ``censored[s]``: the run from s reaches such a
    position, so its length is a bound.
    """

    run_lengths: np.ndarray
    unseen: np.ndarray
    censored: np.ndarray


def run_lengths_from_drafts(output_ids: Sequence[int], draft_ids: Sequence[int]) -> np.ndarray:
    """Run lengths of an output whose drafter's choice is known at every token. ``draft_ids[t]`` is its argmax
    for token t after the output's own tokens before t; both start at the first generated token, whose draft is
    never used.

    Raises:
        ConfigError: no token, unequal lengths, or a negative id.
    """
    output, draft = whole_numbers(output_ids, "output ids"), whole_numbers(draft_ids, "draft ids")
    if not output.size:
        raise ConfigError("an output holds at least its first token; got none")
    if output.size != draft.size:
        raise ConfigError(f"every output token needs one draft token; got {output.size} and {draft.size}")
    for name, ids in (("output ids", output), ("draft ids", draft)):
        if ids.min() < 0:
            raise ConfigError(f"{name} must be ≥ 0; got {ids.min()} at token {ids.argmin()}")
    return _until(output[1:] != draft[1:])


def run_lengths_from_steps(
    accepted: Sequence[int], *, k: int, n: int, resolve: Literal["reject", "accept"]
) -> StepRuns:
    """Run lengths of an output of ``n`` positions from what each of its decode steps accepted, all of them with
    K = ``k`` drafts of one draft model.

    A step at s that accepted a < k saw a right drafts and a wrong one at s + a, where the recovered token stands;
    a step that accepted all k saw k right ones and nothing of its bonus token's position s + k, and the next
    begins behind it. ``resolve`` says what is taken for these: "reject" the draft is wrong, "accept" it is right.
    Steps, accepted, acceptance length and tokens per step of a replay with any K lie between those of the two;
    at K = ``k`` both give the run itself. The last step may have accepted beyond the output's end.

    Raises:
        ConfigError: a count outside 0…k, or steps that do not fit ``n`` positions.
    """
    a = whole_numbers(accepted, "accepted per step")
    if resolve not in ("reject", "accept"):
        raise ConfigError(f"resolve must be 'reject' or 'accept'; got {resolve!r}")
    if k < 1 or n < 0:
        raise ConfigError(f"K must be ≥ 1 and positions ≥ 0; got K = {k} and {n} positions")
    if a.size and not 0 <= a.min() <= a.max() <= k:
        raise ConfigError(f"a step of K = {k} accepts 0 to {k} drafts; got {a.min()} to {a.max()}")
    ends = np.cumsum(a + 1)
    begins = ends - a - 1
    if (ends[-1] if a.size else 0) < n:
        raise ConfigError(f"{a.size} steps explain {ends[-1] if a.size else 0} of {n} positions: some did not draft")
    if a.size and begins[-1] >= n:
        raise ConfigError(f"{a.size} steps are too many for {n} positions: the last begins at {begins[-1]}")
    wrong, unseen = np.zeros(n, bool), np.zeros(n, bool)
    stops = begins + a  # the position that ended each step: a wrong draft, or the bonus token
    inside = stops < n
    wrong[stops[inside & (a < k)]] = True
    unseen[stops[inside & (a == k)]] = True
    low, high = _until(wrong | unseen), _until(wrong)
    return StepRuns(low if resolve == "reject" else high, unseen, low < high)


def whole_numbers(values: Any, name: str) -> np.ndarray:
    """``values`` as a flat int64 array.

    Raises:
        ConfigError: they are no flat list of whole numbers.
    """
    try:
        array = np.asarray(values)
    except ValueError:  # lists of different lengths inside
        array = np.empty((0, 0))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ConfigError(f"{name} must be a flat list of whole numbers; got {values!r:.80}")
    return np.ascontiguousarray(array, dtype=np.int64)


def _until(stop: np.ndarray) -> np.ndarray:
    """From each position the number of positions before the next one where ``stop`` holds, or the end."""
    here = np.arange(stop.size)
    stops = np.where(stop, here, stop.size)
    return np.minimum.accumulate(stops[::-1])[::-1] - here
