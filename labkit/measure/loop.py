"""A synchronous face for coroutines, also where a loop runs already (a notebook)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

__all__ = ["run_sync"]

T = TypeVar("T")


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` in a thread with a loop of its own; an interrupt cancels it and is passed on."""
    result: Future[T] = Future()
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[T]]] = Future()

    async def main() -> T:
        task = asyncio.ensure_future(work)
        started.set_result((asyncio.get_running_loop(), task))
        return await task

    def in_thread() -> None:
        try:
            result.set_result(asyncio.run(main()))
        except BaseException as error:
            result.set_exception(error)

    thread = threading.Thread(target=in_thread, name="labkit-measure", daemon=True)
    thread.start()
    try:
        return result.result()
    except KeyboardInterrupt:
        loop, task = started.result(timeout=5)
        loop.call_soon_threadsafe(task.cancel)
        thread.join(timeout=5)
        raise
