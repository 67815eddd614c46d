"""Steps of the largest K cut to every smaller one, by hand and against the run they come from."""

import pytest

from labkit.analysis.truncated import Steps, truncated
from labkit.errors import ConfigError


def test_at_the_largest_k_it_is_the_run_itself():
    found = truncated([Steps((3, 0, 1), (3, 3, 3), 7)], [3], k=3)
    assert found.steps.tolist() == [[3]]
    assert found.accepted.tolist() == [[4]]
    assert found.mean_acceptance_length() == pytest.approx([1 + 4 / 3])
    assert found.at(3).per_pos == pytest.approx((2, 1, 1))
    assert found.at(3).reached == pytest.approx((3, 2, 1))


def test_a_smaller_k_takes_more_steps_for_the_same_output():
    """At K = 1 the steps yield 2, 1 and 2 tokens: 7 positions take 7 · 3 / 5 of them."""
    found = truncated([Steps((3, 0, 1), (3, 3, 3), 7)], [1], k=3)
    assert found.steps[0, 0] == pytest.approx(7 * 3 / 5)
    assert found.tokens_per_step() == pytest.approx([5 / 3])
    assert found.mean_acceptance_length() == pytest.approx([5 / 3])
    assert found.acceptance_rate() == pytest.approx([2 / 3])


def test_steps_without_a_draft_stay_what_they_are():
    """4 of 8 positions came from undrafted steps; the drafted step of 3 covers 4."""
    found = truncated([Steps((3,), (3,), 8, undrafted=4)], [1, 3], k=3)
    assert found.steps[0, 1] == pytest.approx(5)
    assert found.steps[0, 0] == pytest.approx(8 * 5 / 6), "2 tokens from the drafted step, 4 from the others"
    assert found.drafted_share() == pytest.approx([1 / 5, 1 / 5])


def test_what_was_accepted_beyond_the_end_is_no_position():
    """The last of three steps accepted 4 drafts where 1 position was left; at K = 2 it still reaches beyond it."""
    found = truncated([Steps((3, 0, 4), (8, 8, 8), 6)], [2, 8], k=8)
    assert found.steps[0, 1] == 3, "at the largest K it is the run itself"
    assert found.tokens_per_step()[1] == pytest.approx(2)
    assert found.mean_acceptance_length()[1] == pytest.approx(1 + 7 / 3), "the server counts all 4"
    assert found.steps[0, 0] == pytest.approx(6 * 3 / 5), "3, 1 and 1 tokens"


def test_an_output_without_positions_counts_nothing():
    found = truncated([Steps((), (), 0), Steps((1,), (2,), 2)], [2], k=2)
    assert found.steps.tolist() == [[0], [1]]


@pytest.mark.parametrize(
    ("outputs", "ks", "message"),
    [
        ([], [1], "no output to replay"),
        ([Steps((0,), (2,), 1)], [3], "steps of K = 2 say nothing of K = 3"),
        ([Steps((0,), (2,), 1)], [0], "K must lie between 1 and"),
    ],
)
def test_what_cannot_be_replayed(outputs, ks, message):
    with pytest.raises(ConfigError, match=message):
        truncated(outputs, ks, k=2)
