"""The routes of the simulated server: requests in, jobs for the engine, answers out."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import AsyncIterator, Mapping
from typing import Any

from aiohttp import web

from labkit.engine.simulated import wire
from labkit.engine.simulated.batching import Engine, Job
from labkit.engine.simulated.metrics import MetricsPage
from labkit.engine.simulated.model import MAX_MODEL_LEN
from labkit.engine.simulated.requests import Refused, read_call

__all__ = ["Server"]

_PROMETHEUS = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
_EVENTS = {"Content-Type": "text/event-stream; charset=utf-8"}


class Server:
    """Handlers of the routes, over one engine that serves ``model``.

    Faults: ``die_after``, ``error_mid_stream``, ``keepalive``, and those of ``wire`` and
    ``metrics``.
    """

    def __init__(self, model: str, engine: Engine, *, version: str, faults: Mapping[str, float | None]) -> None:
        self._model, self._engine, self._version_name, self._faults = model, engine, version, faults
        self._k = engine.speculation.k if engine.speculation else 0
        self._page = MetricsPage(engine.tally, model_name=model, faults=faults)
        self._started, self._streams, self._finished = int(time.time()), 0, 0

    def app(self) -> web.Application:
        app = web.Application(client_max_size=16 * 2**20)
        app.cleanup_ctx.append(self._run_engine)
        app.router.add_get("/health", self._health)
        app.router.add_get("/version", self._version)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/completions", self._completions)
        app.router.add_post("/v1/chat/completions", self._chat)
        return app

    async def _run_engine(self, _: web.Application) -> AsyncIterator[None]:
        task = asyncio.create_task(self._engine.run())
        task.add_done_callback(_end_with_engine)
        yield
        task.cancel()

    async def _health(self, _: web.Request) -> web.Response:
        return web.Response()

    async def _version(self, _: web.Request) -> web.Response:
        return web.json_response({"version": self._version_name})

    async def _metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=self._page.text(), headers=_PROMETHEUS)

    async def _models(self, _: web.Request) -> web.Response:
        card = {"id": self._model, "object": "model", "created": self._started, "owned_by": "labkit"}
        card |= {"root": self._model, "parent": None, "max_model_len": MAX_MODEL_LEN}
        return web.json_response({"object": "list", "data": [card]})

    async def _completions(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, chat=False)

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, chat=True)

    async def _answer(self, request: web.Request, *, chat: bool) -> web.StreamResponse:
        try:
            data = await _decoded(request)
            call = read_call(data, chat=chat, served=self._model, speculating=self._k > 0)
        except Refused as refusal:
            return web.json_response(refusal.body, status=refusal.status)
        job = self._engine.submit(call)
        try:
            response = await (self._stream(request, job) if call.stream else self._whole(job))
            await response.prepare(request)
            await response.write_eof()
        finally:  # the client may have gone
            self._engine.abort(job)
        self._count_finished()
        return response

    async def _whole(self, job: Job) -> web.Response:
        async for _ in job:
            pass
        call, logprobs = job.call, None
        if call.prompt_logprobs is not None:
            logprobs = wire.prompt_logprobs(self._engine.model, call.request.prompt, call.prompt_logprobs)
        body = wire.whole_answer(call, job.generation, model=self._model, k=self._k, logprobs=logprobs)
        return web.json_response(body)

    async def _stream(self, request: web.Request, job: Job) -> web.StreamResponse:
        response = web.StreamResponse(headers=_EVENTS)
        await response.prepare(request)
        self._streams += 1
        async for text in self._events(job, breaks="error_mid_stream" in self._faults and self._streams % 5 == 0):
            await response.write(text.encode())
        return response

    async def _events(self, job: Job, *, breaks: bool) -> AsyncIterator[str]:
        stream = wire.Stream(job.call, model=self._model, faults=self._faults)
        before = ": ping\n\n" if "keepalive" in self._faults else ""
        chunks = 0
        async for step in job:
            yield ("" if chunks else stream.opening()) + before + stream.tokens(step)
            chunks += 1
            if breaks and chunks == 3:
                error = Refused(500, "EngineCore encountered an issue (planted fault).", kind="InternalServerError")
                yield f"data: {json.dumps(error.body)}\n\n{wire.DONE}"
                return
        yield stream.closing(job.generation, self._k)

    def _count_finished(self) -> None:
        self._finished += 1
        if self._finished >= (self._faults.get("die_after") or float("inf")):
            os.kill(os.getpid(), signal.SIGKILL)


async def _decoded(request: web.Request) -> Any:
    try:
        return json.loads(await request.read())
    except ValueError as error:
        raise Refused(400, f"body: JSON decode error: {error}", kind="Bad Request", param="body") from None


def _end_with_engine(task: asyncio.Task[None]) -> None:
    """A server without its engine would leave every client waiting."""
    if not task.cancelled() and (error := task.exception()):
        traceback.print_exception(error, file=sys.stdout)
        sys.stdout.flush()
        os._exit(1)
