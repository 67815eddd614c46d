"""An EAGLE-3 head computes what vLLM computes with it.

The other side is written here from ``vllm/model_executor/models/llama_eagle3.py`` (0.32), one token and one
head at a time in float64: a first pass over true hidden states with the tokens shifted by one, then a token
at a time, fed with the output before the final norm, every key and value so far in the cache.
"""

import copy
import math

import numpy as np
import pytest
import torch
from transformers import AutoConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from labkit.training.batches import load_batch
from labkit.training.eagle import DEPTH_DECAY, Eagle3Head
from tests.training.conftest import HIDDEN, LAYERS

DEPTHS = 4
HEADS, KV_HEADS, SIZE, EPS = 4, 2, 8, 1e-5


class AsServed:
    """One request's drafting. ``weights`` are a head's state_dict; ``rates`` (SIZE / 2,) turn positions."""

    def __init__(self, weights, embeddings, rates):
        self.w = {name: weight.double().numpy() for name, weight in weights.items()}
        self.embeddings, self.rates, self.keys, self.values = embeddings.double().numpy(), rates, [], []

    def norm(self, x, name):
        return x / math.sqrt((x * x).mean() + EPS) * self.w[f"{name}.weight"]

    def turn(self, x, position):
        out = np.empty(SIZE)
        for i, rate in enumerate(self.rates):
            c, s, left, right = math.cos(position * rate), math.sin(position * rate), x[i], x[i + SIZE // 2]
            out[i], out[i + SIZE // 2] = left * c - right * s, right * c + left * s
        return out

    def combine(self, layers):
        """The target's hidden states of one position, each layer normed, projected to one."""
        normed = [self.norm(layer, f"fc_norm.{i}") for i, layer in enumerate(layers)]
        return self.w["fc.weight"] @ np.concatenate(normed)

    def token(self, position, token, hidden):
        """Run one token; returns (normed output, output before the norm)."""
        x = np.concatenate([self.norm(self.embeddings[token], "midlayer.input_layernorm"),
                            self.norm(hidden, "midlayer.hidden_norm")])  # fmt: skip
        q, k, v = ((self.w[f"midlayer.self_attn.{name}_proj.weight"] @ x).reshape(-1, SIZE) for name in "qkv")
        self.keys.append([self.turn(head, position) for head in k])
        self.values.append(v)
        heads = []
        for h in range(HEADS):
            group = h // (HEADS // KV_HEADS)
            query = self.turn(q[h], position)
            scores = np.array([query @ key[group] for key in self.keys]) / math.sqrt(SIZE)
            weights = np.exp(scores - scores.max())
            weights /= weights.sum()
            heads.append(sum(weight * value[group] for weight, value in zip(weights, self.values, strict=True)))
        hidden = hidden + self.w["midlayer.self_attn.o_proj.weight"] @ np.concatenate(heads)
        x = self.norm(hidden, "midlayer.post_attention_layernorm")
        gate, up = (self.w[f"midlayer.mlp.{name}_proj.weight"] @ x for name in ("gate", "up"))
        hidden = hidden + self.w["midlayer.mlp.down_proj.weight"] @ (gate / (1 + np.exp(-gate)) * up)
        return self.norm(hidden, "norm"), hidden

    def draft(self, tokens, layers, base, choose):
        """Outputs of each depth. ``choose(depth, output)`` says which token stands at base + 2 + depth."""
        for position in range(base + 1):
            out, hidden = self.token(position, tokens[position + 1], self.combine(layers[position]))
        outputs = [out]
        for depth in range(1, DEPTHS):
            out, hidden = self.token(base + depth, choose(depth - 1, outputs[-1]), hidden)
            outputs.append(out)
        return outputs


def loss_of(head, batch):
    with torch.inference_mode():
        return float(head.loss(batch)[0])


def plain_rates(config):
    return np.array([config.rope_parameters["rope_theta"] ** (-2 * i / SIZE) for i in range(SIZE // 2)])


def make_head(target, teacher, seed=1, **changes):
    """A head as training may leave it: no weight zero, no norm all ones."""
    torch.manual_seed(seed)
    head = Eagle3Head(AutoConfig.from_pretrained(target, **changes), LAYERS, teacher, depths=DEPTHS)
    for weight in head.parameters():
        if weight.ndim == 1:
            torch.nn.init.uniform_(weight, 0.5, 1.5)
        else:
            torch.nn.init.normal_(weight, std=weight.shape[1] ** -0.5)
    return head


@pytest.fixture
def head(target, teacher):
    return make_head(target, teacher)


@pytest.fixture
def as_served(head, target, model):
    """Fresh drafting with the head's weights, called once per request."""
    rates = plain_rates(AutoConfig.from_pretrained(target))
    return lambda: AsServed(head.state_dict(), model.model.embed_tokens.weight.detach(), rates)


def compare(head, served, batch):
    """Every base of every text that has true tokens for all depths, padding beside it or not."""
    with torch.inference_mode():
        unrolled = [out.numpy() for out in head.unroll(batch, DEPTHS)]
    for row in range(len(batch.tokens)):
        tokens, layers = batch.tokens[row].tolist(), batch.hidden[row].double().numpy()
        last = int(batch.answer[row].nonzero().max())
        for base in range(last - DEPTHS):
            wanted = served().draft(tokens, layers, base, lambda d, _, t=tokens, b=base: t[b + 2 + d])
            for depth in range(DEPTHS):
                np.testing.assert_allclose(
                    unrolled[depth][row, base], wanted[depth], atol=2e-4, err_msg=f"text {row}, base {base}, {depth}"
                )


def test_unrolled_as_vllm_drafts(head, as_served, batch):
    compare(head, as_served, batch)


def test_the_targets_scaling_of_positions_holds_for_the_head(target, teacher, model, features):
    """Llama 3's rope: vLLM reads it from the config that the head shares with its target."""
    rope = {"rope_type": "llama3", "rope_theta": 100.0, "factor": 8.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": 64}  # fmt: skip
    config = AutoConfig.from_pretrained(target, rope_parameters=rope)
    head = make_head(target, teacher, rope_parameters=rope)
    rates = ROPE_INIT_FUNCTIONS["llama3"](config, "cpu")[0].double().numpy()
    assert not np.allclose(rates, plain_rates(config))
    embeddings = model.model.embed_tokens.weight.detach()
    compare(head, lambda: AsServed(head.state_dict(), embeddings, rates), load_batch(features, np.array([5])))


def test_what_it_drafts_by_itself_matches_a_text_made_of_it(head, as_served, teacher, batch):
    """Drafted as served, each token fed back; a text that goes on like that is matched at every depth, and
    one that leaves the draft at depth 2 is matched up to there."""
    row, base = 0, 7
    tokens, layers = batch.tokens[row].tolist(), batch.hidden[row].double().numpy()

    def own(_, out):
        return int(teacher.draft_tokens(torch.from_numpy(out).float()[None]))

    outputs = as_served().draft(tokens, layers, base, own)
    drafted = [own(depth, out) for depth, out in enumerate(outputs)]
    batch.tokens[row, base + 2 : base + 2 + DEPTHS] = torch.tensor(drafted)
    assert head.matches(batch, DEPTHS)[row, base].tolist() == [True] * DEPTHS
    batch.tokens[row, base + 4] = (drafted[2] + 1) % 300
    assert head.matches(batch, DEPTHS)[row, base, :3].tolist() == [True, True, False]


def test_nothing_matches_beyond_the_end_of_the_text(head, batch):
    batch.tokens[:] = 0  # id 0 is in the vocabulary; a padded "true" token must not be taken for it
    head._teacher[0] = copy.copy(head._teacher[0])
    head._teacher[0].draft_tokens = lambda out: torch.zeros(out.shape[:-1], dtype=torch.long)
    length = batch.tokens.shape[1]
    found = head.matches(batch, DEPTHS)
    assert found.shape == (*batch.tokens.shape, DEPTHS)
    for depth in range(DEPTHS):
        assert found[0, :, depth].tolist() == [base + 2 + depth < length for base in range(length)]


def test_depths_beyond_a_short_text(head, features):
    batch = load_batch(features, np.array([0]))
    short = type(batch)(batch.tokens[:, :3], batch.hidden[:, :3], batch.answer[:, :3])
    assert head.matches(short, DEPTHS).shape == (1, 3, DEPTHS)


def test_the_names_are_those_vllm_loads_and_no_others(head):
    wanted = {"fc.weight", "norm.weight", *(f"fc_norm.{i}.weight" for i in range(LAYERS))}
    wanted |= {f"midlayer.self_attn.{name}_proj.weight" for name in "qkvo"}
    wanted |= {f"midlayer.mlp.{name}_proj.weight" for name in ("gate", "up", "down")}
    wanted |= {f"midlayer.{name}.weight" for name in ("input_layernorm", "hidden_norm", "post_attention_layernorm")}
    assert set(head.state_dict()) == wanted
    assert {name for name, weight in head.named_parameters() if weight.requires_grad} == wanted


def test_shapes_are_those_vllm_loads(head):
    shapes = {name: tuple(weight.shape) for name, weight in head.state_dict().items()}
    assert shapes["fc.weight"] == (HIDDEN, LAYERS * HIDDEN)
    assert shapes["midlayer.self_attn.q_proj.weight"] == (HEADS * SIZE, 2 * HIDDEN)
    assert shapes["midlayer.self_attn.k_proj.weight"] == (KV_HEADS * SIZE, 2 * HIDDEN)
    assert shapes["midlayer.mlp.down_proj.weight"] == (HIDDEN, 64)


def test_it_begins_by_saying_what_the_target_said(target, teacher, batch):
    """Untrained, every depth hands the target's last state through to the target's norm."""
    head = Eagle3Head(AutoConfig.from_pretrained(target), LAYERS, teacher)
    with torch.inference_mode():
        last = batch.hidden[:, :, -1]
        wanted = torch.nn.functional.rms_norm(last, last.shape[-1:], teacher.norm_weight, teacher.eps)
        for out in head.unroll(batch, DEPTHS):
            torch.testing.assert_close(out[batch.answer], wanted[batch.answer], rtol=1e-3, atol=1e-3)


def test_it_shares_no_memory_with_the_target(target, teacher):
    before = teacher.head.clone(), teacher.norm_weight.clone()
    head = Eagle3Head(AutoConfig.from_pretrained(target), LAYERS, teacher)
    with torch.no_grad():
        for weight in head.parameters():
            weight.zero_()
    assert torch.equal(teacher.head, before[0])
    assert torch.equal(teacher.norm_weight, before[1])


def test_the_loss_is_cross_entropy_against_the_target_at_every_depth(head, teacher, batch):
    """Term by term: base t, depth d, against what the target says at t + 1 + d, answers only."""
    with torch.inference_mode():
        loss, shown = head.loss(batch)
        outputs = list(head.unroll(batch, DEPTHS))
        target = teacher.distribution(batch.hidden[:, :, -1]).double()
        drafts = [teacher.draft_logits(out).double().log_softmax(-1) for out in outputs]
    total = 0.0
    for depth in range(DEPTHS):
        terms, right = [], []
        for row in range(len(batch.tokens)):
            answer = batch.answer[row].nonzero().flatten().tolist()
            for base in range(answer[0] - 1, answer[-1] - 1 - depth):
                p, log_q = target[row, base + 1 + depth], drafts[depth][row, base]
                terms.append(float(-(p * log_q).sum()))
                right.append(bool(p.argmax() == log_q.argmax()))
        assert shown[f"loss_{depth}"] == pytest.approx(np.mean(terms), rel=1e-5)
        assert shown[f"top1_{depth}"] == pytest.approx(np.mean(right))
        total += DEPTH_DECAY**depth * np.mean(terms)
    assert float(loss) == pytest.approx(total / sum(DEPTH_DECAY**d for d in range(DEPTHS)), rel=1e-5)


def test_only_answers_are_learnt_from(head, batch):
    """The last layer's states are an input and, through norm and head, the labels. With the input's weights
    at zero only labels are left: those of prompts do not count, those of answers do."""
    with torch.no_grad():
        head.fc.weight[:, -HIDDEN:] = 0
    loss = loss_of(head, batch)
    predicted = torch.nn.functional.pad(batch.answer[:, 1:], (0, 1))
    batch.hidden[:, :, -1][~predicted] += 3 * torch.randn(HIDDEN)
    assert loss_of(head, batch) == loss
    batch.hidden[:, :, -1][predicted] += 3 * torch.randn(HIDDEN)
    assert loss_of(head, batch) != pytest.approx(loss, abs=1e-3)


def test_padding_changes_no_loss(head, features):
    batch = load_batch(features, np.array([4]))
    pad = torch.nn.functional.pad
    longer = type(batch)(
        pad(batch.tokens, (0, 5)), pad(batch.hidden, (0, 0, 0, 0, 0, 5)), pad(batch.answer, (0, 5), value=False)
    )
    assert loss_of(head, longer) == pytest.approx(loss_of(head, batch), rel=1e-6)


def test_it_learns(target, teacher, batch, learns):
    learns(Eagle3Head(AutoConfig.from_pretrained(target), LAYERS, teacher, depths=DEPTHS), batch)
