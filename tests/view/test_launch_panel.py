"""The form in which to try a launch, without a page: pick, paste, and read what is shown."""

import pytest

import labkit
from labkit.preflight import Look, load_presets, look
from labkit.view.launch_panel import LaunchPanel, launch_html


@pytest.fixture
def shown(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    return labkit.panel(look("qwen2.5-72b-0.5b"))


def test_it_begins_with_what_was_looked_at(shown):
    assert isinstance(shown, LaunchPanel)
    assert shown._said.value == launch_html(look("qwen2.5-72b-0.5b"))
    assert "<h3>incompatible</h3>" in shown._said.value
    assert shown._command.value.startswith("vllm serve Qwen/Qwen2.5-72B-Instruct")


def test_every_preset_can_be_picked(shown):
    seen = set()
    for target in shown._pairs:
        shown._target.value = target
        for name in shown._pairs[target].values():
            shown._draft.value = name
            seen.add(name)
            assert f"<h3>{load_presets()[name].verdict}</h3>" in shown._said.value
    assert seen == set(load_presets())


def test_a_command_is_pasted(shown):
    shown._command.value = "vllm serve Qwen/Qwen3-32B --speculative-model [ngram] --num-speculative-tokens 3"
    assert "<h3>ok</h3>" in shown._said.value
    assert "&quot;method&quot;:&quot;ngram&quot;" in shown._said.value
    shown._command.value = "pip install vllm"
    assert "no vLLM launch in this text" in shown._said.value


def test_text_from_outside_is_escaped():
    report = look("qwen2.5-72b-0.5b").report
    html = launch_html(Look(command="<b>", notes=("<i>",), errors=("<u>",), report=report))
    assert not any(tag in html for tag in ("<b>", "<i>", "<u>"))
    assert "&lt;u&gt;" in html


def test_a_notebook_that_runs_headless_shows_a_sentence(shown, monkeypatch):
    monkeypatch.setenv("LABKIT_HEADLESS", "1")
    assert "open this notebook in JupyterLab" in shown._repr_mimebundle_()["text/plain"]


def test_in_chinese_it_speaks_chinese(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    shown = labkit.panel(look("qwen2.5-72b-0.5b"), language="zh")
    assert shown._target.description == "目标模型"
    assert "<h3>不兼容</h3>" in shown._said.value
    shown._command.value = "vllm serve Qwen/Qwen3-32B --speculative-model [ngram] --num-speculative-tokens 3"
    assert "<code>vllm serve Qwen/Qwen3-32B" in shown._said.value, "a command is the same in any language"
