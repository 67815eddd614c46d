"""Many JSON trees that share most of their parts, as one short text: gzip and base64 of a pool in which every part
stands once.

*Conventions*: an entry of the pool is a plain value, or a list that begins with its kind: 0, then the places of its
elements; 1, then the place of its keys and those of its values; 2, then plain values as they are. Floats keep five
significant digits; what is not finite becomes null. ``static_board.js`` reads the same.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from math import isfinite
from typing import Any

__all__ = ["Pool", "pack", "plain_text", "unpack"]

_LIST, _OBJECT, _PLAIN = 0, 1, 2
_DIGITS = 5


class Pool:
    """Parts of JSON trees, each kept once."""

    def __init__(self) -> None:
        self.entries: list[Any] = []
        self._places: dict[str, int] = {}

    def add(self, tree: Any) -> int:
        """The place of ``tree``."""
        if isinstance(tree, dict):
            keys = self._place([_PLAIN, *tree])
            return self._place([_OBJECT, keys, *(self.add(value) for value in tree.values())])
        if isinstance(tree, list | tuple):
            if all(_plain(value) for value in tree):
                return self._place([_PLAIN, *map(_short, tree)])
            return self._place([_LIST, *map(self.add, tree)])
        return self._place(_short(tree))

    def _place(self, entry: Any) -> int:
        name = json.dumps(entry)
        if name not in self._places:
            self._places[name] = len(self.entries)
            self.entries.append(entry)
        return self._places[name]


def pack(entries: Sequence[Any], roots: Any) -> str:
    """The text of a pool and of ``roots``, any JSON that names places in it."""
    text = json.dumps({"pool": entries, "roots": roots}, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def plain_text(packed: str) -> str:
    """What is packed, as JSON."""
    return gzip.decompress(base64.b64decode(packed)).decode()


def unpack(packed: str) -> tuple[list[Any], Any]:
    """Every tree of the pool by its place, and the roots."""
    made = json.loads(plain_text(packed))
    trees: list[Any] = []
    for entry in made["pool"]:  # parts stand before what they are part of
        if not isinstance(entry, list):
            trees.append(entry)
        elif entry[0] == _PLAIN:
            trees.append(entry[1:])
        elif entry[0] == _LIST:
            trees.append([trees[place] for place in entry[1:]])
        else:
            trees.append(dict(zip(trees[entry[1]], (trees[place] for place in entry[2:]), strict=True)))
    return trees, made["roots"]


def _plain(value: Any) -> bool:
    return not isinstance(value, dict | list | tuple)


def _short(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return float(f"{value:.{_DIGITS}g}") if isfinite(value) else None
