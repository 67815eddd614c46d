"""Speed of a K that was not measured: a replay's tokens per step over the cost model's step time.

    TPOT(K) = t(B, K) / tokens per step        speedup = t(B, 0) / TPOT(K)

t is the cost model's step time, where drafts are made on a share f of a request's steps. The interval holds two
errors: requests are resampled, which moves tokens per step and f together; and the fit is as wrong as it was on
cells left out of it, a factor exp(σ·t) with σ the root mean square of those errors and t of Student's distribution
with as many degrees of freedom as there are errors: σ is not well known from a few.

*Conventions*: seconds; B is the mean running batch, the same with and without speculation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labkit.analysis.bootstrap import Interval, interval_of
from labkit.analysis.cost import CostModel
from labkit.analysis.replay_figures import Replay, prompt_weights
from labkit.errors import ConfigError

__all__ = ["Yield", "Prediction", "predict", "yields"]

#: Student's tails with few degrees of freedom leave the range of floats; no quantile in use lies beyond this.
_WILD = 20.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Yield:
    """What the steps of a drafter at one K give: the figures over all requests, and one entry per replicate of
    resampled requests, the two arrays drawn together. ``units``: how many prompts were resampled."""

    tokens_per_step: float
    drafted_share: float = 1.0
    tokens_per_step_replicates: np.ndarray
    drafted_share_replicates: np.ndarray
    units: int

    def __post_init__(self) -> None:
        tokens, shares = np.shape(self.tokens_per_step_replicates), np.shape(self.drafted_share_replicates)
        if tokens != shares or len(tokens) != 1:
            raise ConfigError(f"every replicate needs tokens per step and drafted share; got {tokens} and {shares}")


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """Predicted TPOT and speedup. ``fit_error`` is the relative error of the fit on ``spared`` cells left out of
    it; None where none could be: the intervals then hold the sampling error only, and ``caution`` says so, as it does
    where a single cell could be spared."""

    drafter: str
    k: int
    batch: float
    tpot: Interval
    speedup: Interval
    fit_error: float | None
    spared: int
    caution: str = ""


def predict(
    model: CostModel, drafter: str, k: int, batch: float, given: Yield, *, confidence: float = 0.95, seed: int = 0
) -> Prediction:
    """Predicted TPOT and speedup of ``drafter`` with K = ``k`` at a running batch.

    Raises:
        PredictionError: the measured cells do not determine the step time; says which cell to measure.
    """
    plain = model.step_seconds(None, 0, batch)
    shares = np.append(given.drafted_share, given.drafted_share_replicates)
    tokens = np.append(given.tokens_per_step, given.tokens_per_step_replicates)
    per_token = model.step_seconds(drafter, k, batch, drafted_share=shares) / tokens
    mid, sampled = float(per_token[0]), per_token[1:]
    error, spared = model.error(drafter, batch), len(model.errors(drafter, batch))
    noise = np.random.default_rng([seed, 1]).standard_t(max(spared, 1), sampled.size)  # no stream that drew requests
    replicates = sampled * np.exp(np.clip((error or 0.0) * noise, -_WILD, _WILD))
    return Prediction(
        drafter=drafter,
        k=k,
        batch=batch,
        tpot=interval_of(mid, replicates, units=given.units, confidence=confidence),
        speedup=interval_of(plain / mid, plain / replicates, units=given.units, confidence=confidence),
        fit_error=error,
        spared=spared,
        caution=_caution(model, drafter, batch),
    )


def yields(replayed: Replay, prompts: Sequence[str], *, seed: int = 0) -> list[Yield]:
    """What a replay gives at each of its K; prompts are resampled, each with all its requests (``prompts`` names
    that of each)."""
    weights, units = prompt_weights(replayed, prompts, seed=seed)
    per_step, share = replayed.tokens_per_step(), replayed.drafted_share()
    per_step_replicates, share_replicates = replayed.tokens_per_step(weights), replayed.drafted_share(weights)
    return [
        Yield(
            tokens_per_step=float(per_step[j]),
            drafted_share=float(share[j]),
            tokens_per_step_replicates=per_step_replicates[:, j],
            drafted_share_replicates=share_replicates[:, j],
            units=units,
        )
        for j in range(len(replayed.ks))
    ]


def _caution(model: CostModel, drafter: str, batch: float) -> str:
    if wanted := model.next_cell(drafter, batch):
        return f"no error estimate: the interval holds the sampling error only; measure {wanted.label}"
    return "the error estimate rests on a single cell" if len(model.errors(drafter, batch)) == 1 else ""
