"""Answers in vLLM 0.32's shapes: chunks of a stream, whole answers, per-request metrics.

Chunks are put together from text, because encoding JSON objects would cost more than the tokens.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from labkit.engine.simulated.model import VOCAB, Generation, Model, Step
from labkit.engine.simulated.requests import Call
from labkit.engine.simulated.text import decode, token_text

__all__ = ["DONE", "Stream", "prompt_logprobs", "spec_metrics", "whole_answer"]

DONE = "data: [DONE]\n\n"

_ESCAPED = [json.dumps(decode([i]))[1:-1] for i in range(VOCAB)]


class Stream:
    """The server-sent events of one streamed answer. Faults: ``reasoning``, ``no_usage``."""

    def __init__(self, call: Call, *, model: str, faults: Collection[str] = ()) -> None:
        self._call, self._reported = call, 0
        self._n_prompt = len(call.request.prompt)
        self._usage = call.usage and "no_usage" not in faults
        self._running_usage = call.running_usage and self._usage
        self._reasoning_tokens = call.request.max_tokens // 3 if call.chat and "reasoning" in faults else 0
        kind = "chat.completion.chunk" if call.chat else "text_completion"
        head = {"id": _new_id(call), "object": kind, "created": int(time.time()), "model": model}
        self._head = json.dumps(head)[1:-1]

    def opening(self) -> str:
        """The role-only chunk of a chat; nothing for a completion."""
        if not self._call.chat:
            return ""
        choice = '{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}'
        prompt = f'"prompt_token_ids":{self._prompt_ids()}'
        return f'data: {{{self._head},"choices":[{choice}]{self._usage_now()},{prompt}}}\n\n'

    def tokens(self, step: Step) -> str:
        """The chunk of one step."""
        text = "".join([_ESCAPED[token] for token in step.tokens])
        finish = f'"{step.finish_reason}"' if step.finish_reason else "null"
        ids = f"[{','.join(map(str, step.tokens))}]" if self._call.token_ids else "null"
        if self._call.chat:
            name = "reasoning" if self._reported < self._reasoning_tokens else "content"
            stop = ',"stop_reason":null' if step.finish_reason else ""
            choice = f'"delta":{{"{name}":"{text}"}},"logprobs":null,"finish_reason":{finish}{stop}'
        else:
            prompt = f'"prompt_token_ids":{"null" if self._reported else self._prompt_ids()}'
            choice = f'"text":"{text}","logprobs":null,"finish_reason":{finish},"stop_reason":null,{prompt}'
        self._reported += len(step.tokens)
        return f'data: {{{self._head},"choices":[{{"index":0,{choice},"token_ids":{ids}}}]{self._usage_now()}}}\n\n'

    def closing(self, generation: Generation, k: int) -> str:
        """The usage chunk, where it was asked for, and the end mark."""
        if not self._usage:
            return DONE
        metrics = f',"metrics":{json.dumps(_metrics(generation, k))}' if k else ""
        usage = json.dumps(_usage(self._n_prompt, self._reported))
        return f'data: {{{self._head},"choices":[],"usage":{usage}{metrics}}}\n\n{DONE}'

    def _prompt_ids(self) -> str:
        return json.dumps(list(self._call.request.prompt)) if self._call.token_ids else "null"

    def _usage_now(self) -> str:
        if not self._running_usage:
            return ""
        n, total = self._reported, self._n_prompt + self._reported
        return f',"usage":{{"prompt_tokens":{self._n_prompt},"total_tokens":{total},"completion_tokens":{n}}}'


def whole_answer(
    call: Call, generation: Generation, *, model: str, k: int, logprobs: list[Any] | None
) -> dict[str, Any]:
    """The body of an answer that is not streamed; ``logprobs`` as :func:`prompt_logprobs` gives them."""
    text, prompt = decode(generation.output), call.request.prompt
    choice: dict[str, Any] = {
        "index": 0,
        "logprobs": None,
        "finish_reason": generation.finish_reason,
        "stop_reason": None,
        "token_ids": generation.output if call.token_ids else None,
    }
    about_prompt = {"prompt_token_ids": list(prompt) if call.token_ids else None, "prompt_logprobs": logprobs}
    if call.chat:
        choice["message"] = {"role": "assistant", "content": text}
    else:
        choice |= {"text": text, **about_prompt}
    return {
        "id": _new_id(call),
        "object": "chat.completion" if call.chat else "text_completion",
        "created": int(time.time()),
        "model": model,
        "choices": [choice],
        "usage": _usage(len(prompt), len(generation.output)),
        **(about_prompt if call.chat else {}),
        "metrics": _metrics(generation, k) if k else None,
    }


def spec_metrics(drafted: Sequence[int], accepted: Sequence[int], k: int) -> dict[str, Any]:
    """``metrics.speculative_decoding`` from one count a drafted step, as vLLM's
    ``--per-request-spec-decode-metrics detailed`` gives it: the arrays are left out when they are empty."""
    steps, n_accepted, n_drafted = len(drafted), sum(accepted), sum(drafted)
    arrays = {"per_step_accepted": list(accepted), "per_step_drafted": list(drafted)} if steps else {}
    return {
        "mean_acceptance_length": 1 + n_accepted / steps if steps else 1.0,
        "draft_acceptance_rate": n_accepted / n_drafted if n_drafted else 0.0,
        "acceptance_histogram": np.bincount(np.asarray(accepted, dtype=np.intp), minlength=k + 1).tolist(),
        "num_spec_steps": steps,
        "num_accepted_draft_tokens": n_accepted,
        "num_draft_tokens": n_drafted,
        "num_spec_tokens": k,
        **arrays,
    }


def prompt_logprobs(model: Model, prompt: Sequence[int], n: int) -> list[dict[str, dict[str, Any]] | None]:
    """Per prompt token the raw log p of itself and of the ``n`` likeliest tokens; None for the first token."""
    rows = model.score(prompt)
    order = (-rows).argsort(axis=-1, kind="stable")
    rank = order.argsort(axis=-1) + 1

    def entry(i: int, token: int) -> dict[str, Any]:
        return {"logprob": float(rows[i, token]), "rank": int(rank[i, token]), "decoded_token": token_text(token)}

    reported = [(actual, *best) for actual, best in zip(prompt[1:], order[:, :n].tolist(), strict=True)]
    return [None, *({str(token): entry(i, token) for token in tokens} for i, tokens in enumerate(reported))]


def _metrics(generation: Generation, k: int) -> dict[str, Any]:
    return {"speculative_decoding": spec_metrics(generation.drafted, generation.accepted, k)}


def _usage(prompt: int, output: int) -> dict[str, int]:
    return {"prompt_tokens": prompt, "total_tokens": prompt + output, "completion_tokens": output}


def _new_id(call: Call) -> str:
    return f"{'chatcmpl' if call.chat else 'cmpl'}-{uuid.uuid4().hex}"
