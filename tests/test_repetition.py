"""Loops and copies, told apart."""

import pytest

from labkit.records import RequestRecord
from labkit.repetition import LOOPING_SHARE, copied, is_looping, repeated

LINE = list(range(100, 120))  # 20 tokens, none twice


def record(**fields):
    return RequestRecord(prompt_id="p", category="code", language="en", **fields)


@pytest.mark.parametrize(
    ("ids", "n", "share"),
    [
        ([], 8, 0),
        ([1] * 7, 8, 0),  # shorter than one 8-gram
        ([1] * 8, 8, 0),  # one 8-gram, seen once
        ([1] * 9, 8, 1 / 2),
        (LINE, 8, 0),
        (LINE + LINE, 8, 13 / 33),  # of 33 8-grams the 13 of the second line came before; 7 straddle
        ([1, 2, 1, 2, 1], 2, 2 / 4),  # 12 21 12 21
        ([1, 2, 3, 1, 2, 3, 1, 2, 3], 3, 4 / 7),
    ],
)
def test_the_share_of_repeated_grams(ids, n, share):
    assert repeated(ids, n=n) == pytest.approx(share)


def test_a_repetition_that_the_prompt_holds_is_no_loop():
    assert repeated(LINE + LINE) > 0
    assert repeated(LINE + LINE, prompt_ids=LINE + LINE) == 0


def test_more_repetitions_than_the_prompt_holds_are_a_loop():
    # the third line's own 13 grams, and the 7 that lead over to it
    assert repeated(LINE * 3, prompt_ids=LINE * 2) == pytest.approx(20 / 53)
    assert repeated(LINE * 2, prompt_ids=LINE) == repeated(LINE * 2)


@pytest.mark.parametrize(
    ("ids", "prompt", "share"),
    [
        ([], LINE, 0),
        (LINE, [], 0),
        (LINE, LINE, 1),
        (LINE, [1, 2, *LINE, 3], 1),
        (LINE[:10] + [1] * 10, LINE, 3 / 13),
        (LINE[::-1], LINE, 0),
    ],
)
def test_the_share_copied_from_the_prompt(ids, prompt, share):
    assert copied(ids, prompt) == pytest.approx(share)


@pytest.mark.parametrize(
    ("fields", "looping"),
    [
        ({"output_token_ids": tuple(LINE)}, False),
        ({"output_token_ids": (7,) * 40}, True),
        ({"output_token_ids": tuple(LINE * 2)}, True),
        ({"output_token_ids": tuple(LINE * 2), "prompt_token_ids": tuple(LINE * 2)}, False),
        ({"output_token_ids": ()}, False),
        ({"output_token_ids": tuple(LINE), "text": "yes " * 50}, False),  # ids go before words
        ({"text": "the cat sat on the mat and that was all"}, False),
        ({"text": "yes " * 50}, True),
        ({"text": ""}, False),
        ({"text": "今天天气很好。" * 30}, True),  # no spaces between words
    ],
    ids=["plain", "one token", "twice", "copied", "empty", "ids first", "text", "looping text", "no text", "Chinese"],
)
def test_is_looping(fields, looping):
    assert is_looping(record(**fields)) is looping


def test_an_ordinary_chinese_text_does_not_loop():
    text = "春天来了，公园里的桃花开得正好，老人们在湖边打太极，孩子们追着风筝跑，一切都慢了下来。"
    assert not is_looping(record(text=text))


def test_looping_begins_at_the_documented_share():
    """Of 20 + n tokens the 8-grams inside the repeated n tokens came before: n − 7 of 13 + n."""
    at = next(n for n in range(8, 20) if (n - 7) / (13 + n) >= LOOPING_SHARE)
    assert is_looping(record(output_token_ids=(*LINE, *LINE[:at])))
    assert not is_looping(record(output_token_ids=(*LINE, *LINE[: at - 1])))
