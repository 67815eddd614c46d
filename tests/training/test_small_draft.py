"""A small draft model is a Llama: what is trained, assembled into a folder, is run the same by transformers."""

import numpy as np
import pytest
import torch

from labkit.drafters.card import Card
from labkit.drafters.package import assemble, write_package
from labkit.training.describe import package_tensors
from labkit.training.evaluate import agreement
from labkit.training.small_draft import SmallDraft, _narrowed
from labkit.training.teacher import Teacher
from tests.training.conftest import HIDDEN, load, make_target

DEPTHS = 3


def make(target, layers=(0, 2), size=48):
    """A draft whose weights bfloat16 holds exactly, as the package rounds them."""
    draft = SmallDraft(target, Teacher(target), layers=layers, intermediate_size=size)
    with torch.no_grad():
        for weight in draft.parameters():
            weight.copy_(weight.bfloat16())
    return draft.eval()


def assembled(draft, target, folder):
    """The model that transformers loads from the draft's package and the target."""
    config = {"num_hidden_layers": len(draft.model.layers), "intermediate_size": draft.config.intermediate_size}
    card = Card(
        name="d", method="draft_model", target="t", hidden_size=HIDDEN, vocab_size=300, licence="", config=config
    )
    write_package(folder / "package", card, package_tensors(draft, None))
    (folder / "model").mkdir()
    assemble(folder / "package", target, folder / "model")
    return load(folder / "model")


@pytest.mark.parametrize("tied", [True, False])
def test_it_drafts_what_the_assembled_model_drafts(tmp_path, batch, tied):
    target = make_target(tmp_path / "target", tied=tied)
    draft = make(target)
    whole = assembled(draft, target, tmp_path)
    with torch.inference_mode():
        logits = whole(batch.tokens).logits
        torch.testing.assert_close(
            draft._teacher[0].draft_logits(draft.hidden(batch.tokens)), logits, atol=1e-4, rtol=0
        )
    # base t has seen token t + 1: depth 0 is token t + 2, which the model says after token t + 1
    batch.tokens[0, 9:12] = logits[0, 8].argmax()  # so that something is right
    said = whole(batch.tokens).logits.argmax(-1)
    found, length = draft.matches(batch, DEPTHS), batch.tokens.shape[1]
    for row in range(len(batch.tokens)):
        for base in range(length):
            right = [
                base + 2 + d < length and bool(said[row, base + 1 + d] == batch.tokens[row, base + 2 + d])
                for d in range(DEPTHS)
            ]
            assert found[row, base].tolist() == right
    assert found[0, 7, 0]


def test_uncut_it_is_the_target(target, features, batch, model):
    draft = SmallDraft(target, Teacher(target), layers=(0, 1, 2), intermediate_size=64)
    with torch.inference_mode():
        wanted = model(batch.tokens).logits
    got = draft._teacher[0].draft_logits(draft.hidden(batch.tokens))
    torch.testing.assert_close(got, wanted, atol=1e-4, rtol=0)
    # greedy texts are then guessed whole, but for a tie that float16 decides otherwise
    assert agreement(draft, features, depths=DEPTHS).joint[0] > 0.98


def test_depths_beyond_a_short_text(target, batch):
    short = type(batch)(batch.tokens[:, :2], batch.hidden[:, :2], batch.answer[:, :2])
    found = make(target).matches(short, 4)
    assert found.shape == (4, 2, 4)
    assert not found.any()


def test_it_holds_no_embeddings(target):
    draft = make(target)
    names = set(draft.state_dict())
    assert names == {name for name, _ in draft.named_parameters()}
    assert all(name.startswith(("model.layers.0.", "model.layers.1.", "model.norm.")) for name in names)
    assert not any(HIDDEN in weight.shape and 300 in weight.shape for weight in draft.state_dict().values())


def test_the_layers_are_those_asked_for(target, model):
    draft = SmallDraft(target, Teacher(target), layers=(2, 0), intermediate_size=64)
    for own, layer in zip(draft.model.layers, (2, 0), strict=True):
        for name, weight in own.state_dict().items():
            assert torch.equal(weight, model.model.layers[layer].state_dict()[name])


def test_narrowing_keeps_the_strongest_neurons_in_order(model):
    layer = {name: weight.clone() for name, weight in model.model.layers[0].state_dict().items()}
    weak = [0, 5, 63]
    for i in weak:
        layer["mlp.up_proj.weight"][i] *= 1e-3
    small = _narrowed(layer, 61)
    kept = [i for i in range(64) if i not in weak]
    assert torch.equal(small["mlp.gate_proj.weight"], layer["mlp.gate_proj.weight"][kept])
    assert torch.equal(small["mlp.up_proj.weight"], layer["mlp.up_proj.weight"][kept])
    assert torch.equal(small["mlp.down_proj.weight"], layer["mlp.down_proj.weight"][:, kept])
    assert {n: w.shape for n, w in small.items() if "mlp" not in n} == {
        n: w.shape for n, w in layer.items() if "mlp" not in n
    }
    assert all(torch.equal(w, layer[n]) for n, w in _narrowed(layer, 64).items())


def test_the_loss_is_cross_entropy_where_an_answer_comes_next(target, batch):
    draft = make(target)
    teacher = draft._teacher[0]
    with torch.inference_mode():
        loss, shown = draft.loss(batch)
        log_q = teacher.draft_logits(draft.hidden(batch.tokens)).double().log_softmax(-1)
        target_p = teacher.distribution(batch.hidden[:, :, -1]).double()
    terms = [
        float(-(target_p[row, t] * log_q[row, t]).sum())
        for row in range(len(batch.tokens))
        for t in range(batch.tokens.shape[1] - 1)
        if batch.answer[row, t + 1]
    ]
    assert float(loss) == pytest.approx(np.mean(terms), rel=1e-5)
    assert shown["loss_0"] == float(loss)
    assert 0 <= shown["top1_0"] <= 1


def test_it_learns(target, batch, learns):
    learns(SmallDraft(target, Teacher(target), layers=(0,), intermediate_size=32), batch)


def test_the_targets_weights_are_not_trained(target):
    draft = make(target)
    assert all(weight.requires_grad for weight in draft.parameters())
    assert not any(t.requires_grad for t in (draft._teacher[0].head, draft._teacher[0].norm_weight))
