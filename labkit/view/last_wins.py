"""A burst of changes answered once, with the last of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

__all__ = ["LastWins"]

#: Seconds: of calm that end a burst; at most between two answers inside one; before the first answer, so that
#: messages which wait already are read.
CALM, LONGEST, SOON = 0.06, 0.25, 0.005


class LastWins:
    """Calls ``work`` soon after a single call, and in a burst at its first, now and then, and after its last. Where
    no event loop runs, at once."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._handle: asyncio.TimerHandle | None = None
        self._last = self._first = float("-inf")

    def __call__(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._work()
            return
        now, alone = loop.time(), loop.time() - self._last > CALM
        self._last = now
        if self._handle is None:
            self._first, when = now, now + (SOON if alone else CALM)
        else:
            self._handle.cancel()
            when = min(now + CALM, self._first + LONGEST)
        self._handle = loop.call_at(when, self._run)

    def _run(self) -> None:
        self._handle = None
        self._work()
