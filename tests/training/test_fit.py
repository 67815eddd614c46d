"""Training that is killed and gone on with is the same training."""

import itertools
import math
from dataclasses import asdict

import numpy as np
import pytest
import torch
from transformers import AutoConfig

from labkit.training.batches import Batches
from labkit.training.eagle import Eagle3Head
from labkit.training.evaluate import agreement
from labkit.training.fit import Schedule, fit
from labkit.training.progress import each_tenth_step
from labkit.training.small_draft import SmallDraft
from labkit.training.teacher import Teacher
from tests.training.conftest import LAYERS

STEPS = Schedule(steps=12, checkpoint_every=5)


class Killed(BaseException):
    """As a signal: nothing catches it."""


@pytest.fixture(params=["eagle3", "draft_model"])
def fresh(request, target, teacher):
    """A new model of each kind, always with the same first weights."""

    def make(seed=0):
        torch.manual_seed(seed)
        if request.param == "eagle3":
            return Eagle3Head(AutoConfig.from_pretrained(target), LAYERS, teacher, depths=2)
        return SmallDraft(target, Teacher(target), layers=(0,), intermediate_size=32)

    return make


def run(model, features, folder, *, key="k", schedule=STEPS, seed=0, seen=lambda row: None):
    return fit(
        model,
        Batches(features, batch_tokens=128, seed=seed),
        schedule,
        checkpoint=folder / "checkpoint.pt",
        key=key,
        evaluate=lambda: asdict(agreement(model, features, depths=2, texts=np.arange(4))),
        evaluate_every=4,
        seen=seen,
    )


def untimed(history):
    return [{key: value for key, value in row.items() if key != "seconds"} for row in history]


def assert_same(a, b):
    for (name, one), other in zip(a.state_dict().items(), b.state_dict().values(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-7, msg=name)


def killer(step):
    def seen(row):
        if row["step"] == step:
            raise Killed

    return seen


@pytest.mark.parametrize("kill_at", [3, 5, 8])
def test_killed_and_gone_on_with_is_undisturbed(fresh, features, tmp_path, kill_at):
    """Before the first checkpoint, in the step that would write it, and after it."""
    undisturbed, killed, resumed = fresh(), fresh(), fresh(seed=99)
    wanted = run(undisturbed, features, tmp_path / "a")
    with pytest.raises(Killed):
        run(killed, features, tmp_path / "b", seen=killer(kill_at))
    seen = []
    if kill_at < 6:
        resumed = fresh()
    history = run(resumed, features, tmp_path / "b", seen=seen.append)
    assert_same(resumed, undisturbed)
    assert untimed(history) == untimed(wanted)
    assert seen[0]["step"] == (6 if kill_at > 5 else 1)


def test_finished_training_is_only_read(fresh, features, tmp_path):
    first, again = fresh(), fresh(seed=99)
    history = run(first, features, tmp_path)
    seen = []
    assert run(again, features, tmp_path, seen=seen.append) == history
    assert seen == []
    assert_same(first, again)


def test_the_same_seed_gives_the_same_and_another_does_not(fresh, features, tmp_path):
    a, b, c = fresh(), fresh(), fresh()
    assert untimed(run(a, features, tmp_path / "a")) == untimed(run(b, features, tmp_path / "b"))
    assert_same(a, b)
    assert untimed(run(c, features, tmp_path / "c", seed=1)) != untimed(run(a, features, tmp_path / "a"))


def test_a_checkpoint_of_something_else_is_not_used(fresh, features, tmp_path):
    run(fresh(seed=5), features, tmp_path, key="other")
    model, alone, seen = fresh(), fresh(), []
    run(model, features, tmp_path, key="k", seen=seen.append)
    assert len(seen) == STEPS.steps
    run(alone, features, tmp_path / "alone")
    assert_same(model, alone)


def test_rows_say_what_happened(fresh, features, tmp_path):
    history = run(fresh(), features, tmp_path)
    assert [row["step"] for row in history] == list(range(1, 13))
    assert [row["step"] for row in history if "held_out" in row] == [4, 8, 12]
    batches = Batches(features, batch_tokens=128, seed=0)
    for i, row in enumerate(history):
        assert row["steps"] == 12
        assert row["tokens"] == int(batches.batch(i).answer.sum())
        assert math.isfinite(row["loss"])
        assert 0 <= row["top1_0"] <= 1
    assert history[-1]["loss"] < history[0]["loss"]
    assert history[-1]["held_out"]["tokens"] > 0
    for begin, end in ((0, 4), (4, 8), (8, 12)):
        look = history[end - 1]
        assert look["tokens_seen"] == sum(row["tokens"] for row in history[:end])
        assert look["mean_loss"] == pytest.approx(sum(row["loss"] for row in history[begin:end]) / 4)


def test_the_last_step_is_always_looked_at(fresh, features, tmp_path):
    history = run(fresh(), features, tmp_path, schedule=Schedule(steps=6))
    assert [row["step"] for row in history if "held_out" in row] == [4, 6]


def test_without_a_look_there_is_none(fresh, features, tmp_path):
    batches = Batches(features, batch_tokens=128, seed=0)
    history = fit(fresh(), batches, Schedule(steps=2), checkpoint=tmp_path / "new" / "c.pt")
    assert not any("held_out" in row for row in history)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["c.pt"]


def test_the_rate_rises_and_falls():
    schedule = Schedule(steps=100, warmup=0.1)
    factors = [schedule.factor(step) for step in range(100)]
    assert factors[:10] == pytest.approx([(i + 1) / 10 for i in range(10)])
    assert factors[10] == 1
    assert all(a > b for a, b in itertools.pairwise(factors[10:]))
    assert 0 < factors[-1] < 0.001
    assert Schedule(steps=1).factor(0) == 1


@pytest.mark.parametrize(("steps", "lines"), [(100, 10), (12, 10), (3, 3), (1, 1)])
def test_progress_is_ten_lines_at_most(steps, lines):
    said = []
    seen = each_tenth_step(said.append)
    for step in range(1, steps + 1):
        seen({"step": step, "steps": steps, "loss": 2.5, "top1_0": 0.5, "top1_1": 0.25, "tokens": 50, "seconds": 0.5})
    assert len(said) == lines
    assert said[-1] == (f"step {steps}/{steps}: loss 2.50, agreement by depth 0.50/0.25, 100 tokens/s, 0 min left")
