"""Tables as CSV: all digits, unknown is empty, no formulas."""

import csv
import io

import numpy as np
import pytest

from labkit.view.csv_text import csv_text


def read(text):
    return list(csv.reader(io.StringIO(text, newline="")))


def test_numbers_keep_their_digits_and_the_unknown_is_empty():
    row = {"a": 0.1 + 0.2, "b": float("nan"), "c": None, "d": 3, "e": np.float64(1 / 3), "f": -1.5}
    assert read(csv_text([row], list(row))) == [
        list("abcdef"), ["0.30000000000000004", "", "", "3", "0.3333333333333333", "-1.5"]
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"])
def test_no_text_is_taken_for_a_formula(text):
    assert read(csv_text([{"a": text}], ["a"]))[1] == [f"'{text}"]


@pytest.mark.parametrize("text", ['say "x", y', "two\nlines", "a,b", "<b>", "×"])
def test_any_text_comes_back(text):
    assert read(csv_text([{"a": text}], ["a"])) == [["a"], [text]]


def test_columns_are_those_asked_for_in_their_order():
    assert csv_text([{"a": 1, "b": 2, "c": 3}], ["c", "a"]) == "c,a\r\n3,1\r\n"
    assert csv_text([], ["a"]) == "a\r\n"


def test_a_text_ends_where_a_spreadsheet_ends():
    ((_,), (cell,)) = read(csv_text([{"a": "x" * 1_000_000}], ["a"]))
    assert cell == "x" * 32_700 + "… (1,000,000 characters)"
    assert len(cell) < 32_767


def test_half_a_character_does_not_stop_it():
    assert read(csv_text([{"a": "half \ud83d"}], ["a"]))[1] == ["half ?"]
