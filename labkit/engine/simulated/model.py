"""vLLM's speculative sampling on a target and a drafter that are known exactly.

Speculative sampling is Algorithm 1 of Leviathan et al. 2023, "Fast Inference from Transformers via
Speculative Decoding": a draft d is accepted with probability min(1, p(d)/q(d)); the first rejected one is
replaced by a token from the residual (p - q)+; after the last accepted one comes a bonus token from p.  A
greedy draft (vLLM's default) or one that was looked up is a q that is 1 at d.

*Conventions*: p and q are those of ``tables.Model``; ``top_k`` and ``top_p`` restrict p before
anything else.  No I/O, no clock.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from labkit.engine.simulated.drafts import Speculation, lookup
from labkit.engine.simulated.tables import ONE_HOT, PERIOD, Model
from labkit.engine.simulated.text import EOS, VOCAB, decode, encode

__all__ = [
    "EOS", "FAULTS", "MAX_MODEL_LEN", "VOCAB", "Generation", "Model", "Request", "Speculation", "Step",
    "decode", "encode", "lookup",
]  # fmt: skip

#: Losses of losslessness that can be planted (``Simulation.faults``). They touch steps that verify drafts
#: and no others, so never the baseline.
FAULTS = {
    "temperature": "drafts are verified, and rejected ones replaced, at 1.1·T",
    "bonus_temperature": "the bonus token is sampled at 1.5·T",
    "recovered_from_p": "a rejected draft is replaced from p, not from the residual (p - q)+",
    "acceptance": "drafts are accepted with probability min(1, 1.2·p/q)",
    "ignore_top_k": "top_k is not applied",
}
MAX_MODEL_LEN = 32768

Origin = Literal["plain", "accepted", "recovered", "bonus"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a text depends on. ``prompt`` has at least one token; ``top_k`` 0 is off."""

    prompt: Sequence[int]
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int | None = None
    max_tokens: int = 16
    ignore_eos: bool = False


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one forward pass of the target gave: ``tokens`` after EOS or max_tokens cut them, ``drafted``
    and ``accepted`` from before the cut, as vLLM counts. ``origins`` has one entry a token;
    ``finish_reason`` is set on the last step."""

    tokens: list[int]
    origins: list[Origin]
    drafted: int
    accepted: int
    finish_reason: Literal["stop", "length"] | None


class Generation:
    """One request being generated: iterating yields one :class:`Step` after the other until it is finished.

    The first token comes from the prefill, without drafts.  Tokens depend on the model's seed and the
    :class:`Request` alone, not on what else runs.  ``drafted`` and ``accepted`` hold one count for each step
    that had drafts.
    """

    def __init__(
        self, model: Model, request: Request, speculation: Speculation | None = None, faults: Collection[str] = ()
    ) -> None:
        self.request = request
        self.finish_reason: Literal["stop", "length"] | None = None
        self.drafted: list[int] = []
        self.accepted: list[int] = []
        self._model, self._speculation, self._faults = model, speculation, frozenset(faults)
        self._ids = bytearray(request.prompt)
        self._rng = _generator(model.seed, request)

    @property
    def output(self) -> list[int]:
        return list(self._ids[len(self.request.prompt) :])

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Step:
        if self.finish_reason:
            raise StopIteration
        drafts, q = self._draft()
        tokens, origins = self._verify(drafts, q, self._target(drafts))
        accepted = origins.count("accepted")
        if drafts:
            self.drafted.append(len(drafts))
            self.accepted.append(accepted)
        kept = self._append(tokens)
        return Step(
            tokens=tokens[:kept],
            origins=origins[:kept],
            drafted=len(drafts),
            accepted=accepted,
            finish_reason=self.finish_reason,
        )

    def _draft(self) -> tuple[list[int], np.ndarray]:
        """Draft tokens and, for each, the row q it was drawn from."""
        spec, start = self._speculation, len(self._ids)
        if spec is None or start == len(self.request.prompt):
            return [], ONE_HOT[:0]
        k = min(spec.k, MAX_MODEL_LEN - start)
        if spec.probabilistic and not spec.lookup:
            return self._draft_from_q(k)
        if spec.lookup:
            drafts = lookup(self._ids, k, *spec.lookup)
        else:
            drafts, last = [], self._ids[-1]
            for position in range(start, start + k):
                last = int(self._model.draft_argmax[last, position % PERIOD])
                drafts.append(last)
        return drafts, ONE_HOT[drafts]

    def _draft_from_q(self, k: int) -> tuple[list[int], np.ndarray]:
        drafts, rows = [self._ids[-1]], []
        for position in range(len(self._ids), len(self._ids) + k):
            rows.append(self._model.q(drafts[-1:], position, temperature=self.request.temperature)[0])
            drafts.append(self._sample(rows[-1]))
        return drafts[1:], np.asarray(rows)

    def _target(self, drafts: list[int]) -> np.ndarray:
        """Rows p: one for each draft and one for the token after them."""
        asked, faults, n = self.request, self._faults if drafts else frozenset(), len(drafts)
        previous, start = [self._ids[-1], *drafts], len(self._ids)
        top_k = 0 if "ignore_top_k" in faults else asked.top_k

        def rows(first: int, last: int, factor: float = 1.0) -> np.ndarray:
            heat = factor * asked.temperature
            return self._model.p(previous[first:last], start + first, temperature=heat, top_p=asked.top_p, top_k=top_k)

        if not faults:
            return rows(0, n + 1)
        verified = rows(0, n, 1.1 if "temperature" in faults else 1.0)
        return np.concatenate([verified, rows(n, n + 1, 1.5 if "bonus_temperature" in faults else 1.0)])

    def _verify(self, drafts: list[int], q: np.ndarray, p: np.ndarray) -> tuple[list[int], list[Origin]]:
        """The accepted drafts and the target's own token after them."""
        boost = 1.2 if "acceptance" in self._faults else 1.0
        for i, draft in enumerate(drafts):
            if self._rng.random() < boost * p[i, draft] / q[i, draft]:
                continue
            residual = p[i] if "recovered_from_p" in self._faults else np.maximum(p[i] - q[i], 0)
            return [*drafts[:i], self._sample(residual)], [*["accepted"] * i, "recovered"]
        return [*drafts, self._sample(p[-1])], [*["accepted"] * len(drafts), "bonus" if drafts else "plain"]

    def _sample(self, weights: np.ndarray) -> int:
        """A token with probability proportional to ``weights``."""
        cumulative = weights.cumsum()
        return int(cumulative.searchsorted(self._rng.random() * cumulative[-1], side="right"))

    def _append(self, tokens: list[int]) -> int:
        """Append tokens up to the end of the request; returns how many."""
        limit = min(len(self.request.prompt) + self.request.max_tokens, MAX_MODEL_LEN)
        for kept, token in enumerate(tokens, start=1):
            self._ids.append(token)
            if token == EOS and not self.request.ignore_eos:
                self.finish_reason = "stop"
            elif len(self._ids) >= limit:
                self.finish_reason = "length"
            if self.finish_reason:
                return kept
        return len(tokens)


def _generator(engine_seed: int, request: Request) -> np.random.Generator:
    sampling = (float(request.temperature), float(request.top_p), request.top_k, request.seed)
    key = hashlib.sha256(repr((engine_seed, bytes(request.prompt), sampling)).encode()).digest()
    return np.random.default_rng(int.from_bytes(key[:16]))
