"""Acceptance from counters and from per-step arrays, against published arithmetic and simulated truth."""

from dataclasses import replace

import numpy as np
import pytest

from labkit.analysis import acceptance
from labkit.analysis.acceptance import Acceptance, from_counters, from_records, from_steps
from labkit.engine.metrics_page import parse_page
from labkit.records import EngineCounters, RequestRecord

NAN = float("nan")


def record(accepted, drafted=None, output=None, prompt="p"):
    """A request with ``accepted`` drafts per drafted step; every step drafted 4 unless told."""
    drafted = drafted if drafted is not None or accepted is None else (4,) * len(accepted)
    return RequestRecord(
        prompt_id=prompt, category="c", language="en", output_tokens=output, per_step_accepted=accepted,
        per_step_drafted=drafted,
    )  # fmt: skip


def counters(drafts, drafted, accepted, per_pos):
    return EngineCounters(drafts=drafts, draft_tokens=drafted, accepted_tokens=accepted, accepted_per_pos=per_pos)


# --- golden values of FIELD_NOTES


def test_two_engines_on_a_metrics_page():
    """F1: rates of sums, `_created` twins are no counts."""
    name = "vllm:spec_decode_num"
    page = ""
    for engine, drafts, drafted, accepted, per_pos in [
        (0, 1000, 3000, 1500, (800, 450, 250)),
        (1, 500, 1500, 600, (350, 170, 80)),
    ]:
        labels = f'engine="{engine}",model_name="m"'
        page += f"{name}_drafts_total{{{labels}}} {drafts}\n{name}_drafts_created{{{labels}}} 1.76e+09\n"
        page += f"{name}_draft_tokens_total{{{labels}}} {drafted}\n"
        page += f"{name}_accepted_tokens_total{{{labels}}} {accepted}\n"
        for i, count in enumerate(per_pos):
            page += f'{name}_accepted_tokens_per_pos_total{{{labels},position="{i}"}} {count}\n'
    found = from_counters(parse_page(page)["m"].total)
    assert found.steps == 1500
    assert found.rate == pytest.approx(0.4667, abs=5e-5), "0.45 is the mean of engines"
    assert found.mean_acceptance_length == pytest.approx(2.400)
    assert found.joint == pytest.approx((0.767, 0.413, 0.220), abs=5e-4)
    assert found.conditional == pytest.approx((0.767, 0.539, 0.532), abs=5e-4)
    assert not found.censored


@pytest.mark.parametrize(
    ("per_pos", "rate", "length"), [((80, 60), 0.70, 2.40), ((80, 60, 40, 25), 0.5125, 3.05)], ids=["K=2", "K=4"]
)
def test_the_rate_falls_with_k_while_the_length_grows(per_pos, rate, length):
    found = from_counters(counters(100, 100 * len(per_pos), sum(per_pos), per_pos))
    assert found.rate == pytest.approx(rate)
    assert found.mean_acceptance_length == pytest.approx(length)


def test_the_bonus_token_is_in_the_length_only():
    found = from_counters(counters(100, 200, 160, (90, 70)))
    assert found.accepted_per_draft == pytest.approx(1.60)
    assert found.mean_acceptance_length == pytest.approx(2.60)


def test_a_histogram_of_steps():
    """vllm PR 48915: 4, 3, 2, 1 steps accepted 0, 1, 2, 3 of 3 drafts."""
    found = from_steps([0] * 4 + [1] * 3 + [2] * 2 + [3], [3] * 10)
    assert (found.steps, found.accepted, found.drafted) == (10, 10, 30)
    assert found.rate == pytest.approx(0.333, abs=5e-4)
    assert found.mean_acceptance_length == pytest.approx(2.0)
    assert found.joint == pytest.approx((0.6, 0.3, 0.1))


@pytest.mark.parametrize(("alpha", "k", "length"), [(0.65, 5, 2.64), (0, 5, 1), (1, 5, 6), (0.5, 0, 1), (0.5, 1, 1.5)])
def test_the_iid_length(alpha, k, length):
    assert acceptance.iid_length(alpha, k) == pytest.approx(length, abs=5e-3)


# --- edge cases: nothing there, or nonsense


@pytest.mark.parametrize("lacking", ["drafts", "draft_tokens", "accepted_tokens", "accepted_per_pos"])
def test_counters_with_a_missing_series_have_no_acceptance(lacking):
    whole = {"drafts": 9, "draft_tokens": 18, "accepted_tokens": 9, "accepted_per_pos": (6, 3)}
    assert from_counters(EngineCounters(**whole)) is not None
    assert from_counters(EngineCounters(**whole | {lacking: None})) is None


def test_counters_without_a_draft_have_no_acceptance():
    assert from_counters(counters(0, 0, 0, (0, 0))) is None


@pytest.mark.parametrize(("accepted", "drafted"), [([], []), ([0, 0], [0, 0])], ids=["no step", "nothing drafted"])
def test_steps_without_drafts_have_no_rates(accepted, drafted):
    found = from_steps(accepted, drafted)
    assert (found.steps, found.drafted, found.accepted) == (len(accepted), 0, 0)
    assert np.isnan(found.rate)
    assert (found.joint, found.conditional) == ((), ())
    assert not found.censored


def test_no_step_has_no_length():
    assert np.isnan(from_steps([], []).mean_acceptance_length)


@pytest.mark.parametrize(
    ("accepted", "drafted", "words"),
    [
        ([1, 2], [3], "one entry per step each; got 2 and 1"),
        ([], [3], "got 0 and 1"),
        ([4], [3], "between 0 and as many tokens as it drafted"),
        ([-1], [3], "between 0 and"),
    ],
)
def test_arrays_that_contradict_each_other_are_refused(accepted, drafted, words):
    with pytest.raises(ValueError, match=words):
        from_steps(accepted, drafted)


def test_records_without_arrays_are_unknown_and_with_empty_ones_undrafted():
    assert from_records([]) is None
    assert from_records([record(None), record(None)]) is None
    assert from_records([record(()), record(())]).steps == 0
    assert from_records([record(None), record(()), record((2, 4))]) == from_steps([2, 4], [4, 4])


# --- conditional rates


def test_conditional_rates_of_short_proposals_are_exact():
    """K = 3 and four steps, one of which drafted a single token: it cannot fail at position 2."""
    found = from_steps([1, 3, 1, 0], [1, 3, 3, 3])
    assert found.reached == (4, 2, 1)
    assert found.joint == pytest.approx((3 / 4, 1 / 4, 1 / 4))
    assert found.conditional == pytest.approx((3 / 4, 1 / 2, 1))
    assert not found.censored


def test_counters_of_the_same_steps_give_lower_bounds_and_say_so():
    found = from_counters(counters(4, 10, 5, (3, 1, 1)))
    assert found.censored
    assert found.conditional == pytest.approx((3 / 4, 1 / 3, 1))
    exact = from_steps([1, 3, 1, 0], [1, 3, 3, 3]).conditional
    assert all(low <= rate for low, rate in zip(found.conditional, exact, strict=True))


def test_counters_and_steps_agree_where_every_step_drafts_k():
    accepted = np.random.default_rng(0).integers(0, 5, 200)
    per_pos = tuple(int((accepted >= i).sum()) for i in range(1, 5))
    counted = from_counters(counters(200, 800, int(accepted.sum()), per_pos))
    stepped = from_steps(accepted, [4] * 200)
    assert not counted.censored
    assert counted.conditional == pytest.approx(stepped.conditional)
    assert (counted.rate, counted.joint) == (stepped.rate, stepped.joint)


def test_a_position_that_was_never_reached_is_unknown():
    assert from_steps([0, 0], [2, 2]).conditional == pytest.approx((0, NAN), nan_ok=True)


# --- decode steps and tokens per step


@pytest.mark.parametrize(
    ("accepted", "output", "steps"),
    [
        pytest.param((4, 4), 11, 2, id="all drafted"),
        pytest.param((2, 0), 11, 2 + 6, id="ngram drafts on two steps and misses six"),
        pytest.param((), 11, 10, id="no step drafted: one token each"),
        pytest.param((5,), 4, 1, id="vllm 56101: verifier 6, emitted 3"),
        pytest.param((), 1, 0, id="prefill alone"),
        pytest.param(None, 11, None, id="no arrays: unknown"),
        pytest.param((4, 4), None, None, id="no usage: unknown"),
    ],
)
def test_decode_steps(accepted, output, steps):
    drafted = None if accepted is None else (5,) * len(accepted)
    assert acceptance.decode_steps(record(accepted, drafted, output)) == steps


@pytest.mark.parametrize(
    ("records", "tokens"),
    [
        pytest.param([record((2, 0), output=11)], 10 / 8, id="undrafted steps count"),
        pytest.param([record((), output=11)], 1.0, id="nothing drafted"),
        pytest.param([record((4,), output=4)], 3.0, id="beyond the output's end"),
        pytest.param([record((4, 4), output=11), record((), output=11)], 20 / 12, id="pooled, not averaged"),
        pytest.param([record((4, 4), output=11), record(None, output=11)], 5.0, id="unknown left out"),
        pytest.param([record((), output=1)], NAN, id="prefill alone"),
        pytest.param([record(None, output=11)], NAN, id="unknown"),
        pytest.param([], NAN, id="empty"),
    ],
)
def test_tokens_per_step(records, tokens):
    assert acceptance.tokens_per_step(records) == pytest.approx(tokens, nan_ok=True)


@pytest.mark.parametrize(
    ("chunks", "steps"),
    [
        pytest.param((1, 1, 1, 1, 1), 4, id="the last draft was cut to one token: three undrafted steps before it"),
        pytest.param((1, 4, 1), 2, id="four were kept: one undrafted step after it"),
        pytest.param((1, 1, 3), 2, id="seen in the last chunk"),
        pytest.param((5,), 1, id="one chunk for all: as few steps as the arrays allow"),
        pytest.param((1, 1, 1, 1, 1, 1, 1, 1), 4, id="more chunks than steps there can be"),
    ],
)
def test_chunks_tell_how_much_of_the_last_draft_lies_beyond_the_end(chunks, steps):
    """A step of 3 drafts, all accepted; 5 tokens with the first from prefill."""
    assert acceptance.decode_steps(replace(record((3,), output=5), chunk_tokens=chunks)) == steps


def test_the_length_is_over_drafted_steps_and_speed_over_all():
    ngram = [record((4, 2), output=31)]
    assert from_records(ngram).mean_acceptance_length == pytest.approx(4.0)
    assert acceptance.tokens_per_step(ngram) == pytest.approx(30 / 24)


# --- weights and intervals


def test_token_weighted_and_request_weighted_length():
    """A long request at AL 1 beside a short one at AL 5."""
    records = [record((0,) * 9), record((4,)), record(()), record(None)]
    assert from_records(records).mean_acceptance_length == pytest.approx(1.4)
    assert acceptance.length_interval(records).mid == pytest.approx(1.4)
    assert acceptance.request_weighted_length(records) == pytest.approx(3.0)


@pytest.mark.parametrize("records", [[], [record(None)], [record(())]], ids=["empty", "unknown", "undrafted"])
def test_no_drafted_step_no_interval(records):
    found = acceptance.length_interval(records)
    assert np.isnan([found.mid, found.low, found.high]).all()
    assert np.isnan(acceptance.request_weighted_length(records))
    assert acceptance.joint_intervals(records, 4) == []


def of_prompts(records):
    """The same records, each of a prompt of its own."""
    return [replace(r, prompt_id=f"p{i}") for i, r in enumerate(records)]


def test_repetitions_of_a_prompt_are_one_unit():
    """Blocks repeat prompts, and a conversation has turns: neither makes the interval narrower."""
    once = of_prompts(record((i % 5, 4)) for i in range(12))
    again = acceptance.length_interval(once * 3)
    assert acceptance.length_interval(once) == again
    assert np.isnan(acceptance.length_interval([record((2, 4))] * 9).low), "one prompt allows no interval"


def test_identical_requests_give_a_point_and_few_none():
    same = acceptance.length_interval(of_prompts(record((2, 4)) for _ in range(6)))
    assert (same.low, same.mid, same.high) == pytest.approx((4, 4, 4))
    few = acceptance.length_interval(of_prompts(record((2, 4)) for _ in range(4)))
    assert few.mid == pytest.approx(4)
    assert np.isnan([few.low, few.high]).all()


def test_joint_intervals_surround_the_pooled_rates():
    records = simulated(np.random.default_rng(5), alpha=0.6, requests=30)
    intervals = acceptance.joint_intervals(records, 4)
    assert [i.mid for i in intervals] == pytest.approx(from_records(records).joint)
    assert all(i.low < i.mid < i.high for i in intervals)
    wide = acceptance.joint_intervals(records, 4, confidence=0.99)
    assert all(w.low < i.low < i.high < w.high for w, i in zip(wide, intervals, strict=True))


def simulated(rng, *, alpha, requests, k=4):
    """Requests of 5 to 40 steps, each draft accepted with ``alpha`` until the first that is not."""
    lengths = rng.integers(5, 41, requests)
    return of_prompts(record(tuple(np.minimum(rng.geometric(1 - alpha, n) - 1, k).tolist())) for n in lengths)


def test_the_interval_covers_the_true_length():
    """95 % nominal, 30 requests: at least 88 % of 200 runs, and as wide as the runs' spread asks."""
    rng, truth = np.random.default_rng(11), acceptance.iid_length(0.6, 4)
    runs = [acceptance.length_interval(simulated(rng, alpha=0.6, requests=30)) for _ in range(200)]
    assert sum(run.low <= truth <= run.high for run in runs) >= 176
    assert np.mean([run.mid for run in runs]) == pytest.approx(truth, abs=0.03)
    spread = np.std([run.mid for run in runs])
    assert np.mean([run.high - run.low for run in runs]) == pytest.approx(2 * 1.96 * spread, rel=0.25)


def test_counts_are_frozen():
    with pytest.raises(AttributeError):
        Acceptance(steps=1, drafted=1, accepted=1, per_pos=(1,)).steps = 2
