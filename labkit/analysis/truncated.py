"""Every K from the steps of one run at a larger K, where drafts depend on how deep in a step they stand (EAGLE).

A step that accepted a drafts with K would have accepted min(a, k) with k ≤ K. Where the next step begins moves, so
what comes out for k < K is approximate: it takes steps begun at other positions to be like those that were seen. At
k = K it is the run itself. The last step of an output may have accepted beyond its end, which counts as accepted and
as no position.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from labkit.analysis.replay import checked_ks
from labkit.analysis.replay_figures import Replay
from labkit.errors import ConfigError

__all__ = ["Steps", "truncated"]


class Steps(NamedTuple):
    """Of one output with ``positions`` after the first token: accepted and drafted tokens of its drafted steps, and
    how many others there were."""

    accepted: Sequence[int]
    drafted: Sequence[int]
    positions: int
    undrafted: int = 0


def truncated(outputs: Sequence[Steps], ks: Sequence[int], *, k: int) -> Replay:
    """Expected counts at every K of ``ks`` from outputs drafted with K = ``k``.

    Raises:
        ConfigError: there is no output, or a K above ``k``.
    """
    ks = checked_ks(ks)
    if ks[-1] > k:
        raise ConfigError(f"steps of K = {k} say nothing of K = {ks[-1]}; measure that K, or ask up to {k}")
    if not outputs:
        raise ConfigError("no output to replay")
    shape = (len(outputs), len(ks))
    steps, drafts = np.zeros(shape), np.zeros(shape)
    per_pos, reached = np.zeros((*shape, ks[-1])), np.zeros((*shape, ks[-1]))
    for r, output in enumerate(outputs):
        a, d = np.asarray(output.accepted, int), np.asarray(output.drafted, int)
        inside = _inside(a, output)
        for j, cut in enumerate(ks):
            accepted, proposed = np.minimum(a, cut), np.minimum(d, cut)
            covered = output.undrafted + int((np.minimum(inside, cut) + 1).sum())
            scale = output.positions / covered if covered else 0.0  # the output is as long whatever K is
            steps[r, j], drafts[r, j] = scale * (len(a) + output.undrafted), scale * proposed.sum()
            depth = np.arange(1, cut + 1)[:, None]
            per_pos[r, j, :cut] = scale * (accepted >= depth).sum(axis=1)
            reached[r, j, :cut] = scale * ((accepted >= depth - 1) & (proposed >= depth)).sum(axis=1)
    positions = np.array([output.positions for output in outputs])
    return Replay(ks=ks, positions=positions, steps=steps, draft_tokens=drafts, per_pos=per_pos, reached=reached)


def _inside(accepted: np.ndarray, output: Steps) -> np.ndarray:
    """``accepted`` without what the last step accepted beyond the output's end."""
    beyond = output.undrafted + int((accepted + 1).sum()) - output.positions
    inside = accepted.copy()
    if inside.size:
        inside[-1] -= min(max(beyond, 0), inside[-1])
    return inside
