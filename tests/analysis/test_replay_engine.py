"""The replay against an engine that is known exactly: what one output says of every K is what the engine does."""

import numpy as np
import pytest

from labkit.analysis.bootstrap import draw_weights
from labkit.analysis.replay import replay, replay_expected
from labkit.analysis.run_lengths import run_lengths_from_drafts
from labkit.config import Simulation
from labkit.engine.simulated.model import Generation, Model, Request, Speculation
from labkit.engine.simulated.tables import PERIOD

MODEL = Model(Simulation(seed=1, agreement=0.7))
TEMPERATURE, PROMPTS, TOKENS, SEEDS = 0.8, 24, 16, 200


def generate(prompt, seed, speculation=None, *, temperature, tokens=TOKENS):
    done = Generation(MODEL, Request(prompt=prompt, temperature=temperature, max_tokens=tokens, seed=seed), speculation)
    for _ in done:
        pass
    return done


def drafts_of(prompt, output):
    """The drafter's first choice at every output token."""
    before = [prompt[-1], *output[:-1]]
    return [int(MODEL.draft_argmax[token, (len(prompt) + i) % PERIOD]) for i, token in enumerate(before)]


def probs_of(prompt, output):
    """min(1, q / p) at every output position after the first."""
    before, at = [prompt[-1], *output[:-1]], np.arange(len(output))
    p, q = (rows(before, len(prompt), temperature=TEMPERATURE)[at, output] for rows in (MODEL.p, MODEL.q))
    return np.minimum(1, q / p)[1:]


def prompts(seed):
    return [tuple(prompt) for prompt in np.random.default_rng(seed).integers(0, 96, (PROMPTS, 8)).tolist()]


@pytest.mark.parametrize("k", [1, 2, 4, 8])
def test_greedy_steps_are_exactly_the_engines(k):
    speculation = Speculation(method="draft_model", k=k, model="q")
    runs, steps, accepted, beyond = [], 0, 0, 0
    for seed in range(4):
        for prompt in prompts(seed):
            served = generate(prompt, 0, speculation, temperature=0, tokens=40)
            runs.append(run_lengths_from_drafts(served.output, drafts_of(prompt, served.output)))
            steps, accepted = steps + len(served.accepted), accepted + sum(served.accepted)
            beyond += sum(served.accepted) + len(served.accepted) - (len(served.output) - 1)
    found = replay(runs, [k])
    assert found.steps.sum() == steps
    assert accepted - beyond <= found.accepted.sum() <= accepted, "the engine also counts drafts past the end"


@pytest.mark.parametrize("sampled", [False, True], ids=["greedy drafts", "sampled drafts"])
def test_at_a_temperature_the_difference_lies_within_its_interval(sampled):
    """95 % intervals of (engine − replay) on tokens per step, both sampling errors in it, over fixed seeds."""
    k, covered = 4, 0
    speculation = Speculation(method="draft_model", k=k, model="q", probabilistic=sampled)
    for seed in range(SEEDS):
        asked = prompts(seed)
        number = [2 * (seed * PROMPTS + i) for i in range(PROMPTS)]  # every text its own stream
        served = [generate(p, n, speculation, temperature=TEMPERATURE) for p, n in zip(asked, number, strict=True)]
        plain = [generate(p, n + 1, temperature=TEMPERATURE).output for p, n in zip(asked, number, strict=True)]
        if sampled:
            found = replay_expected([probs_of(p, o) for p, o in zip(asked, plain, strict=True)], [k])
        else:
            drafts = [drafts_of(p, o) for p, o in zip(asked, plain, strict=True)]
            found = replay([run_lengths_from_drafts(o, d) for o, d in zip(plain, drafts, strict=True)], [k])
        steps = np.array([len(done.accepted) for done in served])
        positions = np.array([len(done.output) - 1 for done in served])
        weights = draw_weights(PROMPTS, seed=seed)
        difference = (weights @ positions) / (weights @ steps) - found.tokens_per_step(weights)[:, 0]
        low, high = np.quantile(difference, [0.025, 0.975])
        covered += low <= 0 <= high
    assert covered >= 181, f"{covered} of {SEEDS} intervals hold 0"
