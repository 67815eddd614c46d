"""Features are what the target computes, whatever stands beside a text in its batch."""

import dataclasses
import json

import numpy as np
import pytest
import torch

from labkit.training.features import aux_layers, batches_by_length, extract
from tests.training.conftest import LAYERS


def mtimes(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


def test_texts_lie_end_to_end(features, texts):
    assert len(features) == len(texts)
    assert features.layers == (1, 2, 3)
    assert features.lengths.tolist() == [len(t.prompt_ids) + len(t.output_ids) for t in texts]
    for i, text in enumerate(texts):
        start, end = features.starts[i], features.starts[i + 1]
        assert tuple(features.tokens[start:end]) == text.prompt_ids + text.output_ids
        assert tuple(features.tokens[features.answers[i] : end]) == text.output_ids
        assert features.greedy[i] == (text.temperature == 0)
    assert tuple(features.answer_tokens) == tuple(token for text in texts for token in text.output_ids)


def test_hidden_states_are_those_of_the_text_alone(features, model):
    """Each text run by itself, without padding, gives the residual stream that was stored."""
    for i in range(len(features)):
        start, end = features.starts[i], features.starts[i + 1]
        ids = torch.from_numpy(features.tokens[start:end].astype(np.int64))[None]
        with torch.inference_mode():
            alone = model.model(ids, output_hidden_states=True).hidden_states[1:LAYERS]  # the last one is normed
        stored = features.hidden[start:end].astype(np.float32)
        for layer, states in enumerate(alone):
            np.testing.assert_allclose(stored[:, layer], states[0].numpy(), rtol=2e-3, atol=5e-3)


def test_the_last_layer_with_norm_and_head_gives_the_targets_logits(features, model):
    for i in range(len(features)):
        start, end = features.starts[i], features.starts[i + 1]
        ids = torch.from_numpy(features.tokens[start:end].astype(np.int64))[None]
        last = torch.from_numpy(features.hidden[start:end, -1].astype(np.float32))
        with torch.inference_mode():
            torch.testing.assert_close(model.lm_head(model.model.norm(last)), model(ids).logits[0], atol=0.02, rtol=0)


def test_the_size_of_batches_changes_nothing(features, texts, target, tmp_path):
    seen = []
    single = extract(texts, target, tmp_path, batch_tokens=1, progress=lambda done, total: seen.append((done, total)))
    np.testing.assert_allclose(single.hidden, features.hidden, rtol=2e-3, atol=5e-3)
    assert len(seen) == len(texts)
    assert sum(done for done, _ in seen) == seen[0][1] == len(features.tokens)


def test_kept_on_disk_until_something_else_is_asked(texts, target, tmp_path):
    first = extract(texts, target, tmp_path)
    before = mtimes(tmp_path)
    again = extract(texts, target, tmp_path)
    assert mtimes(tmp_path) == before
    assert again.key == first.key
    other = extract(texts[:5], target, tmp_path)
    assert (len(other), other.key != first.key) == (5, True)
    assert extract(texts[:5], target, tmp_path, layers=(3,)).hidden.shape[1] == 1


def test_where_the_answer_begins_is_part_of_the_key(texts, target, tmp_path):
    """The same tokens, one of them counted to the prompt."""
    text = texts[0]
    moved = dataclasses.replace(text, prompt_ids=text.prompt_ids + text.output_ids[:1], output_ids=text.output_ids[1:])
    first, second = extract([text], target, tmp_path / "a"), extract([moved], target, tmp_path / "b")
    assert first.key != second.key
    assert second.answers[0] == first.answers[0] + 1


def test_a_stopped_extraction_is_not_taken_for_a_whole_one(texts, target, tmp_path):
    extract(texts[:4], target, tmp_path)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        extract(texts, target, tmp_path, progress=stop)
    assert not (tmp_path / "features.json").exists()
    assert len(extract(texts, target, tmp_path)) == len(texts)
    assert json.loads((tmp_path / "features.json").read_text())["layers"] == [1, 2, 3]


@pytest.mark.parametrize(
    ("layers", "chosen"),
    [(30, (10, 20, 30)), (16, (5, 11, 16)), (4, (1, 3, 4)), (3, (1, 2, 3)), (2, (1, 2)), (1, (1,))],
)
def test_layers_that_a_head_looks_at(layers, chosen):
    assert aux_layers(layers) == chosen


@pytest.mark.parametrize("limit", [1, 20, 64, 10_000])
def test_batches_hold_every_index_once_and_respect_the_limit(limit):
    lengths = np.random.default_rng(0).integers(1, 40, 100)
    groups = batches_by_length(lengths, limit)
    assert sorted(np.concatenate(groups)) == list(range(100))
    for group in groups:
        assert len(group) == 1 or len(group) * lengths[group].max() <= limit
    assert batches_by_length(np.zeros(0, int), limit) == []
