"""Replays of a run: which source is taken, up to which K, and what is left out."""

from dataclasses import replace

import pytest

from labkit.analysis.every_k import every_k
from labkit.config import Drafter, Sampling
from labkit.measure.traces import Trace
from tests.analysis.test_cost_cells import DRAFT, NGRAM, measured, record

EAGLE = Drafter(method="eagle3", model="demo/eagle")


def drafted(accepted, k, prompt="p"):
    """A record all of whose tokens come from drafted steps of K."""
    made = record(tokens=sum(accepted) + len(accepted), accepted=accepted, prompt_id=prompt)
    return replace(made, per_step_drafted=(k,) * len(accepted))


def test_nothing_measured_replays_nothing():
    assert every_k([]) == []
    assert every_k([measured([record()])]) == []


def test_the_largest_k_of_a_draft_model_replays_into_every_smaller_one():
    """Steps of 3, 0 and 1: right, right, right, (bonus), wrong, right, wrong."""
    small, large = (
        measured([drafted((1,), 1)], drafter=DRAFT, k=1),
        measured([drafted((3, 0, 1), 3)], drafter=DRAFT, k=3),
    )
    (found,) = every_k([small, large])
    assert (found.drafter, found.temperature, found.source) == ("draft", 0.0, "steps")
    assert found.replay.ks == (1, 2, 3)
    assert found.replay.steps.tolist() == [[4, 4, 3]], "the bonus token's draft is taken for wrong"
    assert found.prompts == ("p",)


def test_a_head_whose_drafts_depend_on_depth_is_cut():
    (found,) = every_k([measured([drafted((3, 0, 1), 3)], drafter=EAGLE, k=3)])
    assert (found.source, found.replay.ks) == ("cut", (1, 2, 3))
    assert found.replay.tokens_per_step()[0] == pytest.approx(5 / 3)


def test_a_draft_model_that_drafted_less_than_k_somewhere_is_cut():
    short = replace(drafted((1, 0), 2), per_step_drafted=(2, 1))
    assert every_k([measured([short], drafter=DRAFT, k=2)])[0].source == "cut"


def test_scored_outputs_come_first_and_reach_further():
    trace = Trace(where="t:1", prompt_id="p", run_lengths=(2, 1, 0), drafted=(9, 9, 9))
    runs = [measured([drafted((1,), 2)], drafter=NGRAM, k=2)]
    (found,) = every_k(runs, {("ngram", 0.0): [trace]}, up_to=5)
    assert (found.source, found.replay.ks) == ("scored", (1, 2, 3, 4, 5))
    assert found.replay.steps.tolist() == [[2, 1, 1, 1, 1]]


def test_looping_outputs_are_left_out():
    loop = tuple([1, 2, 3, 4] * 30)
    base = measured([replace(record(prompt_id="loops"), output_token_ids=loop)])
    traces = [Trace(where="t", prompt_id=name, run_lengths=(0,), drafted=None) for name in ("loops", "fine")]
    (found,) = every_k([base], {("draft", 0.0): traces})
    assert found.prompts == ("fine",)


def test_a_run_without_per_step_arrays_replays_nothing():
    assert every_k([measured([record()], drafter=DRAFT, k=2)]) == []


def test_a_step_that_did_not_draft_makes_it_approximate_and_breaks_nothing():
    """8 tokens from steps of 3 and 2 tokens: three steps drafted nothing."""
    rare = replace(drafted((2, 1), 4), output_tokens=9)
    (found,) = every_k([measured([rare], drafter=DRAFT, k=4)])
    assert found.source == "cut"
    assert found.replay.steps[0, -1] == pytest.approx(5)


def test_sampled_drafts_depend_on_chance_and_are_cut():
    sampled = replace(DRAFT, options={"draft_sample_method": "probabilistic"})
    hot = replace(measured([drafted((1, 0), 2)], drafter=sampled, k=2))
    warm = replace(hot, cell=replace(hot.cell, sampling=Sampling(temperature=0.8)))
    assert [e.source for e in every_k([hot])] == ["steps"]
    assert [e.source for e in every_k([warm])] == ["cut"]


def test_a_k_with_a_few_prompts_is_not_what_all_rests_on():
    many = measured([drafted((3, 0, 1), 3, prompt=f"p{i}") for i in range(6)], drafter=EAGLE, k=3)
    probe = measured([drafted((8,), 8)], drafter=EAGLE, k=8)
    (found,) = every_k([many, probe])
    assert found.replay.ks == (1, 2, 3)
    assert len(found.prompts) == 6


def test_where_every_output_of_the_largest_k_loops_the_next_is_taken():
    loop = replace(drafted((8,), 8), output_token_ids=tuple([1, 2, 3, 4] * 30))
    fine = measured([drafted((1,), 2)], drafter=EAGLE, k=2)
    assert every_k([fine, measured([loop], drafter=EAGLE, k=8)])[0].replay.ks == (1, 2)
