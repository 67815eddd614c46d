"""An EAGLE-3 head: one decoder layer that reads the target's hidden states and drafts from a reduced vocabulary.

At base position t the head takes the target's hidden states at t (several layers, each normed, projected to
one) and the embedding of token t + 1, and predicts token t + 2: depth 0.  At depth d it takes its own output
of depth d − 1 in place of the hidden states, and the embedding of token t + 1 + d.  Training unrolls this
for several depths with the true tokens, as drafting unrolls it with its own (EAGLE-3, Li et al. 2025,
"training-time test").  A query of depth d sees the keys of depth 0 up to t and those of its own chain.

Parameter names are those vLLM loads (``vllm/model_executor/models/llama_eagle3.py``); embeddings and the
rows of the head belong to the target and are not trained.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from labkit.training.batches import Batch
from labkit.training.teacher import Teacher

__all__ = ["Eagle3Head", "DEPTH_DECAY"]

#: Weight of each depth's loss against the one before: deeper drafts are reached less often.
DEPTH_DECAY = 0.9


class _Attention(nn.Module):
    """Grouped-query attention over depth 0's keys and the chain's own."""

    def __init__(self, config) -> None:
        from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

        super().__init__()
        self.heads, self.kv_heads = config.num_attention_heads, config.num_key_value_heads
        self.size = config.head_dim or config.hidden_size // self.heads
        self.rotary = LlamaRotaryEmbedding(config)  # with the target's scaling, which vLLM applies to the head too
        wide = 2 * config.hidden_size
        self.q_proj = nn.Linear(wide, self.heads * self.size, bias=False)
        self.k_proj = nn.Linear(wide, self.kv_heads * self.size, bias=False)
        self.v_proj = nn.Linear(wide, self.kv_heads * self.size, bias=False)
        self.o_proj = nn.Linear(self.heads * self.size, config.hidden_size, bias=False)

    def keys_and_values(self, x: torch.Tensor, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Of inputs (B, n, 2·hidden) at ``positions`` (B, n), repeated for every query head."""
        key = _rotate(self._split(self.k_proj(x), self.kv_heads), self._angles(x, positions))
        value, groups = self._split(self.v_proj(x), self.kv_heads), self.heads // self.kv_heads
        return key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)

    def forward(self, x: torch.Tensor, bases: torch.Tensor, depth: int, first, own) -> torch.Tensor:
        """``x``: (B, A, 2·hidden), the inputs of ``depth`` for ``bases`` (B, A); ``first``: keys and values of
        depth 0 at all positions; ``own``: those of the chain at depths 1 … ``depth``."""
        query = _rotate(self._split(self.q_proj(x), self.heads), self._angles(x, bases + depth))
        (first_key, first_value), length = first, first[0].shape[2]
        scores = (query @ first_key.transpose(-1, -2)).float() * self.size**-0.5
        future = torch.arange(length, device=x.device) > bases[:, None, :, None]
        scores = scores.masked_fill(future, -torch.inf)
        if own:
            mine = torch.stack([(query * k).sum(-1) for k, _ in own], -1).float() * self.size**-0.5
            scores = torch.cat([scores, mine], -1)
        weights = scores.softmax(-1).to(first_value.dtype)
        out = weights[..., :length] @ first_value
        for i, (_, value) in enumerate(own):
            out = out + weights[..., length + i, None] * value
        return self.o_proj(out.transpose(1, 2).flatten(2))

    def _angles(self, x: torch.Tensor, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        cos, sin = self.rotary(x.float(), positions)
        return cos[:, None], sin[:, None]  # the same for every head

    def _split(self, x: torch.Tensor, heads: int) -> torch.Tensor:
        return x.view(*x.shape[:2], heads, self.size).transpose(1, 2)


def _rotate(x: torch.Tensor, angles: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Rotary position embedding, halves paired as in Llama. x: (B, heads, T, size)."""
    cos, sin = angles
    left, right = x.float().chunk(2, -1)
    return (x * cos + torch.cat([-right, left], -1) * sin).to(x.dtype)


class _Mlp(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class _Layer(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        norm = lambda: nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)  # noqa: E731
        self.input_layernorm, self.hidden_norm, self.post_attention_layernorm = norm(), norm(), norm()
        self.self_attn, self.mlp = _Attention(config), _Mlp(config)

    def inputs(self, embeds: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        return torch.cat([self.input_layernorm(embeds), self.hidden_norm(hidden)], -1)

    def forward(self, x: torch.Tensor, hidden: torch.Tensor, bases: torch.Tensor, depth: int, first, own):
        """``x``: :meth:`inputs` at ``bases``; the rest as for the attention."""
        hidden = hidden + self.self_attn(x, bases, depth, first, own)
        return hidden + self.mlp(self.post_attention_layernorm(hidden))


class Eagle3Head(nn.Module):
    """The trainable part; ``teacher`` lends embeddings, head rows and the draft vocabulary."""

    def __init__(self, config, layers: int, teacher: Teacher, *, depths: int = 4) -> None:
        super().__init__()
        hidden = config.hidden_size
        self.depths, self._teacher = depths, [teacher]  # a list hides the target's weights from state_dict
        self.fc_norm = nn.ModuleList(nn.RMSNorm(hidden, eps=config.rms_norm_eps) for _ in range(layers))
        self.fc = nn.Linear(layers * hidden, hidden, bias=False)
        self.midlayer = _Layer(config)
        self.norm = nn.RMSNorm(hidden, eps=config.rms_norm_eps)
        self.norm.weight.data.copy_(teacher.norm_weight)
        self._start_as_the_target(hidden)

    def _start_as_the_target(self, hidden: int) -> None:
        """Begin by handing the target's last hidden state through: the layer adds nothing yet, and what comes out
        already lies where the target's head expects it."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=module.in_features**-0.5)
        for module in (self.midlayer.self_attn.o_proj, self.midlayer.mlp.down_proj, self.fc):
            nn.init.zeros_(module.weight)
        with torch.no_grad():
            self.fc.weight[:, -hidden:].copy_(torch.eye(hidden))

    def unroll(self, batch: Batch, depths: int, bases: torch.Tensor | None = None):
        """Yield for each depth the normed output (B, A, hidden), from which the draft's logits follow, for the
        chains that begin at ``bases`` (B, A); at every position without."""
        rows, length = batch.tokens.shape
        everywhere = torch.arange(length, device=batch.tokens.device).expand(rows, length)
        bases = everywhere if bases is None else bases
        embeds = self._teacher[0].embed(batch.tokens)
        normed = [norm(batch.hidden[:, :, i]) for i, norm in enumerate(self.fc_norm)]
        combined = self.fc(torch.cat(normed, -1)).float()
        x = self.midlayer.inputs(_shifted(embeds, 1), combined)
        first, own = self.midlayer.self_attn.keys_and_values(x, everywhere), []
        x, hidden = _at(x, bases), _at(combined, bases)
        for depth in range(depths):
            if depth:
                x = self.midlayer.inputs(_at(_shifted(embeds, 1 + depth), bases), hidden)
                own.append(self.midlayer.self_attn.keys_and_values(x, bases + depth))
            hidden = self.midlayer(x, hidden, bases, depth, first, own)
            yield self.norm(hidden)

    def loss(self, batch: Batch) -> tuple[torch.Tensor, dict[str, float]]:
        """Cross entropy against the target's distribution over the draft vocabulary, mean over depths. Chains
        begin where drafting can: wherever the next token belongs to the answer."""
        teacher = self._teacher[0]
        predicted = teacher.predicted(batch.answer)  # (B, T): positions whose next token belongs to the answer
        count = predicted.sum(1)
        wide = torch.arange(int(count.max()), device=predicted.device)
        there = wide < count[:, None]  # (B, A)
        bases = (predicted.int().argmax(1)[:, None] + wide).clamp_max(predicted.shape[1] - 1)
        wanted = teacher.distribution(batch.hidden[:, :, -1][predicted])  # rows in the order of ``there``
        rows = there.flatten().cumsum(0).view_as(there) - 1
        total, weight, shown = 0.0, 0.0, {}
        for depth, out in enumerate(self.unroll(batch, self.depths, bases)):
            usable = there[:, 1 + depth :]  # base t predicts what the target says at t + 1 + depth
            logits = teacher.draft_logits(out[:, : usable.shape[1]][usable])
            target = wanted[rows[:, 1 + depth :][usable]]
            loss = -(target * logits.log_softmax(-1)).sum(-1).mean()
            total, weight = total + loss * DEPTH_DECAY**depth, weight + DEPTH_DECAY**depth
            shown[f"loss_{depth}"] = float(loss.detach())
            shown[f"top1_{depth}"] = float((logits.argmax(-1) == target.argmax(-1)).float().mean())
        return total / weight, shown

    @torch.inference_mode()
    def matches(self, batch: Batch, depths: int) -> torch.Tensor:
        """(B, T, depths) bool: whether the draft of base t is, at each depth, the token of the text."""
        found = []
        for depth, out in enumerate(self.unroll(batch, depths)):
            drafted = self._teacher[0].draft_tokens(out)
            true = F.pad(batch.tokens[:, 2 + depth :], (0, min(2 + depth, batch.tokens.shape[1])), value=-1)
            found.append(drafted == true)
        return torch.stack(found, -1)


def _at(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """``x`` (B, T, n) at ``positions`` (B, A)."""
    return x.gather(1, positions[..., None].expand(*positions.shape, x.shape[-1]))


def _shifted(x: torch.Tensor, by: int) -> torch.Tensor:
    """``x`` (B, T, n) with what stands ``by`` further at each position, zeros at the end."""
    return F.pad(x[:, by:], (0, 0, 0, min(by, x.shape[1])))
