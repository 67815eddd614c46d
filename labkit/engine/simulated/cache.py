"""A prefix cache that only counts: which prompt tokens would have been found computed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

__all__ = ["BLOCK", "PrefixCache"]

BLOCK = 16


class PrefixCache:
    """Full blocks of 16 tokens, each known by its whole prefix and the salt; the block unused for longest goes
    first when ``capacity`` blocks are held."""

    def __init__(self, capacity: int = 65536) -> None:
        self._capacity = capacity
        self._blocks: dict[bytes, None] = {}  # in order of use

    def hits(self, prompt: Sequence[int], salt: str | None) -> int:
        """Tokens of ``prompt`` found from its start on. The last token is always computed, as in vLLM."""
        found = 0
        for block in _blocks(prompt[:-1], salt):
            if block not in self._blocks:
                break
            self._touch(block)
            found += BLOCK
        return found

    def store(self, ids: Sequence[int], salt: str | None) -> None:
        """Keep the full blocks of ``ids``."""
        for block in _blocks(ids, salt):
            self._touch(block)
        while len(self._blocks) > self._capacity:
            del self._blocks[next(iter(self._blocks))]

    def _touch(self, block: bytes) -> None:
        self._blocks.pop(block, None)
        self._blocks[block] = None


def _blocks(ids: Sequence[int], salt: str | None) -> Iterator[bytes]:
    prefix = hashlib.blake2b((salt or "").encode(), digest_size=16)
    for start in range(0, len(ids) - BLOCK + 1, BLOCK):
        prefix.update(bytes(ids[start : start + BLOCK]))
        yield prefix.digest()
