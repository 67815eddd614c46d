"""Text of others stays text: visible, short, whole characters."""

import pytest

from labkit.view.readable import cut, last_state, printed, readable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n×λ中", "plain\ttext\n×λ中"), ("a\x00b\x08\x1b[31m", "a␀b␈␛[31m"), ("\x7f\x85", "␡\ufffd"),
        ("half \ud800 character", "half ? character"), ("</script>", "</script>"), ("\r\n", "␍\n"),
        ("מימין", "מימין"), ("", ""),
    ],
)  # fmt: skip
def test_what_is_shown(text, shown):
    assert readable(text) == shown
    readable(text).encode()


def test_a_long_line_is_cut_and_says_how_long_it_was():
    assert readable("x" * 1_000_000) == "x" * 2000 + "… (1,000,000 characters)"
    assert readable("x" * 2000) == "x" * 2000
    assert readable("abcdef", longest=3) == "abc… (6 characters)"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m\n", "red\n"),
        ("10 %\r20 %\r100 %\nnext\n", "100 %\nnext\n"),
        ("a\r\nb\n", "a\nb\n"),
        ("one\ntwo", "one\ntwo"),
    ],
)
def test_what_a_terminal_would_show_in_the_end(text, shown):
    assert printed(text) == shown


@pytest.mark.parametrize(
    ("line", "last"),
    [("10 %\r20 %", "20 %"), ("10 %\r20 %\r", "20 %\r"), ("a\r", "a\r"), ("a", "a"), ("", ""), ("\r", "\r")],
)
def test_the_last_state_of_a_line_that_was_written_over(line, last):
    assert last_state(line) == last


def test_a_long_text_is_cut_and_says_so():
    assert cut("abcdef", 3) == "abc… (6 characters)"
    assert cut("abc", 3) == "abc"
