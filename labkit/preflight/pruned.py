"""Heads with a pruned vocabulary: which of the target's tokens they can propose.

*d2t*: for draft id i the target's id is i + d2t[i]. It is read from the head's safetensors file alone, by the
file's own table of contents; no weights are loaded.
"""

from __future__ import annotations

import json
import struct
from array import array
from pathlib import Path

from labkit.errors import ConfigError

__all__ = ["target_ids"]

_TYPES = {"I64": "q", "I32": "i"}


def target_ids(folder: Path) -> list[int] | None:
    """The target's id of every draft id; None where the files hold no ``d2t``.

    Raises:
        ConfigError: a safetensors file is damaged.
    """
    for path in sorted(folder.glob("*.safetensors")):
        try:
            offsets = _tensor(path, "d2t")
        except (OSError, ValueError, KeyError, struct.error) as error:
            raise ConfigError(
                f"the head's weights {path} are damaged or cut off ({error}); get the file again"
            ) from None
        if offsets is not None:
            return [number + offset for number, offset in enumerate(offsets)]
    return None


def _tensor(path: Path, name: str) -> array | None:
    """A tensor of whole numbers, read by its place in the file."""
    with path.open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        if size > path.stat().st_size:
            raise ValueError("its header is longer than the file")
        entry = json.loads(file.read(size)).get(name)
        if entry is None or entry["dtype"] not in _TYPES:
            return None
        begin, end = entry["data_offsets"]
        file.seek(8 + size + begin)
        numbers = array(_TYPES[entry["dtype"]])
        numbers.frombytes(file.read(end - begin))
        return numbers
