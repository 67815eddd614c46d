"""Run lengths from drafts and from steps; what a full acceptance hides is bounded and marked."""

import numpy as np
import pytest

from labkit.analysis.replay import replay
from labkit.analysis.run_lengths import run_lengths_from_drafts, run_lengths_from_steps
from labkit.errors import ConfigError

# --- from the drafter's choice at every token


def test_the_first_token_has_no_draft():
    assert run_lengths_from_drafts([7], [7]).tolist() == []
    assert run_lengths_from_drafts([7, 8], [9, 8]).tolist() == [1], "a wrong draft of it changes nothing"


@pytest.mark.parametrize(
    ("draft", "runs"),
    [
        ([0, 1, 2, 3, 4], [4, 3, 2, 1]),
        ([9, 9, 9, 9, 9], [0, 0, 0, 0]),
        ([9, 1, 9, 3, 4], [1, 0, 2, 1]),
        ([9, 1, 2, 3, 9], [3, 2, 1, 0]),
    ],
    ids=["all right", "none right", "one wrong", "the last wrong"],
)
def test_runs_by_hand(draft, runs):
    assert run_lengths_from_drafts([0, 1, 2, 3, 4], draft).tolist() == runs


@pytest.mark.parametrize(
    ("output", "draft", "said"),
    [
        ([], [], "at least its first token; got none"),
        ([1, 2], [1], "one draft token; got 2 and 1"),
        ([1, -2], [1, 2], "output ids must be ≥ 0; got -2 at token 1"),
        ([1, 2], [-1, 2], "draft ids must be ≥ 0; got -1 at token 0"),
        ([1, 2], [1, 2.5], "draft ids must be a flat list of whole numbers"),
        ([1, 2], [[1], [2, 3]], "flat list"),
        ([1, 2], [1, None], "flat list"),
    ],
)
def test_ids_that_cannot_be_are_refused(output, draft, said):
    with pytest.raises(ConfigError, match=said):
        run_lengths_from_drafts(output, draft)


# --- from the steps of a run


def test_a_step_tells_of_its_own_positions():
    """K = 2, ten positions: step at 0 accepts 1 (position 1 wrong), at 2 both (4 unseen), at 5 none, at 6 both
    (8 unseen), at 9 the last."""
    found = run_lengths_from_steps([1, 2, 0, 2, 1], k=2, n=10, resolve="reject")
    assert np.flatnonzero(found.unseen).tolist() == [4, 8]
    assert found.run_lengths.tolist() == [1, 0, 2, 1, 0, 0, 2, 1, 0, 1]
    assert np.flatnonzero(found.censored).tolist() == [2, 3, 4, 6, 7, 8]
    best = run_lengths_from_steps([1, 2, 0, 2, 1], k=2, n=10, resolve="accept")
    assert best.run_lengths.tolist() == [1, 0, 3, 2, 1, 0, 4, 3, 2, 1]
    assert (best.unseen == found.unseen).all()
    assert (best.censored == found.censored).all()


@pytest.mark.parametrize(
    ("accepted", "n", "runs", "unseen"),
    [
        ([], 0, [], []),
        ([0], 1, [0], []),
        ([3], 1, [1], []),
        ([3], 3, [3, 2, 1], []),
        ([3], 4, [3, 2, 1, 0], [3]),
        ([2], 3, [2, 1, 0], []),
        ([3, 3], 5, [3, 2, 1, 0, 1], [3]),
    ],
    ids=["no position", "wrong", "one position", "bonus past the end", "bonus at the end", "recovered at the end",
         "accepted past the end"],
)  # fmt: skip
def test_the_end_of_the_output(accepted, n, runs, unseen):
    found = run_lengths_from_steps(accepted, k=3, n=n, resolve="reject")
    assert found.run_lengths.tolist() == runs
    assert np.flatnonzero(found.unseen).tolist() == unseen


def simulated(rng, *, k, n=60, right=0.75):
    """(run lengths, accepted of each step at K = k, drafts taken as right past the end)."""
    match = rng.random(n + k) < right
    runs = [int((~match[s:]).argmax()) if not match[s:].all() else match.size - s for s in range(n)]
    accepted, s = [], 0
    while s < n:
        accepted.append(min(runs[s], k))
        s += accepted[-1] + 1
    return np.minimum(runs, np.arange(n, 0, -1)), accepted


@pytest.mark.parametrize("k", [1, 2, 4, 8])
def test_steps_lead_back_to_the_runs_as_far_as_they_were_seen(k):
    rng = np.random.default_rng(k)
    for _ in range(40):
        runs, accepted = simulated(rng, k=k)
        low, high = (run_lengths_from_steps(accepted, k=k, n=60, resolve=by) for by in ("reject", "accept"))
        known = ~low.censored
        assert (low.run_lengths[known] == runs[known]).all()
        assert ((low.run_lengths <= runs) & (runs <= high.run_lengths)).all()
        assert low.unseen.any() == low.censored.any()
        assert (low.run_lengths[low.unseen] == 0).all()


@pytest.mark.parametrize("k", [1, 2, 4, 8])
def test_the_two_bound_every_k_and_agree_at_the_one_that_ran(k):
    rng, ks = np.random.default_rng(k), range(1, 13)
    cases = [simulated(rng, k=k, right=right) for right in (0.0, 0.5, 0.75, 0.95, 1.0) for _ in range(12)]
    truth = replay([runs for runs, _ in cases], ks)
    low, high = (
        replay([run_lengths_from_steps(a, k=k, n=60, resolve=by).run_lengths for _, a in cases], ks)
        for by in ("reject", "accept")
    )
    assert ((high.steps <= truth.steps) & (truth.steps <= low.steps)).all()
    assert ((low.accepted <= truth.accepted) & (truth.accepted <= high.accepted)).all()
    assert truth.steps[:, k - 1].tolist() == [len(a) for _, a in cases]
    for name in ("steps", "accepted", "per_pos"):
        ran = [getattr(one, name)[:, k - 1].tolist() for one in (low, truth, high)]
        assert ran[0] == ran[1] == ran[2]


@pytest.mark.parametrize(
    ("accepted", "options", "said"),
    [
        ([4], {}, "a step of K = 3 accepts 0 to 3 drafts; got 4 to 4"),
        ([1, -1], {}, "got -1 to 1"),
        ([1, 1], {}, "2 steps explain 4 of 5 positions: some did not draft"),
        ([], {}, "0 steps explain 0 of 5 positions"),
        ([3, 1, 0], {}, "3 steps are too many for 5 positions: the last begins at 6"),
        ([0], {"n": 0}, "1 steps are too many for 0 positions"),
        ([0], {"n": -1}, "positions ≥ 0; got K = 3 and -1"),
        ([0], {"k": 0}, "K must be ≥ 1"),
        ([3, 0], {"resolve": "guess"}, "resolve must be 'reject' or 'accept'; got 'guess'"),
        ([0.5], {}, "accepted per step must be a flat list of whole numbers"),
    ],
)
def test_steps_that_do_not_fit_are_refused(accepted, options, said):
    with pytest.raises(ConfigError, match=said):
        run_lengths_from_steps(accepted, **{"k": 3, "n": 5, "resolve": "reject"} | options)


def test_nobody_gets_one_bound_without_asking():
    with pytest.raises(TypeError, match="resolve"):
        run_lengths_from_steps([3, 0], k=3, n=5)
