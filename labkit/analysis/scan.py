"""The compiled loops of the replay: from one position to the next, for every request and every K.

*Conventions*: requests lie end to end; request r is ``starts[r]:starts[r + 1]`` of the flat arrays. ``drafted``
is what the drafter proposes where a step begins, before K cuts it. ``per_pos`` and ``reached`` are
[request, K asked, position], one position wider than the largest K; every output array arrives as zeros and is
filled. Nothing is checked here: :mod:`labkit.analysis.replay` does.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["scan", "recursion"]


@njit(cache=True, nogil=True)
def scan(runs, drafted, starts, ks, steps, draft_tokens, per_pos, reached):
    """Counts of the steps that a run length at every position leads to. ``per_pos[…, i]`` and
    ``reached[…, i]`` end as the steps that accepted at least i drafts, and that could have."""
    for r in range(len(starts) - 1):
        begin, n = starts[r], starts[r + 1] - starts[r]
        for j in range(len(ks)):
            k, s = ks[j], 0
            while s < n:
                proposed = min(drafted[begin + s], k)
                accepted = min(runs[begin + s], proposed, n - s)
                steps[r, j] += 1
                draft_tokens[r, j] += proposed
                per_pos[r, j, accepted] += 1
                reached[r, j, min(accepted + 1, proposed)] += 1
                s += accepted + 1
            for i in range(k - 1, -1, -1):  # from "exactly i" to "at least i"
                per_pos[r, j, i] += per_pos[r, j, i + 1]
                reached[r, j, i] += reached[r, j, i + 1]


@njit(cache=True, nogil=True)
def recursion(probs, drafted, starts, ks, steps, draft_tokens, per_pos, reached):
    """Expected counts where the draft token at position t is accepted with ``probs[t]``, independently:
    the probability that a step begins at s is carried forward over s. Index 0 of ``per_pos`` and
    ``reached``, all steps, is left at 0."""
    begins = np.zeros(np.max(np.diff(starts)) + 2)  # that a step begins here; the last may end one past n
    for r in range(len(starts) - 1):
        begin, n = starts[r], starts[r + 1] - starts[r]
        for j in range(len(ks)):
            begins[: n + 2] = 0
            begins[0] = 1
            for s in range(n):
                here = begins[s]  # and, further down, that all drafts so far were accepted
                if here == 0:
                    continue
                proposed = min(drafted[begin + s], ks[j])
                steps[r, j] += here
                draft_tokens[r, j] += here * proposed
                seen = min(proposed, n - s)
                for i in range(seen):
                    reached[r, j, i + 1] += here
                    accepted = here * probs[begin + s + i]
                    begins[s + i + 1] += here - accepted
                    per_pos[r, j, i + 1] += accepted
                    here = accepted
                begins[s + seen + 1] += here
                if proposed > seen:
                    reached[r, j, seen + 1] += here
