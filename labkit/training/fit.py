"""The training loop: one model, endless batches, a schedule that the step fixes, checkpoints that resume.

Matrices are trained with Muon, everything else with AdamW.  Batches and learning rate depend on the step
alone, so a killed and resumed training is the same training.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from labkit.training.batches import Batches
from labkit.training.features import autocast

__all__ = ["Row", "Schedule", "fit"]

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Learning rates rise for ``warmup`` of the ``steps`` and fall to nothing as a cosine."""

    steps: int
    lr: float = 1e-3
    matrix_lr: float = 0.02
    warmup: float = 0.03
    checkpoint_every: int = 50

    def factor(self, step: int) -> float:
        rise = max(1, round(self.warmup * self.steps))
        if step < rise:
            return (step + 1) / rise
        return 0.5 * (1 + math.cos(math.pi * (step - rise) / max(1, self.steps - rise)))


def fit(
    model: torch.nn.Module,
    batches: Batches,
    schedule: Schedule,
    *,
    checkpoint: Path,
    key: str = "",
    evaluate: Callable[[], dict[str, Any]] | None = None,
    evaluate_every: int = 1,
    seen: Callable[[Row], None] = lambda row: None,
) -> list[Row]:
    """Train ``model`` in place; returns one row a step: step, loss and agreement by depth, tokens, seconds.

    ``checkpoint`` is written now and then and read at the start if it belongs to the same ``key``.  What
    ``evaluate`` returns goes into every ``evaluate_every``-th row and the last as ``held_out``, with ``tokens_seen``
    (answer tokens from the first step on, repeats counted) and ``mean_loss`` (since the look before); ``seen`` is
    called with every new row.
    """
    optimizers = _optimizers(model, schedule)
    history: list[Row] = []
    if checkpoint.exists():
        history = _restore(checkpoint, key, model, optimizers)
    model.train()
    for step in range(len(history), schedule.steps):
        began = time.perf_counter()
        batch = batches.batch(step)
        with autocast():
            loss, shown = model.loss(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["top_lr"] * schedule.factor(step)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        seconds = time.perf_counter() - began
        row = {
            "step": step + 1,
            "steps": schedule.steps,
            "loss": float(loss.detach()),
            **shown,
            "tokens": int(batch.answer.sum()),
        }
        history.append({**row, "seconds": round(seconds, 3)})
        last = step + 1 == schedule.steps
        if evaluate and (last or (step + 1) % evaluate_every == 0):
            history[-1] |= _look(history, evaluate())
            model.train()
        seen(history[-1])
        if (step + 1) % schedule.checkpoint_every == 0 or last:
            _save(checkpoint, key, model, optimizers, history)
    return history


def _look(history: list[Row], held_out: dict[str, Any]) -> Row:
    """What a row with a look at held-out texts says beside its step's own figures."""
    before = max((i for i, row in enumerate(history) if "held_out" in row), default=-1)
    losses = [row["loss"] for row in history[before + 1 :]]
    seen = sum(row["tokens"] for row in history)
    return {"held_out": held_out, "tokens_seen": seen, "mean_loss": sum(losses) / len(losses)}


def _optimizers(model: torch.nn.Module, schedule: Schedule) -> list[torch.optim.Optimizer]:
    matrices = [p for p in model.parameters() if p.requires_grad and p.ndim == 2]
    others = [p for p in model.parameters() if p.requires_grad and p.ndim != 2]
    made = [
        torch.optim.Muon(matrices, lr=schedule.matrix_lr, weight_decay=0.05),
        torch.optim.AdamW(others, lr=schedule.lr, betas=(0.9, 0.95), weight_decay=0.0),
    ]
    for optimizer in made:
        for group in optimizer.param_groups:
            group["top_lr"] = group["lr"]
    return made


def _save(path: Path, key: str, model: torch.nn.Module, optimizers: list, history: list) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    state: dict[str, Any] = {"key": key, "model": model.state_dict(), "history": history}
    state["optimizers"] = [optimizer.state_dict() for optimizer in optimizers]
    new = path.with_suffix(".new")
    torch.save(state, new)
    os.replace(new, path)


def _restore(path: Path, key: str, model: torch.nn.Module, optimizers: list) -> list[Row]:
    state = torch.load(path, weights_only=True)
    if state["key"] != key:
        return []
    model.load_state_dict(state["model"])
    for optimizer, saved in zip(optimizers, state["optimizers"], strict=True):
        optimizer.load_state_dict(saved)
    return state["history"]
