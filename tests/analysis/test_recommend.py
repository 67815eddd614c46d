"""Recommendation: nothing, off, not proven, faster; ties, edges, and what is never recommended."""

import math

import pytest

from labkit.analysis.bootstrap import Interval
from labkit.analysis.recommend import Candidate, recommend, recommend_by_load
from labkit.errors import ConfigError

NAN = math.nan


def candidate(k, low, mid, high, drafter="draft", **fields):
    fields = {"temperature": 0.0, "concurrency": 1} | fields
    return Candidate(drafter=drafter, k=k, speedup=Interval(low=low, mid=mid, high=high), **fields)


def said(found, *words):
    return all(any(word in sentence for sentence in found.why) for word in words)


# --- nothing to choose from


def test_without_candidates_there_is_no_evidence():
    found = recommend([])
    assert (found.verdict, found.choice, found.speedup) == ("no evidence", None, None)
    assert found.plain() == {
        "choice": "off", "speedup": None, "verdict": "no evidence", "why": ["Nothing can be compared."],
    }  # fmt: skip
    assert recommend_by_load([]) == {}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"flags": ("synthetic",)}, "synthetic"),
        ({"flags": ("machine_busy", "contaminated")}, "other clients"),
        ({"flags": ("reset",)}, "restarted"),
        ({"flags": ("method_mismatch",)}, "another method"),
        ({"mean_acceptance_length": 4.95}, "4.95 of at most 5 is suspicious"),
        ({"objections": ("an audit found a fault",), "flags": ("reset",)}, "an audit found a fault."),
    ],
    ids=str,
)
def test_what_is_never_recommended_and_why(fields, reason):
    best, second = candidate(4, 2, 2.1, 2.2, **fields), candidate(2, 1.1, 1.2, 1.3)
    alone, beside = recommend([best]), recommend([best, second])
    assert (alone.verdict, alone.choice) == ("no evidence", None)
    assert said(alone, "Nothing that was measured may be recommended", "draft K=4 is left out", reason)
    assert beside.choice == second
    assert said(beside, "draft K=4 is left out", reason)


def test_an_acceptance_length_just_below_suspicion_is_fine():
    assert recommend([candidate(4, 2, 2.1, 2.2, mean_acceptance_length=4.94)]).choice.k == 4


@pytest.mark.parametrize("bounds", [(NAN, 3, NAN), (NAN, NAN, NAN), (2, 3, NAN)])
def test_a_candidate_without_interval_is_never_chosen(bounds):
    found = recommend([candidate(4, *bounds), candidate(2, 1.1, 1.2, 1.3)])
    assert found.choice.k == 2
    assert said(found, "draft K=4 is left out: its speedup has no interval")


def test_candidates_of_several_loads_are_not_compared():
    mixed = [candidate(2, 1.1, 1.2, 1.3), candidate(2, 0.7, 0.8, 0.9, concurrency=8)]
    with pytest.raises(ConfigError, match="one temperature and concurrency"):
        recommend(mixed)
    found = recommend_by_load(mixed)
    assert {load: one.verdict for load, one in found.items()} == {(0.0, 1): "faster", (0.0, 8): "slower"}


# --- off, not proven, faster


def test_the_best_lower_bound_is_chosen_not_the_best_figure():
    found = recommend([candidate(1, 1.1, 1.2, 1.3), candidate(2, 1.3, 1.4, 1.5), candidate(4, 1.0, 1.8, 2.6)])
    assert found.verdict == "faster"
    assert found.plain()["choice"] == {"drafter": "draft", "k": 2}
    assert found.plain()["speedup"] == [1.3, 1.4, 1.5]
    assert found.why == ("draft K=2 has the best lower bound of the speedup: 1.40× (1.30 to 1.50).",)


def test_off_where_every_interval_lies_below_one():
    found = recommend([candidate(1, 0.8, 0.9, 0.99), candidate(2, 0.6, 0.7, 0.8)])
    assert (found.verdict, found.plain()["choice"]) == ("slower", "off")
    assert found.plain()["speedup"] == [0.8, 0.9, 0.99]
    assert found.why == (
        "Every candidate is slower than no speculation; the best, draft K=1, has 0.90× (0.80 to 0.99).",
    )


@pytest.mark.parametrize(
    ("bounds", "verdict", "on"),
    [
        ((0.96, 1.1, 1.2), "not proven", True),
        ((1.0, 1.1, 1.2), "not proven", True),
        ((1.001, 1.1, 1.2), "faster", True),
        ((0.8, 0.95, 1.1), "not proven", False),
        ((0.9, 1.0, 1.1), "not proven", False),
        ((0.8, 0.9, 1.0), "not proven", False),
    ],
)
def test_an_interval_that_covers_one_proves_nothing(bounds, verdict, on):
    found = recommend([candidate(1, *bounds)])
    assert (found.verdict, found.choice is not None) == (verdict, on)
    assert said(found, "Not proven") == (verdict == "not proven")


def test_off_is_not_proven_while_another_interval_reaches_one():
    found = recommend([candidate(1, 0.9, 0.92, 0.94), candidate(2, 0.5, 1.2, 2.0)])
    assert (found.verdict, found.choice) == ("not proven", None)
    assert said(found, "No gain was shown", "an interval reaches 1")


# --- ties and edges


def test_within_one_percent_the_smaller_k():
    found = recommend([candidate(1, 1.3, 1.4, 1.5), candidate(2, 1.49, 1.6, 1.7), candidate(4, 1.5, 1.8, 1.9)])
    assert found.choice.k == 2
    assert said(found, "draft K=2 is the smallest K within 1 %", "draft K=4 has that bound")


def test_beyond_one_percent_the_better_one():
    assert recommend([candidate(2, 1.48, 1.6, 1.7), candidate(4, 1.5, 1.8, 1.9)]).choice.k == 4


def test_of_equal_k_the_better_bound():
    found = recommend([candidate(2, 1.49, 1.6, 1.7, "ngram"), candidate(2, 1.5, 1.6, 1.7)])
    assert found.choice.drafter == "draft"


def test_a_proven_gain_is_not_given_away_for_a_smaller_k():
    found = recommend([candidate(1, 0.998, 1.1, 1.2), candidate(2, 1.005, 1.1, 1.2)])
    assert (found.choice.k, found.verdict) == (2, "faster")


@pytest.mark.parametrize(
    ("lows", "largest", "smallest"),
    [({1: 1.1, 2: 1.2}, True, False), ({1: 1.2, 2: 1.1}, False, False), ({2: 1.2, 4: 1.1}, False, True),
     ({2: 1.1, 4: 1.2, 8: 1.1}, False, False), ({4: 1.2}, True, True), ({2: 1.3, 4: 1.31}, True, True)],
    ids=str,
)  # fmt: skip
def test_the_edge_of_the_grid_is_said(lows, largest, smallest):
    others = [candidate(16, 0.5, 0.6, 0.7, "ngram"), candidate(1, 0.5, 0.6, 0.7, "ngram")]
    found = recommend([candidate(k, low, low + 0.1, low + 0.2) for k, low in lows.items()] + others)
    assert said(found, "the largest K tried with draft") == largest
    assert said(found, "the smallest K tried with draft") == smallest


# --- predictions and doubts


def test_a_prediction_says_that_it_is_one():
    found = recommend([candidate(1, 1.2, 1.3, 1.4, measured=False)])
    assert found.verdict == "faster"
    assert said(found, "draft K=1 was predicted, not measured: measure it")


def test_a_prediction_without_error_estimate_is_not_compared_with_whole_intervals():
    hope = candidate(2, 1.5, 1.6, 1.7, measured=False, whole_interval=False)
    beside, alone = recommend([hope, candidate(1, 1.1, 1.2, 1.3)]), recommend([hope])
    assert beside.choice.k == 1
    assert said(beside, "draft K=2 is left out: there is no error estimate")
    assert (alone.verdict, alone.choice) == ("not proven", hope)
    assert said(alone, "no error estimate", "predicted, not measured: measure it before")


def test_nor_is_a_loss_proven_by_such_a_prediction():
    found = recommend([candidate(2, 0.7, 0.8, 0.9, measured=False, whole_interval=False)])
    assert (found.verdict, found.choice) == ("not proven", None)
    assert said(found, "No gain was shown", "there is no error estimate", "was predicted, not measured.")
    assert not said(found, "reaches 1")


def test_flags_that_bar_nothing_are_said():
    found = recommend([candidate(1, 1.2, 1.3, 1.4, flags=("machine_busy", "not_warm"))])
    assert found.choice.k == 1
    assert said(found, "draft K=1 carries flags: machine_busy, not_warm.")


def test_what_a_choice_rests_on_is_said():
    sentences = " ".join(recommend([candidate(3, 1.2, 1.3, 1.4, prompts=34, one_launch=True)]).why)
    assert "It rests on 34 prompts and this launch only." in sentences
    sentences = " ".join(recommend([candidate(3, 1.2, 1.3, 1.4, prompts=34, approximate=True, measured=False)]).why)
    assert "It rests on 34 prompts." in sentences
    assert "approximate: it cuts the steps of a larger K short" in sentences


def test_what_an_audit_says_of_the_choice_is_said():
    found = recommend([candidate(1, 1.2, 1.3, 1.4, audit="Not audited."), candidate(2, 0.7, 0.8, 0.9, audit="Fine.")])
    assert found.why[-1] == "Not audited."
    assert "Fine." not in found.why
    assert "Fine." not in recommend([candidate(2, 0.7, 0.8, 0.9, audit="Fine.")]).why, "off needs no audit"
