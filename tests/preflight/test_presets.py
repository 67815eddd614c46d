"""Known pairs: each parses, and its verdict is what the rules say of its own fields."""

import json
import shlex
from itertools import pairwise

import pytest

from labkit.drafters.card import CARD
from labkit.drafters.package import shipped
from labkit.errors import ConfigError
from labkit.preflight.presets import load_preset, load_presets, public_id, public_model, public_tokenizers
from labkit.preflight.rules import verdict

PRESETS = load_presets()


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_a_preset_names_the_verdict_that_its_fields_have(preset):
    findings = preset.findings()
    assert verdict(findings) == preset.verdict
    assert set(preset.because) == {finding.rule for finding in findings if finding.level == preset.verdict}
    assert preset.title
    assert preset.sources
    assert preset.caveats


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_its_command_goes_through_a_shell_and_says_what_the_preset_says(preset):
    words = shlex.split(preset.command)
    asked = dict(pairwise(words))
    if preset.target.model == "demo":
        assert words[:4] == ["labkit", "measure", "--target", "demo"]
        assert (asked["--method"], asked["--draft"], asked["--k"]) == (preset.method, preset.draft.model, str(preset.k))
        return
    assert words[:3] == ["vllm", "serve", preset.target.model]
    assert int(asked.get("--tensor-parallel-size", 1)) == preset.tp
    config = json.loads(asked["--speculative-config"])
    assert config == preset.launch.speculative_config()
    assert config["num_speculative_tokens"] == preset.k
    assert config.get("model") == (preset.draft.model if preset.draft else None)


def test_the_pairs_people_ask_for_are_there():
    pairs = {
        (p.target.model.split("/")[-1], p.draft.model.split("/")[-1] if p.draft else p.method) for p in PRESETS.values()
    }
    assert {
        ("Qwen2.5-72B-Instruct", "Qwen2.5-0.5B-Instruct"), ("Qwen2.5-72B-Instruct", "Qwen2.5-1.5B-Instruct"),
        ("Qwen2.5-72B-Instruct", "Qwen2.5-7B-Instruct"), ("Qwen3-32B", "Qwen3-0.6B"), ("DeepSeek-V3", "mtp"),
        ("DeepSeek-R1", "mtp"), ("Llama-3.3-70B-Instruct", "Llama-3.2-1B-Instruct"),
        ("Llama-3.3-70B-Instruct", "Llama-3.1-8B-Instruct"),
        ("Llama-3.3-70B-Instruct", "EAGLE3-LLaMA3.3-Instruct-70B"), ("demo", "eagle3"),
    } <= pairs  # fmt: skip


def test_a_llama_draft_for_qwen_is_refused():
    preset = load_preset("qwen2.5-72b-llama-3.2-1b")
    assert preset.verdict == "incompatible"
    refused = {finding.rule for finding in preset.findings() if finding.level == "incompatible"}
    assert refused == {"tokenizer", "vocab_size"}


def test_the_often_shown_pair_is_refused_for_two_reasons():
    """Padding, and 14 attention heads on 4 GPUs."""
    refused = {finding.rule: finding.message for finding in load_preset("qwen2.5-72b-0.5b").findings()}
    assert "152064 of the target and 151936 of the draft differ (padding only)" in refused["vocab_size"]
    assert "The draft's 14 attention heads cannot be divided over 4 GPUs" in refused["draft_heads"]


def test_an_unknown_preset_is_named_with_the_likely_one():
    with pytest.raises(ConfigError, match=r"no preset 'qwen3-32b'; there are .*; did you mean 'qwen3-32b-0\.6b'"):
        load_preset("qwen3-32b")


def test_a_preset_as_json():
    plain = load_preset("llama-3.3-70b-eagle3").plain()
    assert json.loads(json.dumps(plain))["findings"][0]["rule"] == "config_unread"
    assert plain["tokenizer"] is None


def test_what_was_not_read_is_unknown_and_no_guess():
    """No verdict is fine where the tokenizers of a draft model, or the config of a head, were not read."""
    for preset in PRESETS.values():
        if preset.draft and (not preset.tokenizer or not preset.draft.config):
            assert preset.verdict != "ok", preset.name


def test_every_public_config_says_where_it_was_read():
    for preset in PRESETS.values():
        for named in (preset.target, preset.draft):
            if named and named.config and "/" in named.model and not named.model.startswith("demo"):
                assert any(f"{named.model}/blob/main/config.json (" in source for source in preset.sources), named.model


def test_the_demo_preset_is_the_head_that_is_shipped():
    card = json.loads((shipped()["eagle3"] / CARD).read_text(encoding="utf-8"))
    own = load_preset("smollm2-demo").draft.config
    assert {key: own[key] for key in card["config"].keys() & own.keys()} == {
        key: card["config"][key] for key in card["config"].keys() & own.keys()
    }
    assert "draft_vocab_size" in own


def test_public_models_by_id_and_by_the_name_of_a_folder():
    assert public_model("Qwen/Qwen2.5-72B-Instruct").heads == 64
    assert public_model("someone/Qwen2.5-72B-Instruct") is None
    assert public_id("/models/qwen2.5-72b-instruct/") == "Qwen/Qwen2.5-72B-Instruct"
    assert public_id("demo/eagle3") is None
    assert public_tokenizers("Qwen/Qwen2.5-72B-Instruct", "Qwen/Qwen2.5-7B-Instruct").verdict == "same"
    assert public_tokenizers("Qwen/Qwen3-32B", "Qwen/Qwen3-0.6B") is None
