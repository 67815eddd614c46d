"""The step timeline: how long its bars and steps are, and what it says where something is not known."""

import re
from dataclasses import replace

import pytest

from labkit.view.board_timeline import timeline
from labkit.view.lab import Lab
from labkit.view.selection import Selection
from labkit.view.style import BASELINE


@pytest.fixture(scope="module")
def answer(sweep, store):
    given = Lab(store(sweep())).answer(Selection(drafter="ngram", k=4, temperature=0.0, concurrency=1))
    return replace(given, tpot_ms=40.0, chosen=given.chosen | {"speedup": 2.0, "tokens_per_step": 2.2})


def drawn(answer, colour="#D55E00"):
    return timeline(answer, str, colour)


def test_a_bar_is_as_long_as_its_time_and_a_step_as_its_tokens(answer):
    """5 tokens at 40 ms, and at 20: 2.2, 2.2 and the last .6 of a step."""
    made = drawn(answer)
    assert made["title"] == "time for 5 tokens (ms): 200 ms → 100 ms"
    assert re.findall(r"width: ([\d.]+)%", made["html"]) == ["100.00", "50.00"]
    assert re.findall(r"flex: ([\d.]+) 1 0", made["html"]) == ["1"] * 5 + ["2.2", "2.2", "0.6"]
    assert re.findall(r'title="([\d.]+) ms"', made["html"]) == ["40.0"] * 5 + ["44.0", "44.0", "12.0"]
    assert re.findall(r"background: (#\w+)", made["html"]) == [BASELINE] * 5 + ["#D55E00"] * 3


def test_a_slower_drafter_has_the_longest_bar(answer):
    slow = replace(answer, chosen=answer.chosen | {"speedup": 0.5})
    assert re.findall(r"width: ([\d.]+)%", drawn(slow)["html"]) == ["50.00", "100.00"]


def test_without_a_speedup_only_the_baseline_is_drawn(answer):
    for chosen in (None, answer.chosen | {"speedup": float("nan")}):
        made = drawn(replace(answer, chosen=chosen))
        assert made["title"].endswith(": 200 ms")
        assert made["html"].count("<bdi>") == 1


def test_without_tokens_per_step_its_bar_is_whole_and_says_none(answer):
    made = drawn(replace(answer, chosen=answer.chosen | {"tokens_per_step": float("nan")}))
    assert re.findall(r">([^<>]*)</div>", made["html"].split("<bdi>")[-1]) == [": 100 ms", ""]


def test_text_can_be_read_on_every_colour(answer):
    for colour, ink in (("#E69F00", "black"), ("#56B4E9", "black"), ("#0072B2", "white"), ("#000000", "white")):
        assert f"background: {colour}; color: {ink}" in drawn(answer, colour)["html"]
