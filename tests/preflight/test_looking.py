"""A command or a preset, looked at: today's words, and a verdict without any file where the models are public."""

import pytest

from labkit.errors import ConfigError
from labkit.preflight import load_presets, look
from tests.preflight.test_legacy import ARTICLE


@pytest.fixture(autouse=True)
def no_hub(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))


def test_the_command_of_the_article():
    """Its folders are nowhere here; the models are public, and the pair is refused twice."""
    looked = look(ARTICLE)
    assert looked.verdict == "incompatible"
    assert looked.command.startswith("vllm serve /models/Qwen2.5-72B-Instruct --tensor-parallel-size 4")
    assert {line.split(":")[0] for line in looked.report.refused} == {"vocab_size", "draft_heads"}
    assert any("is taken for Qwen/Qwen2.5-72B-Instruct" in note for note in looked.notes)
    assert any("--use-v2-block-manager dropped" in note for note in looked.notes)


def test_folders_that_are_here_are_read(folder):
    target, draft = folder("target"), folder("draft", vocab_size=128)
    looked = look(f"vllm serve {target} --speculative-model {draft} --num-speculative-tokens 3")
    assert {line.split(":")[0] for line in looked.report.refused} == {"vocab_size"}
    assert looked.report.case.draft.folder == draft


def test_an_unknown_key_is_incompatible_and_stays_in_the_command(folder):
    config = """'{"method":"ngram","num_speculative_tokens":3,"prompt_lookup_maximum":4}'"""
    looked = look(f"vllm serve {folder('target')} --speculative-config {config}")
    assert looked.verdict == "incompatible"
    assert "prompt_lookup_maximum" in looked.command
    assert "did you mean 'prompt_lookup_max'" in looked.errors[0]


@pytest.mark.parametrize("preset", load_presets().values(), ids=load_presets())
def test_a_preset_by_its_name(preset):
    looked = look(preset.name)
    assert (looked.verdict, looked.command, looked.notes) == (preset.verdict, preset.command, preset.caveats)


@pytest.mark.parametrize(
    "preset", [p for p in load_presets().values() if p.target.model != "demo"], ids=lambda p: p.name
)
def test_the_command_of_a_preset_has_its_verdict(preset):
    """What a preset says is what one hears who pastes its command."""
    assert look(preset.command).verdict == preset.verdict


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("qwen2.5", "no vLLM launch in this text"),
        ("vllm serve /models/Nobodys-7B", "no target at '/models/Nobodys-7B'"),
        ("vllm serve $MODEL", r"no target at '\$MODEL'"),
    ],
)
def test_what_cannot_be_looked_at_is_said(asked, message):
    with pytest.raises(ConfigError, match=message):
        look(asked)
