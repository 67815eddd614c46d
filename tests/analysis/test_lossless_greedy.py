"""Greedy texts: as often as the baseline parts from itself is fine, oftener is not."""

import json
from math import inf

import pytest

from labkit.analysis.lossless_greedy import audit_greedy
from labkit.measure.audit_greedy import OTHER_BATCH, REPEAT, TESTED, GreedyTexts, Parting

PROMPTS = tuple(f"p{i}" for i in range(100))


def texts(tested, repeat, other=(), gap=0.01, prompts=PROMPTS):
    """Prompts, by number, whose text parts from the reference in each arm."""
    arms = {TESTED: tested, REPEAT: repeat, OTHER_BATCH: other}
    partings = {
        name: tuple(Parting(prompt_id=f"p{i}", category="c", index=i % 7, gap=gap) for i in numbers)
        for name, numbers in arms.items()
    }
    return GreedyTexts(prompts=prompts, tokens=6400, partings=partings)


def test_as_often_as_the_baseline_itself_is_within_noise():
    """100 prompts, the baseline parts from itself at 9, speculation at 11."""
    found = audit_greedy(texts(range(11), range(5, 14), range(4)))
    assert found.verdict == "no fault found"
    assert found.difference.low < 0 < found.difference.high
    assert found.difference.mid == pytest.approx(0.02)
    assert "11 of 100 texts part" in found.why[1]


def test_much_oftener_is_a_fault():
    found = audit_greedy(texts(range(60), range(9), range(8)))
    assert found.verdict == "fault"
    assert found.p["all partings"] < 1e-9
    assert found.difference.low > 0.3
    assert found.arms[0].rate.mid == 0.6
    assert "oftener than asking again does" in found.why[0]


def test_both_controls_count():
    assert audit_greedy(texts(range(30), range(3), range(28))).verdict == "no fault found"


def test_near_ties_are_told_apart():
    """Twelve partings by rounding drown in a noisy control; twelve where the baseline was sure do not."""
    noisy = texts(range(12), range(40), range(40))
    assert audit_greedy(noisy).verdict == "no fault found"
    sure = tuple(Parting(prompt_id=p.prompt_id, category="c", index=0, gap=2.0) for p in noisy.partings[TESTED])
    found = audit_greedy(GreedyTexts(prompts=PROMPTS, tokens=1, partings={**noisy.partings, TESTED: sure}))
    assert found.verdict == "fault"
    assert found.p["all partings"] == 1
    assert (found.arms[0].clear, found.arms[1].clear) == (12, 0)


def test_how_many_partings_are_a_fault():
    """Nine on one side only: 2⁻⁹ twice is below .005, of eight it is not; fewer than nine prompts can show nothing."""
    assert audit_greedy(texts(range(9), ())).verdict == "fault"
    quiet = audit_greedy(texts(range(8), ()))
    assert quiet.verdict == "no fault found"
    assert quiet.visible == pytest.approx(0.09)
    few = audit_greedy(texts((), (), prompts=PROMPTS[:8]))
    assert few.verdict == "refused"
    assert "8 prompts are too few: 9" in few.why[0]


def test_the_json_form():
    found = audit_greedy(texts(range(3), range(2), gap=inf)).plain()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["temperature"] == 0
    assert [arm["name"] for arm in found["arms"]] == [TESTED, REPEAT, OTHER_BATCH]
    assert found["arms"][0]["beyond_near_tie"] == 3
    assert found["arms"][0]["gaps"] == [None] * 3
