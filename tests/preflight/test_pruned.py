"""The map of a pruned vocabulary is read from the head's file, without its weights."""

import json
import struct

import pytest

from labkit.errors import ConfigError
from labkit.preflight.pruned import target_ids


def safetensors(path, **tensors):
    """Tensors of whole numbers, in the format's own words."""
    header, body = {}, b""
    for name, numbers in tensors.items():
        data = struct.pack(f"<{len(numbers)}q", *numbers)
        header[name] = {"dtype": "I64", "shape": [len(numbers)], "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def test_d2t_gives_the_targets_ids(tmp_path):
    assert target_ids(tmp_path) is None
    safetensors(tmp_path / "model.safetensors", other=[7, 7, 7], d2t=[0, 4, 10])
    assert target_ids(tmp_path) == [0, 5, 12]


@pytest.mark.parametrize("kept", [4, 20, -1])
def test_a_cut_off_head_is_named(tmp_path, kept):
    path = tmp_path / "model.safetensors"
    safetensors(path, d2t=[0, 4])
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ConfigError, match=r"weights .*model\.safetensors are damaged or cut off"):
        target_ids(tmp_path)
