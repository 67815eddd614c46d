"""Every K from one trace: by hand, against a plain reference, and against simulation."""

import numpy as np
import pytest

from labkit.analysis.replay import MAX_K, intervals, replay, replay_expected
from labkit.analysis.run_lengths import run_lengths_from_drafts
from labkit.errors import ConfigError

#: Right, right, wrong, right, right, right over six positions: the runs a draft model leads to.
RUNS = [2, 1, 0, 3, 2, 1]


def drafts(matches):
    """Run lengths where the drafts at ``matches`` (one per position) are right."""
    return run_lengths_from_drafts([0] * (len(matches) + 1), [0, *(0 if right else 1 for right in matches)])


def plain(runs, k, drafted=None):
    """(steps, drafted steps, draft tokens, accepted of each step) in the words of the definition."""
    steps, drafted_steps, draft_tokens, accepted, s, n = 0, 0, 0, [], 0, len(runs)
    while s < n:
        proposed = k if drafted is None else min(drafted[s], k)
        a = min(runs[s], proposed, n - s)
        steps, drafted_steps, draft_tokens = steps + 1, drafted_steps + (proposed > 0), draft_tokens + proposed
        if proposed:
            accepted.append((a, proposed))
        s += a + 1
    return steps, drafted_steps, draft_tokens, accepted


# --- edge cases


@pytest.mark.parametrize("loop", [replay, replay_expected])
def test_an_output_of_one_token_has_no_step(loop):
    found = loop([[]], [1, 4])
    assert found.positions.tolist() == [0]
    assert found.steps.tolist() == [[0, 0]]
    for figure in (found.mean_acceptance_length(), found.tokens_per_step(), found.acceptance_rate()):
        assert np.isnan(figure).all()
    assert np.isnan(found.joint()).all()


@pytest.mark.parametrize(("run", "accepted"), [(0, 0), (1, 1)])
def test_one_position_is_one_step_at_every_k(run, accepted):
    found = replay([[run]], range(1, 6))
    assert found.steps.tolist() == [[1] * 5]
    assert found.accepted.tolist() == [[accepted] * 5]
    assert found.draft_tokens.tolist() == [[1, 2, 3, 4, 5]], "vLLM drafts K at the end of the output as well"


def test_nothing_accepted_is_a_step_per_position():
    found = replay([[0] * 7], [1, 3])
    assert found.steps.tolist() == [[7, 7]]
    assert found.mean_acceptance_length() == pytest.approx([1, 1])
    assert found.tokens_per_step() == pytest.approx([1, 1])
    assert found.conditional()[1] == pytest.approx([0, np.nan, np.nan], nan_ok=True)


def test_everything_accepted_gives_k_plus_one_tokens_a_step():
    found = replay([drafts([True] * 12)], [1, 2, 3, 5])
    assert found.steps.tolist() == [[6, 4, 3, 2]]
    assert found.mean_acceptance_length() == pytest.approx([2, 3, 4, 6])
    assert found.acceptance_rate() == pytest.approx([1, 1, 1, 1])


def test_a_k_beyond_the_output_changes_only_what_is_drafted():
    found = replay([RUNS], [6, 7, MAX_K])
    assert (found.steps == found.steps[:, :1]).all()
    assert (found.accepted == found.accepted[:, :1]).all()
    assert found.draft_tokens.tolist() == [[12, 14, 2 * MAX_K]]


# --- by hand


def test_by_hand():
    """K = 1: 0→2→3→5→6; K = 2: 0→3, 3→6; K = 3: 0→3, then three drafts and the end."""
    found = replay([RUNS], [1, 2, 3])
    assert found.steps.tolist() == [[4, 2, 2]]
    assert found.accepted.tolist() == [[3, 4, 5]]
    assert found.draft_tokens.tolist() == [[4, 4, 6]]
    assert found.mean_acceptance_length() == pytest.approx([1.75, 3, 3.5])
    assert found.tokens_per_step() == pytest.approx([1.5, 3, 3])
    assert found.joint()[2] == pytest.approx([1, 1, 0.5])
    assert found.conditional()[2] == pytest.approx([1, 1, 0.5])
    assert np.isnan(found.joint()[0, 1:]).all(), "K = 1 has no second position"


def test_ngram_has_steps_without_a_draft():
    """A proposal of 2 at the first position, none before the fourth, 5 there: steps at 0, 2, 3."""
    found = replay([[1, 0, 0, 3, 0, 0]], [4], drafted=[[2, 0, 0, 5, 0, 0]])
    assert (found.steps.item(), found.drafted_steps.item(), found.draft_tokens.item()) == (3, 2, 6)
    assert found.accepted.item() == 4
    assert found.mean_acceptance_length() == pytest.approx([3]), "over drafted steps"
    assert found.tokens_per_step() == pytest.approx([2]), "over all steps"
    assert found.conditional()[0] == pytest.approx([1, 1 / 2, 1, 0]), "the short proposal cannot fail at position 3"


def test_a_drafter_that_never_proposes():
    found = replay([[0, 0, 0]], [2], drafted=[[0, 0, 0]])
    assert (found.steps.item(), found.drafted_steps.item(), found.draft_tokens.item()) == (3, 0, 0)
    assert np.isnan(found.mean_acceptance_length()).all()
    assert found.tokens_per_step() == pytest.approx([1])


def test_requests_are_pooled_and_never_joined():
    """The run of one request does not reach into the next."""
    alone = [replay([run], [1, 4]) for run in (RUNS, [0], [], drafts([True] * 3))]
    found = replay([RUNS, [0], [], drafts([True] * 3)], [1, 4])
    assert found.steps.tolist() == [one.steps[0].tolist() for one in alone]
    assert found.tokens_per_step() == pytest.approx(10 / sum(one.steps[0] for one in alone))


def test_the_counts_of_one_k():
    found = replay([RUNS, [0, 0]], [3, 2, 2])
    assert found.ks == (2, 3)
    assert (found.at(2).steps, found.at(2).drafted, found.at(2).accepted) == (4, 8, 4)
    assert found.at(2).per_pos == (2, 2)
    assert found.at(3).joint == pytest.approx((2 / 4, 2 / 4, 1 / 4))
    assert found.at(3).mean_acceptance_length == pytest.approx(found.mean_acceptance_length()[1])
    with pytest.raises(ConfigError, match="K = 4 was not replayed; these were: 2, 3"):
        found.at(4)


# --- against the definition, and each other


@pytest.mark.parametrize("lookup", [False, True], ids=["every step drafts", "some steps draft"])
def test_random_requests_against_the_definition(lookup):
    rng, ks = np.random.default_rng(4), [1, 2, 3, 5, 8, 40]
    lengths = [*range(4), *rng.integers(4, 60, 60)]
    runs = [rng.integers(0, np.arange(n, 0, -1) + 1) if lookup else drafts(rng.random(n) < 0.7) for n in lengths]
    drafted = [rng.integers(0, 7, n) for n in lengths] if lookup else None
    found = replay(runs, ks, drafted=drafted)
    for r, run in enumerate(runs):
        for j, k in enumerate(ks):
            steps, drafted_steps, draft_tokens, accepted = plain(run, k, drafted[r] if lookup else None)
            assert (found.steps[r, j], found.drafted_steps[r, j]) == (steps, drafted_steps)
            assert found.draft_tokens[r, j] == draft_tokens
            assert found.accepted[r, j] == sum(a for a, _ in accepted)
            assert found.per_pos[r, j, :k].tolist() == [sum(a > i for a, _ in accepted) for i in range(k)]
            assert found.reached[r, j, :k].tolist() == [sum(a >= i and d > i for a, d in accepted) for i in range(k)]


def test_certain_probabilities_are_the_scan():
    rng, ks = np.random.default_rng(5), range(1, 12)
    matches = [rng.random(n) < 0.7 for n in (0, 1, 2, 30, 100)]
    for drafted in (None, [rng.integers(0, 6, match.size) for match in matches]):
        exact = replay([drafts(match) for match in matches], ks, drafted=drafted)
        expected = replay_expected([match.astype(float) for match in matches], ks, drafted=drafted)
        for name in ("positions", "steps", "drafted_steps", "draft_tokens", "accepted", "per_pos", "reached"):
            assert (getattr(expected, name) == getattr(exact, name)).all(), name


def test_uncertain_probabilities_are_the_mean_of_scans():
    """20,000 draws: each expectation within 5 standard errors."""
    rng, ks, draws = np.random.default_rng(6), [1, 3, 6], 20_000
    probs, drafted = rng.random(25), rng.integers(0, 8, 25)
    for proposals in (None, drafted):
        every = None if proposals is None else [proposals] * draws
        found = replay([drafts(row) for row in rng.random((draws, 25)) < probs], ks, drafted=every)
        expected = replay_expected([probs], ks, drafted=every and every[:1])
        for name in ("steps", "draft_tokens", "accepted", "per_pos", "reached"):
            drawn = getattr(found, name)
            error = 5 * drawn.std(axis=0) / draws**0.5 + 1e-9
            assert (abs(getattr(expected, name)[0] - drawn.mean(axis=0)) <= error).all(), name


def test_equal_probabilities_approach_the_iid_length():
    from labkit.analysis.acceptance import iid_length

    found = replay_expected([np.full(200_000, 0.6)], [1, 4, 8])
    assert found.mean_acceptance_length() == pytest.approx([iid_length(0.6, k) for k in (1, 4, 8)], rel=1e-4)


def test_more_drafts_never_take_more_steps():
    rng = np.random.default_rng(7)
    found = replay([drafts(rng.random(80) < 0.8) for _ in range(20)], range(1, 20))
    assert (np.diff(found.steps, axis=1) <= 0).all()


# --- intervals


def test_weights_count_a_request_more_than_once():
    runs = [RUNS, [0, 0], drafts([True] * 5)]
    found, again = replay(runs, [1, 3]), replay([runs[0], runs[0], runs[2]], [1, 3])
    weights = np.array([[1, 1, 1], [2, 0, 1]])
    for name in ("mean_acceptance_length", "acceptance_rate", "tokens_per_step", "joint", "conditional"):
        weighted = getattr(found, name)(weights)
        np.testing.assert_allclose(weighted[0], getattr(found, name)())
        np.testing.assert_allclose(weighted[1], getattr(again, name)())


def test_intervals_surround_the_pooled_figure_and_cover_the_truth():
    """95 % nominal: at least 88 % of 100 replays of 30 requests."""
    rng, hits = np.random.default_rng(8), 0
    truth = replay_expected([np.full(60, 0.6)], [4]).tokens_per_step()[0]
    for _ in range(100):
        found = replay([drafts(rng.random(60) < 0.6) for _ in range(30)], [4])
        (interval,) = intervals(found, type(found).tokens_per_step)
        assert interval.low < interval.mid < interval.high
        hits += interval.low <= truth <= interval.high
    assert hits >= 88


def test_a_prompt_is_resampled_with_all_its_requests():
    rng = np.random.default_rng(9)
    runs = [drafts(rng.random(40) < 0.7) for _ in range(12)]
    once = intervals(replay(runs, [2, 5]))
    prompts = [f"p{i:02}" for i in range(12)]
    assert intervals(replay([*runs, *runs, []], [2, 5]), prompts=[*prompts, *prompts, "idle"]) == once
    (few, _) = intervals(replay(runs, [2, 5]), prompts=["one"] * 12)
    assert few.mid == pytest.approx(once[0].mid)
    assert np.isnan([few.low, few.high]).all(), "one prompt allows no interval"
    with pytest.raises(ConfigError, match="12 requests and 3 prompts"):
        intervals(replay(runs, [2]), prompts=["a", "b", "c"])


# --- nonsense is refused


@pytest.mark.parametrize(
    ("runs", "options", "said"),
    [
        ([], {}, "no request to replay"),
        ([RUNS], {"ks": []}, "K must lie between 1 and 128 .*got none"),
        ([RUNS], {"ks": [2, 0]}, "K must lie between 1 and 128 .*got 0"),
        ([RUNS], {"ks": [129]}, "got 129"),
        ([RUNS], {"ks": [1.5]}, "K must be a flat list of whole numbers"),
        ([[0], [0, 2]], {}, "request 1, position 1: a run length lies between 0 and the 1 positions left; got 2"),
        ([[-1]], {}, "request 0, position 0: a run length .*got -1"),
        ([[0.0, 0.0]], {}, "request 0: run lengths must be a flat list of whole numbers"),
        ([[[0], [0, 0]]], {}, "flat list"),
        ([[True]], {}, "flat list"),
        ([RUNS], {"drafted": [[1]]}, "every position needs one proposal; got 6 positions and 1"),
        ([RUNS], {"drafted": []}, "every request needs its proposals, or None; got 0 for 1 requests"),
        ([[0, 0]], {"drafted": [[1, -1]]}, "request 0, position 1: drafted is the number of tokens .*got -1"),
        ([[2]], {"names": ["t.jsonl:7"]}, "t.jsonl:7, position 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(runs, options, said):
    with pytest.raises(ConfigError, match=said):
        replay(runs, **{"ks": [1]} | options)


@pytest.mark.parametrize("wrong", [1.5, -0.1, float("nan"), float("inf")])
def test_a_probability_is_one(wrong):
    with pytest.raises(ConfigError, match=f"request 1, position 2: a probability lies between 0 and 1; got {wrong}"):
        replay_expected([[0.5], [0, 1, wrong]], [1])
    with pytest.raises(ConfigError, match="request 0: probabilities must be a flat list of numbers"):
        replay_expected([["high"]], [1])
