"""What vLLM would answer with a traceback is said before it starts."""

import json

import pytest
import torch
from safetensors.torch import save_file

from labkit.drafters.pairing import check_folder, check_pair, read_config
from labkit.errors import ConfigError


@pytest.fixture
def folder(tmp_path):
    """A whole model folder, made from a name and config fields."""

    def make(name, **config):
        path = tmp_path / name
        path.mkdir()
        (path / "config.json").write_text(json.dumps(config))
        (path / "tokenizer.json").write_text("{}")
        save_file({"w": torch.zeros(4, 4)}, path / "model.safetensors")
        return path

    return make


def test_a_whole_folder_passes(folder):
    check_folder(folder("m"), role="target", tokenizer=True)


def test_a_missing_tokenizer(folder):
    path = folder("m")
    (path / "tokenizer.json").unlink()
    check_folder(path, role="target", tokenizer=False)
    with pytest.raises(
        ConfigError, match=r"the target folder .* has no tokenizer \(none of tokenizer\.json, .*put the"
    ):
        check_folder(path, role="target", tokenizer=True)
    (path / "tokenizer.model").write_bytes(b"")
    check_folder(path, role="target", tokenizer=True)


@pytest.mark.parametrize("kept", [0, 6, 40, -1])
def test_cut_off_weights(folder, kept):
    path = folder("m")
    weights = path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:kept])
    with pytest.raises(ConfigError, match=r"the draft's weights .*model\.safetensors are damaged or cut off"):
        check_folder(path, role="draft", tokenizer=True)


def test_one_damaged_shard_of_several(folder):
    path = folder("m")
    (path / "model-00002.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(ConfigError, match=r"model-00002\.safetensors are damaged"):
        check_folder(path, role="target", tokenizer=True)


@pytest.mark.parametrize("method", ["eagle", "eagle3"])
def test_a_head_of_another_hidden_size(folder, method):
    target, head = folder("target", hidden_size=576), folder("head", hidden_size=4096)
    with pytest.raises(ConfigError, match=rf"the {method} head .* states of size 4096, the target .* has 576; a head"):
        check_pair(target, head, method)
    check_pair(target, folder("fits", hidden_size=576), method)


def test_a_head_that_says_what_it_reads(folder):
    target = folder("target", hidden_size=576)
    check_pair(target, folder("narrow", hidden_size=128, target_hidden_size=576), "eagle3")
    with pytest.raises(ConfigError, match="reads hidden states of size 1024"):
        check_pair(target, folder("other", hidden_size=576, target_hidden_size=1024), "eagle3")


def test_a_draft_model_may_have_any_size_but_needs_a_tokenizer(folder):
    target, draft = folder("target", hidden_size=576), folder("draft", hidden_size=64)
    check_pair(target, draft, "draft_model")
    (draft / "tokenizer.json").unlink()
    check_pair(folder("same", hidden_size=64), draft, "eagle3")  # a head has its target's
    with pytest.raises(ConfigError, match=r"the draft folder .* has no tokenizer"):
        check_pair(target, draft, "draft_model")


def test_sizes_that_nobody_tells_are_not_compared(folder):
    check_pair(folder("target"), folder("head", hidden_size=4), "eagle3")


def test_a_config_that_is_none(folder, tmp_path):
    path = folder("m")
    (path / "config.json").write_text("{")
    with pytest.raises(ConfigError, match=r"config\.json is no JSON"):
        check_pair(path, folder("head"), "eagle3")
    with pytest.raises(ConfigError, match=r"has no config\.json"):
        read_config(tmp_path)
