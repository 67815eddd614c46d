"""Cells of several engines measured at once, their prompts in turn: what else slows the machine slows all of them.

One request runs at a time. Each engine's next one waits behind those of the others, so prompt after prompt every engine
has its turn within seconds of the others', and a ratio of their times is free of what changes from minute to minute.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

__all__ = ["Turns"]

#: Seconds between turns: threads of Intel's OpenMP spin for .2 s after their last work (KMP_BLOCKTIME), and would take
#: the cores from the next engine.
SETTLE = 0.25


class Turns:
    """``async with turns.mine():`` waits for the turn and holds it; first come, first served. ``names``: who takes
    part; ``pids``: processes of all their engines, whose work is nobody else's."""

    def __init__(self, names: Iterable[str], pids: tuple[int, ...] = ()) -> None:
        self.pids = pids
        self._awaited, self._all_here, self._lock = set(names), asyncio.Event(), asyncio.Lock()

    @asynccontextmanager
    async def mine(self) -> AsyncIterator[None]:
        async with self._lock:
            yield
            await asyncio.sleep(SETTLE)

    def no_longer(self, name: str) -> None:
        """Nobody waits for ``name``: it is ready, or has failed."""
        self._awaited.discard(name)
        if not self._awaited:
            self._all_here.set()

    async def ready(self, name: str) -> None:
        """Waits until all the others are ready too: engines take different times to warm up."""
        self.no_longer(name)
        await self._all_here.wait()
