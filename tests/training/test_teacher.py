"""What is borrowed from the target: its distribution over a vocabulary, and which ids that holds."""

import numpy as np
import pytest
import torch

from labkit.training import teacher as teacher_module
from labkit.training.teacher import Teacher, choose_vocabulary
from tests.training.conftest import VOCABULARY, load, make_target

# 10 tokens: 7 five times, 3 three times, 9 and 1 once
TOKENS = np.array([7, 3, 7, 9, 7, 3, 7, 1, 3, 7])


@pytest.mark.parametrize(
    ("coverage", "chosen"),
    [(0.01, [7]), (0.5, [7]), (0.51, [3, 7]), (0.8, [3, 7]), (0.81, [3, 7, 1]), (0.9, [3, 7, 1]), (1.0, [3, 7, 1, 9])],
)
def test_the_fewest_ids_that_cover_enough(monkeypatch, coverage, chosen):
    monkeypatch.setattr(teacher_module, "VOCABULARY_STEP", 1)
    assert choose_vocabulary(TOKENS, coverage=coverage).tolist() == sorted(chosen)


@pytest.mark.parametrize(("coverage", "size"), [(0.1, 512), (0.511, 512), (0.513, 1024), (0.99, 1024), (1.0, 1300)])
def test_its_size_is_a_multiple_of_512_where_there_are_as_many_ids(coverage, size):
    """1,000 frequent ids that make up nearly all, 300 rare ones."""
    tokens = np.concatenate([np.repeat(np.arange(1000), 1000), np.arange(5000, 5300)])
    chosen = choose_vocabulary(tokens, coverage=coverage)
    assert len(chosen) == size
    assert (np.diff(chosen) > 0).all()
    assert np.isin(tokens, chosen).mean() >= coverage


def test_one_token_is_a_vocabulary():
    assert choose_vocabulary(np.array([5]), coverage=1.0).tolist() == [5]


def test_the_distribution_is_the_targets_over_the_vocabulary(teacher, features, model):
    """Softmax of the model's own logits, the other ids left out."""
    start, end = features.starts[2], features.starts[3]
    ids = torch.from_numpy(features.tokens[start:end].astype(np.int64))[None]
    with torch.inference_mode():
        wanted = model(ids).logits[0, :, ::3].softmax(-1)
    got = teacher.distribution(torch.from_numpy(features.hidden[start:end, -1].astype(np.float32)))
    torch.testing.assert_close(got, wanted, atol=5e-3, rtol=0)
    torch.testing.assert_close(got.sum(-1), torch.ones(len(got)))


def test_without_a_vocabulary_it_is_all_of_the_targets(target, model):
    whole = Teacher(target)
    assert whole.vocabulary.tolist() == list(range(VOCABULARY))
    torch.testing.assert_close(whole.head, model.lm_head.weight.detach())
    torch.testing.assert_close(whole.norm_weight, model.model.norm.weight.detach())
    torch.testing.assert_close(whole.embed(torch.tensor([4, 2])), model.model.embed_tokens.weight.detach()[[4, 2]])


def test_drafted_tokens_are_ids_of_the_target(teacher):
    head_row = teacher.head[17]  # of id 51; among random rows it fits itself best
    assert teacher.draft_tokens(head_row[None]).tolist() == [51]


def test_positions_whose_next_token_is_of_an_answer():
    answer = torch.tensor([[False, False, True, True, False], [False, True, True, True, True]])
    assert Teacher.predicted(answer).tolist() == [
        [False, True, True, False, False],
        [True, True, True, True, False],
    ]


def test_an_untied_head_is_not_the_embedding(tmp_path):
    folder = make_target(tmp_path / "untied", tied=False)
    own, whole = Teacher(folder, np.arange(10)), load(folder)
    torch.testing.assert_close(own.head, whole.lm_head.weight.detach()[:10])
    torch.testing.assert_close(own.embed(own.vocabulary), whole.model.embed_tokens.weight.detach()[:10])
    assert not torch.equal(own.head, own.embed(own.vocabulary))
