"""Batches depend on the seed and the step and on nothing else."""

import numpy as np
import pytest
import torch

from labkit.training.batches import Batches, load_batch


def make(features, seed=0):
    return Batches(features, batch_tokens=64, seed=seed)


def prompts_of(features, batch):
    """Which texts a batch holds, known by their tokens."""
    known = {tuple(features.tokens[features.starts[i] : features.starts[i + 1]]): i for i in range(len(features))}
    found = []
    for tokens in batch.tokens.tolist():
        (text,) = [i for ids, i in known.items() if tuple(tokens[: len(ids)]) == ids and not any(tokens[len(ids) :])]
        found.append(text)
    return found


def epochs(features, batches, count):
    """The order of texts in the first epochs, read step by step."""
    order, step = [], 0
    for _ in range(count):
        order.append([])
        while len(order[-1]) < len(features):
            order[-1] += prompts_of(features, batches.batch(step))
            step += 1
    return order


def same(a, b):
    return all(torch.equal(getattr(a, name), getattr(b, name)) for name in ("tokens", "hidden", "answer"))


def test_a_batch_is_its_texts_padded_at_the_end(features, texts):
    batch = load_batch(features, np.array([3, 0]))
    for row, i in enumerate([3, 0]):
        prompt, whole = len(texts[i].prompt_ids), len(texts[i].prompt_ids) + len(texts[i].output_ids)
        assert tuple(batch.tokens[row, :whole]) == texts[i].prompt_ids + texts[i].output_ids
        assert batch.answer[row].tolist() == [prompt <= t < whole for t in range(batch.tokens.shape[1])]
        stored = features.hidden[features.starts[i] : features.starts[i + 1]].astype(np.float32)
        np.testing.assert_array_equal(batch.hidden[row, :whole].numpy(), stored)
        assert not batch.hidden[row, whole:].any()
    assert (batch.tokens.dtype, batch.hidden.dtype) == (torch.int64, torch.float32)


def test_every_text_comes_once_an_epoch_and_in_another_order_each_time(features):
    order = epochs(features, make(features), 3)
    assert all(sorted(epoch) == list(range(len(features))) for epoch in order)
    assert order[0] != order[1] != order[2]


def test_batches_keep_to_their_size(features):
    batches = make(features)
    assert len(batches) > 3
    for step in range(len(batches)):
        tokens = batches.batch(step).tokens
        assert tokens.shape[0] == 1 or tokens.numel() <= 64


@pytest.mark.parametrize("asked_before", [(), (0, 1, 2), (40,), (40, 0, 25, 3)])
def test_a_step_has_the_same_batch_whatever_was_asked_before(features, asked_before):
    fresh, used = make(features), make(features)
    for step in asked_before:
        used.batch(step)
    assert all(same(used.batch(step), fresh.batch(step)) for step in (0, 7, 23, 5))


def test_the_seed_changes_the_order(features):
    assert epochs(features, make(features, seed=1), 1) != epochs(features, make(features), 1)
