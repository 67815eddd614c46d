"""One streamed chat request, and what the client saw of it.

The ``openai`` client sends the request and reports its errors; the event stream is read line by line,
because building its chunk objects would cost more than a fast server's tokens.  Tokens are counted from
``usage`` and, per chunk, from the token ids or the running usage that vLLM sends along; a chunk is never
taken for a token.  Nothing is retried: a failed request is a record with ``error``.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any, Self

import httpx
import openai

from labkit.importers import Prompt
from labkit.records import RequestRecord

__all__ = ["Client", "StreamReader"]

_NO_KEY = "none"  # vLLM without --api-key accepts any; the openai client insists on one


class Client:
    """Requests to one server. ``deadline`` bounds each request in seconds."""

    def __init__(self, url: str, model: str, *, api_key: str | None = None, deadline: float = 600.0) -> None:
        self.model, self.deadline = model, deadline
        unlimited = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        self._openai = openai.AsyncOpenAI(
            base_url=f"{url}/v1",
            api_key=api_key or _NO_KEY,
            max_retries=0,
            timeout=httpx.Timeout(deadline, connect=10.0),
            http_client=httpx.AsyncClient(limits=unlimited, verify=url.startswith("https")),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._openai.close()

    async def ask(
        self,
        prompt: Prompt,
        messages: list[dict[str, str]],
        *,
        sampling: dict[str, Any],
        max_tokens: int,
        cache_salt: str | None = None,
        turn: int = 0,
        epoch: float = 0.0,
    ) -> RequestRecord:
        """Send ``messages`` and read the answer. ``epoch`` is the cell's start on ``perf_counter``."""
        extra = {**sampling, "return_token_ids": True, **({"cache_salt": cache_salt} if cache_salt else {})}
        reader = StreamReader(start=time.perf_counter())
        try:
            async with asyncio.timeout(self.deadline):
                async with self._openai.chat.completions.with_streaming_response.create(
                    model=self.model,
                    messages=messages,  # type: ignore[arg-type]  # plain dicts of role and content
                    max_tokens=max_tokens,
                    stream=True,
                    stream_options={"include_usage": True, "continuous_usage_stats": True},  # type: ignore[typeddict-unknown-key]  # vLLM's own
                    extra_body=extra,
                ) as response:
                    await reader.read(response.iter_lines())
        except TimeoutError:
            reader.error = f"no end after {self.deadline:.0f} s"
        except openai.APIStatusError as error:
            reader.error = f"HTTP {error.status_code}: {_server_words(error)}"
        except (openai.APIError, httpx.HTTPError) as error:
            reader.error = f"{type(error).__name__}: {error.__cause__ or error}"
        return reader.record(prompt, turn=turn, sampling=sampling, sent=reader.start - epoch)


def _server_words(error: openai.APIStatusError) -> str:
    body = error.body if isinstance(error.body, dict) else {}
    return str(body.get("message") or body.get("error") or error.message)


class StreamReader:
    """Reads one server-sent event stream into the fields of a :class:`RequestRecord`.

    Understands keep-alive comments, role-only chunks, ``usage: null``, reasoning and tool-call deltas,
    a usage chunk without choices, an error object in the middle, and a stream that ends without
    ``[DONE]``.
    """

    def __init__(self, *, start: float, clock=time.perf_counter) -> None:
        self.start, self._clock = start, clock
        self.error: str | None = None
        self._text: list[str] = []
        self._thought: list[str] = []
        self._times: list[float] = []
        self._tokens: list[int | None] = []
        self._ids: list[int] = []
        self._prompt_ids: list[int] | None = None
        self._usage: dict[str, Any] | None = None
        self._t_answer: float | None = None
        self._finish: str | None = None
        self._spec: dict[str, Any] | None = None

    async def read(self, lines: AsyncIterator[str]) -> None:
        done = False
        async for line in lines:
            if not line.startswith("data:"):
                continue
            data = line[5:].strip()
            if data == "[DONE]":
                done = True
                break
            try:
                self.chunk(json.loads(data))
            except (ValueError, TypeError, AttributeError):
                self.error = f"the stream holds a line that is no chunk: {data[:200]}"
            if self.error:
                return
        if not done and self._finish is None:
            self.error = "the stream ended before the answer did"

    def chunk(self, chunk: dict[str, Any]) -> None:
        """Take one decoded chunk."""
        now = self._clock() - self.start
        if "error" in chunk:
            error = chunk["error"]
            self.error = (
                f"the server broke the stream off: {error.get('message', error) if isinstance(error, dict) else error}"
            )
            return
        before = (self._usage or {}).get("completion_tokens", 0)
        if chunk.get("usage"):
            self._usage = chunk["usage"]
        if chunk.get("prompt_token_ids"):
            self._prompt_ids = chunk["prompt_token_ids"]
        if spec := (chunk.get("metrics") or {}).get("speculative_decoding"):
            self._spec = spec
        for choice in chunk.get("choices") or ():
            self._choice(choice, now, before)

    def _choice(self, choice: dict[str, Any], now: float, tokens_before: int) -> None:
        self._finish = choice.get("finish_reason") or self._finish
        delta, ids = choice.get("delta") or {}, choice.get("token_ids")
        answer = delta.get("content") or ""
        thought = delta.get("reasoning") or delta.get("reasoning_content") or ""
        if not (answer or thought or delta.get("tool_calls") or ids):
            return
        if (answer or delta.get("tool_calls")) and self._t_answer is None:
            self._t_answer = now
        self._text.append(answer)
        self._thought.append(thought)
        self._times.append(now)
        if ids is not None:
            self._ids += ids
            self._tokens.append(len(ids))
        else:  # the running usage, where the server sends it
            after = (self._usage or {}).get("completion_tokens")
            self._tokens.append(after - tokens_before if after is not None else None)

    def record(self, prompt: Prompt, *, turn: int, sampling: dict[str, Any], sent: float) -> RequestRecord:
        """The record of what was read, whole or up to the error."""
        usage, times = self._usage or {}, self._times
        accepted, drafted = self._steps()
        return RequestRecord(
            prompt_id=prompt.id,
            category=prompt.category,
            language=prompt.language,
            turn=turn,
            sampling=sampling,
            prompt_tokens=usage.get("prompt_tokens"),
            output_tokens=usage.get("completion_tokens"),
            sent=round(sent, 6),
            t_first=round(times[0], 6) if times else None,
            t_answer=round(self._t_answer, 6) if self._t_answer is not None else None,
            t_last=round(times[-1], 6) if times else None,
            n_first=self._tokens[0] if times else None,
            chunk_times=tuple(round(t, 6) for t in times),
            chunk_tokens=tuple(self._tokens),
            finish_reason=self._finish,
            text="".join(self._text),
            reasoning="".join(self._thought),
            prompt_token_ids=tuple(self._prompt_ids) if self._prompt_ids else None,
            output_token_ids=tuple(self._ids) if self._ids else None,
            per_step_accepted=accepted,
            per_step_drafted=drafted,
            error=self.error,
        )

    def _steps(self) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
        """Per-step accepted and drafted counts. The server leaves the arrays out when nothing was
        drafted, which is an empty array and not an unknown one."""
        if self._spec is None:
            return None, None
        if "per_step_accepted" not in self._spec:
            return ((), ()) if self._spec.get("num_spec_steps") == 0 else (None, None)
        return tuple(self._spec["per_step_accepted"]), tuple(self._spec["per_step_drafted"])
