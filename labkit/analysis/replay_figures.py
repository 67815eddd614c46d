"""The figures of a replay, for every K replayed, and their intervals.

*Conventions*: accepted excludes the bonus token. K runs over ``ks``; position i is 0-based in arrays, 1-based in
words. A figure is a ratio of sums over requests, never a mean of ratios, and NaN where there is nothing to
divide by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from labkit.analysis.acceptance import Acceptance
from labkit.analysis.bootstrap import Interval, draw_weights, interval_of
from labkit.errors import ConfigError

__all__ = ["Replay", "intervals", "prompt_weights"]

Weights = np.ndarray | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Replay:
    """What would have happened to each request at each K of ``ks``: whole numbers, or expectations.

    ``positions`` [request]; ``steps``, ``draft_tokens`` [request, K]; ``per_pos``, ``reached`` [request, K,
    position]: steps that accepted at least i + 1 drafts, and those that accepted i and drafted more. The figures
    are ratios of sums over requests, [K] (and [position]); with ``weights`` [sample, request], how often each
    request counts, they are [sample, K]. NaN where there is nothing to divide by.
    """

    ks: tuple[int, ...]
    positions: np.ndarray
    steps: np.ndarray
    draft_tokens: np.ndarray
    per_pos: np.ndarray
    reached: np.ndarray

    @property
    def drafted_steps(self) -> np.ndarray:
        """Steps with a draft [request, K]; ``ngram`` and ``suffix`` have others."""
        return self.reached[..., 0]

    @property
    def accepted(self) -> np.ndarray:
        """Accepted drafts [request, K]."""
        return self.per_pos.sum(axis=-1)

    def at(self, k: int) -> Acceptance:
        """The counts of one K, summed over requests.

        Raises:
            ConfigError: this K was not replayed.
        """
        if k not in self.ks:
            raise ConfigError(f"K = {k} was not replayed; these were: {', '.join(map(str, self.ks))}")
        j = self.ks.index(k)
        return Acceptance(
            steps=self.drafted_steps[:, j].sum().item(),
            drafted=self.draft_tokens[:, j].sum().item(),
            accepted=self.per_pos[:, j].sum().item(),
            per_pos=tuple(self.per_pos[:, j, :k].sum(axis=0).tolist()),
            reached=tuple(self.reached[:, j, :k].sum(axis=0).tolist()),
        )

    def mean_acceptance_length(self, weights: Weights = None) -> np.ndarray:
        """1 + accepted / drafted steps, with the bonus token."""
        return 1 + _ratio(_total(self.accepted, weights), _total(self.drafted_steps, weights))

    def acceptance_rate(self, weights: Weights = None) -> np.ndarray:
        """Accepted / drafted tokens. Falls as K grows: never rank K by it."""
        return _ratio(_total(self.accepted, weights), _total(self.draft_tokens, weights))

    def tokens_per_step(self, weights: Weights = None) -> np.ndarray:
        """Output positions / all decode steps, drafted or not: what speed follows."""
        return _ratio(_total(self.positions[:, None], weights), _total(self.steps, weights))

    def drafted_share(self, weights: Weights = None) -> np.ndarray:
        """Decode steps with a draft / all decode steps."""
        return _ratio(_total(self.drafted_steps, weights), _total(self.steps, weights))

    def joint(self, weights: Weights = None) -> np.ndarray:
        """p_i = P(at least i drafts accepted in a drafted step) [K, position]; NaN beyond K."""
        steps = _total(self.drafted_steps, weights)[..., None]
        beyond = np.arange(self.per_pos.shape[-1]) >= np.array(self.ks)[:, None]
        return np.where(beyond, np.nan, _ratio(_total(self.per_pos, weights), steps))

    def conditional(self, weights: Weights = None) -> np.ndarray:
        """c_i = #(accepted ≥ i) / #(accepted ≥ i − 1 and drafted ≥ i) [K, position]."""
        return _ratio(_total(self.per_pos, weights), _total(self.reached, weights))


def intervals(
    replayed: Replay, figure: Callable[[Replay, Weights], np.ndarray] = Replay.mean_acceptance_length, *,
    prompts: Sequence[str] | None = None, confidence: float = 0.95, seed: int = 0,
) -> list[Interval]:  # fmt: skip
    """``figure`` of each K with its bootstrap interval. Prompts are resampled, each with all its requests
    (``prompts[r]`` is that of request r; without, every request has its own); requests without a decode step
    are no evidence and leave theirs out."""
    weights, units = prompt_weights(replayed, prompts, seed=seed)
    samples = figure(replayed, weights)
    return [
        interval_of(mid, column, units=units, confidence=confidence)
        for mid, column in zip(figure(replayed, None), samples.T, strict=True)
    ]


def prompt_weights(replayed: Replay, prompts: Sequence[str] | None = None, *, seed: int = 0) -> tuple[np.ndarray, int]:
    """How often each request counts in each replicate [sample, request] as prompts are drawn, and how many
    prompts there are.

    Raises:
        ConfigError: not every request has its prompt.
    """
    known = replayed.positions > 0
    labels = np.array(prompts if prompts is not None else range(known.size))
    if labels.size != known.size:
        raise ConfigError(f"every request needs its prompt; got {known.size} requests and {labels.size} prompts")
    unit, prompt = np.unique(labels[known], return_inverse=True)
    if not unit.size:
        return np.zeros((1, known.size)), 0
    drawn = draw_weights(unit.size, seed=seed)
    weights = np.zeros((len(drawn), known.size))
    weights[:, known] = drawn[:, prompt]
    return weights, unit.size


def _total(counts: np.ndarray, weights: Weights) -> np.ndarray:
    return counts.sum(axis=0) if weights is None else np.tensordot(weights, counts, axes=1)


def _ratio(over: np.ndarray, under: np.ndarray) -> np.ndarray:
    over, under = np.broadcast_arrays(over, under)
    return np.divide(over, under, out=np.full(under.shape, np.nan), where=under > 0)
