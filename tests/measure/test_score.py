"""Scores of given outputs: from a server of the drafter, from vLLM's own proposer, from logits."""

from dataclasses import replace

import numpy as np
import pytest

from labkit.config import Drafter, EngineConfig, Simulation
from labkit.engine.simulated.model import Model
from labkit.errors import ConfigError, MeasurementError
from labkit.measure.score import (
    draft_alone,
    lookup_bounds,
    scorable,
    score_with_logits,
    score_with_lookup,
    score_with_server,
)  # fmt: skip
from labkit.records import RequestRecord
from tests.conftest import SPECS


def record(prompt=(3, 4, 5), output=(6, 7, 8), **fields):
    fields = {"prompt_token_ids": prompt, "output_token_ids": output, "prompt_id": "p"} | fields
    return RequestRecord(category="c", language="en", output_tokens=len(output or ()), **fields)


@pytest.mark.parametrize(
    "useless",
    [record(output=None), record(prompt=None), record(output=(6,)), record(error="HTTP 400")],
    ids=["no output ids", "no prompt ids", "one token", "failed"],
)
def test_what_cannot_be_scored(useless):
    assert scorable([useless, record()]) == [record()]
    with pytest.raises(MeasurementError, match="no output can be scored"):
        scorable([useless])


def test_a_server_gives_its_first_choice_at_every_output_token(simulate):
    model, texts = Model(Simulation()), [record(), record(prompt=(1,), output=(2, 90, 3, 4))]
    found = score_with_server(simulate(SPECS["baseline"]), texts)
    assert [trace.output_token_ids for trace in found] == [(6, 7, 8), (2, 90, 3, 4)]
    for trace, text in zip(found, texts, strict=True):
        ids = [*text.prompt_token_ids, *text.output_token_ids]
        wanted = model.score(ids).argmax(axis=-1)[len(text.prompt_token_ids) - 1 :]
        assert list(trace.draft_token_ids) == wanted.tolist()
        assert (trace.prompt_id, trace.where) == ("p", "p, turn 1")


def test_a_server_that_is_gone_is_named(simulate):
    engine = simulate(SPECS["baseline"])
    engine.close()
    with pytest.raises(MeasurementError, match=r"http://127\.0\.0\.1:\d+ does not score: "):
        score_with_server(engine, [record()])


def test_logits_need_a_temperature(tmp_path):
    with pytest.raises(ConfigError, match="at T = 0 nothing is sampled"):
        score_with_logits([record()], target=tmp_path, draft=tmp_path, temperature=0)


@pytest.mark.engine
def test_lookup_at_every_position():
    """Prompt 1 2 3 4 1 2 3, output 9 1 2 3 4: after 9 nothing; after 9 1 no pair; after 1 2 come 3 4 1 2 3 9 1 2."""
    text = record(prompt=(1, 2, 3, 4, 1, 2, 3), output=(9, 1, 2, 3, 4))
    (found,) = score_with_lookup([text], shortest=2, longest=4, max_model_len=64)
    assert found.drafted == (0, 0, 8, 8)
    assert found.run_lengths == (0, 0, 2, 1)
    (near_the_end,) = score_with_lookup([text], shortest=2, longest=4, max_model_len=12)
    assert near_the_end.drafted == (0, 0, 2, 1)


@pytest.mark.engine
def test_logits_of_one_model_accept_everything(demo_folders):
    """p = q: every draft is accepted; p ≠ q: the mean is the acceptance rate of the first position."""
    target, draft = demo_folders
    text = record(prompt=(1, 9690, 198), output=(504, 3575, 282, 4649))
    (same,) = score_with_logits([text], target=target, draft=target, temperature=0.8)
    assert same.acceptance_probs == pytest.approx((1, 1, 1))
    (other,) = score_with_logits([text], target=target, draft=draft, temperature=0.8)
    assert 0 < np.mean(other.acceptance_probs) < 1


@pytest.fixture
def demo_folders():
    from pathlib import Path

    from labkit.drafters.demo import locate

    return Path(locate("demo")), Path(locate("demo/draft-2l"))


def test_a_draft_alone_runs_as_the_run_did_and_no_longer_than_its_texts():
    """Its own window may be as short as the target's."""
    record = RequestRecord(
        prompt_id="p", category="c", language="en", prompt_token_ids=(1,) * 5, output_token_ids=(1,) * 3
    )
    run = EngineConfig(target="t", max_model_len=2048, args=("--dtype", "half"), env={"A": "1"}, port=8000)
    alone = draft_alone(run, "d", [record, replace(record, output_token_ids=None)])
    assert (alone.target, alone.max_model_len, alone.port) == ("d", 9, None)
    assert (alone.args, alone.env) == (run.args, run.env)


@pytest.mark.parametrize(
    ("options", "bounds"),
    [({}, (5, 5)), ({"prompt_lookup_max": 4}, (4, 4)), ({"prompt_lookup_min": 2, "prompt_lookup_max": 4}, (2, 4))],
)
def test_bounds_of_a_lookup_are_vllms(options, bounds):
    assert lookup_bounds(Drafter(method="ngram", options=options)) == bounds
