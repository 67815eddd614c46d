"""A whole training on a tiny target, from its texts to a folder that vLLM could load.

The texts lie there already, so that no engine starts.
"""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

from labkit.drafters.card import read_card
from labkit.drafters.pairing import check_folder, check_pair
from labkit.errors import ConfigError, WorkloadError
from labkit.plan import WorkloadSpec
from labkit.training import Training, run, train
from labkit.training.fit import Schedule
from labkit.training.plan import MIN_ANSWER
from labkit.training.prompts import training_prompts
from labkit.training.texts import read_texts
from labkit.workloads import load_workload
from tests.training.conftest import HIDDEN, LAYERS, VOCABULARY, load, write_texts

PER_CATEGORY = 4
METHODS = ("eagle3", "draft_model")


class Killed(BaseException):
    """As a signal: nothing catches it."""


@pytest.fixture(scope="module")
def collected(model, target, tmp_path_factory):
    """A training's folder with the texts that an engine would have written; some answers are too short to be kept."""
    folder = tmp_path_factory.mktemp("collected")
    held_out = load_workload(WorkloadSpec(per_category=1)).prompts
    for name, prompts, greedy in (("texts", training_prompts(PER_CATEGORY), False), ("held_out", held_out, True)):
        texts = write_texts(model, len(prompts), seed=len(prompts))
        lines = []
        for i, (prompt, text) in enumerate(zip(prompts, texts, strict=True)):
            text = replace(text, prompt_id=prompt.id, category=prompt.category)
            text = replace(text, temperature=0.0) if greedy else text
            lines.append(
                json.dumps(asdict(replace(text, output_ids=text.output_ids[: MIN_ANSWER - 1]) if i == 6 else text))
            )
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "training.json").write_text(json.dumps({"target": str(target)}))
    return folder


@pytest.fixture(autouse=True)
def no_engine(monkeypatch):
    def started(*_, **__):
        raise AssertionError("an engine was started")

    monkeypatch.setattr(run, "launch", started)


@pytest.fixture
def asked(target):
    def ask(method="eagle3", **changes):
        small = {"per_category": PER_CATEGORY, "held_out": 1, "epochs": 3, "batch_tokens": 128, "max_tokens": 32}
        return Training(method=method, target=str(target), **small | {"intermediate_size": 48} | changes)

    return ask


def quiet(line):
    pass


@pytest.mark.parametrize("method", METHODS)
def test_the_model_folder_is_whole(asked, collected, target, tmp_path, method):
    seen, said = [], []
    done = train(asked(method), tmp_path / "mine", texts_from=collected, say=said.append, seen=seen.append)
    assert (done.package, done.model) == (tmp_path / "mine" / "package", tmp_path / "mine" / "model")
    names = {path.name for path in done.model.iterdir()}
    assert names == {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    check_folder(done.model, role="draft", tokenizer=True)
    check_pair(target, done.model, method)
    assert Tokenizer.from_file(str(done.model / "tokenizer.json")).encode("word5 word9").ids == [5, 9]
    assert seen == done.history
    assert done.history[-1]["held_out"]["tokens"] > 0
    assert any("19 texts" in line for line in said)  # of 20, one was too short


def test_an_eagle_head_has_the_targets_rows_of_its_vocabulary(asked, collected, target, tmp_path):
    done = train(asked(), tmp_path / "e", texts_from=collected, say=quiet)
    tensors, whole = load_file(done.model / "model.safetensors"), load(target)
    kept = [t.without_loop() for t in read_texts(collected / "texts.jsonl") if len(t.output_ids) >= MIN_ANSWER]
    said = sorted({token for text in kept for token in text.output_ids})
    ids = torch.arange(len(said)) + tensors["d2t"]
    assert ids.tolist() == said
    torch.testing.assert_close(tensors["lm_head.weight"], whole.lm_head.weight.detach()[ids])
    assert tensors["d2t"].dtype == torch.int64
    config = json.loads((done.model / "config.json").read_text())
    assert config["architectures"] == ["LlamaForCausalLMEagle3"]
    assert config["draft_vocab_size"] == len(said)
    assert config["eagle_aux_hidden_state_layer_ids"] == [1, 2, 3]
    assert config["num_aux_hidden_states"] == LAYERS
    assert (config["num_hidden_layers"], config["hidden_size"], config["vocab_size"]) == (1, HIDDEN, VOCABULARY)
    assert config["fc_norm"] is True
    assert config["tie_word_embeddings"] is False
    assert config["rope_parameters"] == whole.config.rope_parameters


def test_a_draft_model_is_a_small_llama(asked, collected, tmp_path):
    done = train(asked("draft_model"), tmp_path / "d", texts_from=collected, say=quiet)
    draft = load(done.model)
    assert (draft.config.num_hidden_layers, draft.config.intermediate_size) == (2, 48)
    assert draft.lm_head.weight is draft.model.embed_tokens.weight
    assert draft(torch.tensor([[3, 4, 5]])).logits.shape == (1, 3, VOCABULARY)


@pytest.mark.parametrize("method", METHODS)
def test_the_card_says_what_was_done(asked, collected, tmp_path, method):
    done = train(asked(method), tmp_path / "mine", texts_from=collected, say=quiet)
    card = read_card(done.package)
    assert (card.name, card.method, card.hidden_size, card.vocab_size) == ("mine", method, HIDDEN, VOCABULARY)
    kept = [t.without_loop() for t in read_texts(collected / "texts.jsonl") if len(t.output_ids) >= MIN_ANSWER]
    assert card.training["texts"] == len(kept) == 19
    assert card.training["answer_tokens"] == sum(len(t.output_ids) for t in kept)
    assert card.training["steps"] == len(done.history)
    assert card.training["loss"] == pytest.approx(done.history[-1]["loss"], abs=1e-4)
    categories = sorted({t.category for t in read_texts(collected / "held_out.jsonl")})
    assert list(card.offline) == [*categories, "all"]
    assert sum(card.offline[name]["tokens"] for name in categories) == card.offline["all"]["tokens"]
    curve = card.training["learning_curve"]
    assert curve[-1]["tokens_seen"] == sum(row["tokens"] for row in done.history)
    last = done.history[-1]["held_out"]
    assert curve[-1]["conditional"] == pytest.approx(last["conditional"], abs=1e-4)
    assert card.offline["all"]["joint"] == pytest.approx(last["joint"], abs=1e-4)
    if method == "eagle3":
        assert card.training["vocabulary"] <= VOCABULARY
        assert 0 < card.training["coverage_held_out"] <= 1


@pytest.mark.parametrize("method", METHODS)
def test_trained_twice_is_trained_the_same(asked, collected, tmp_path, method):
    """In another folder, and in the same one, where nothing is left to do."""
    first = train(asked(method), tmp_path / "a" / "x", texts_from=collected, say=quiet)
    second = train(asked(method), tmp_path / "b" / "x", texts_from=collected, say=quiet)
    seen = []
    again = train(asked(method), tmp_path / "a" / "x", texts_from=collected, say=quiet, seen=seen.append)
    assert first.card.offline == second.card.offline == again.card.offline
    assert seen == []
    a, b = (load_file(done.model / "model.safetensors") for done in (first, second))
    assert all(torch.equal(a[name], b[name]) for name in a | b)


def test_killed_and_gone_on_with(asked, collected, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "Schedule", lambda steps: Schedule(steps=steps, checkpoint_every=3))

    def kill(row):
        if row["step"] == 5:
            raise Killed

    undisturbed = train(asked(), tmp_path / "a" / "x", texts_from=collected, say=quiet)
    with pytest.raises(Killed):
        train(asked(), tmp_path / "b" / "x", texts_from=collected, say=quiet, seen=kill)
    assert not (tmp_path / "b" / "x" / "model").exists()
    seen = []
    resumed = train(asked(), tmp_path / "b" / "x", texts_from=collected, say=quiet, seen=seen.append)
    assert seen[0]["step"] == 4
    assert resumed.card.offline == undisturbed.card.offline
    assert resumed.card.training["loss"] == undisturbed.card.training["loss"]


def test_a_folder_belongs_to_one_training(asked, tmp_path):
    run._claim(tmp_path / "mine", asked())
    run._claim(tmp_path / "mine", asked())
    with pytest.raises(
        ConfigError, match=r"mine holds another training: epochs is 3, not 4; seed is 0, not 2; give another --out"
    ):
        run._claim(tmp_path / "mine", asked(epochs=4, seed=2))
    with pytest.raises(ConfigError, match="method is 'eagle3', not 'draft_model'"):
        train(asked("draft_model"), tmp_path / "mine", say=quiet)


def test_missing_texts_need_an_engine(asked, collected, tmp_path):
    with pytest.raises(AssertionError, match="an engine was started"):
        train(asked(), tmp_path / "mine", say=quiet)
    with pytest.raises(AssertionError, match="an engine was started"):
        train(asked(per_category=PER_CATEGORY + 1), tmp_path / "more", texts_from=collected, say=quiet)


def test_only_a_training_s_folder_for_the_same_target_lends_texts(asked, tmp_path):
    with pytest.raises(ConfigError, match=r"empty is no training's folder \(it has no training.json\)"):
        train(asked(), tmp_path / "mine", texts_from=tmp_path / "empty", say=quiet)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "training.json").write_text('{"target": "another"}')
    with pytest.raises(ConfigError, match="were written by 'another', not by"):
        train(asked(), tmp_path / "mine", texts_from=tmp_path / "other", say=quiet)


def test_a_target_that_says_next_to_nothing(asked, collected, tmp_path):
    for name in ("texts", "held_out"):
        short = [replace(text, output_ids=(1,)) for text in read_texts(collected / f"{name}.jsonl")]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(asdict(text)) + "\n" for text in short))
    (tmp_path / "training.json").write_bytes((collected / "training.json").read_bytes())
    with pytest.raises(WorkloadError, match=rf"no answer in .*texts\.jsonl has {MIN_ANSWER} tokens"):
        train(asked(), tmp_path / "mine", texts_from=tmp_path, say=quiet)


def test_nothing_is_claimed_for_what_cannot_be_trained(asked, tmp_path):
    with pytest.raises(ConfigError, match="intermediate_size"):
        train(asked("draft_model", intermediate_size=768), tmp_path / "mine", say=quiet)
    assert not (tmp_path / "mine").exists()


def test_a_part_of_the_vocabulary(asked, collected, tmp_path, monkeypatch):
    """A small step makes ``coverage`` bite: fewer rows, and what they cover of unseen text is said."""
    monkeypatch.setattr("labkit.training.teacher.VOCABULARY_STEP", 8)
    done = train(asked(coverage=0.5), tmp_path / "mine", texts_from=collected, say=quiet)
    tensors = load_file(done.model / "model.safetensors")
    assert len(tensors["d2t"]) == len(tensors["lm_head.weight"]) == done.card.training["vocabulary"]
    assert done.card.training["vocabulary"] % 8 == 0
    ids = (torch.arange(len(tensors["d2t"])) + tensors["d2t"]).numpy()
    held = [t.without_loop() for t in read_texts(collected / "held_out.jsonl") if len(t.output_ids) >= MIN_ANSWER]
    unseen = np.array([token for text in held for token in text.output_ids])
    assert done.card.training["coverage_held_out"] == pytest.approx(np.isin(unseen, ids).mean(), abs=1e-4)
    assert done.card.training["coverage_held_out"] < 1
