"""Words out of shell text and back. What a shell would read differently is repaired and said."""

import shlex
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import ConfigError
from labkit.preflight.shell import Operator, Word, write_shell
from labkit.preflight.shell_reading import read_shell


def texts(text):
    return [token.text for token in read_shell(text).tokens]


@given(st.lists(st.text(st.characters(exclude_characters="–—", exclude_categories=["Cs"]), max_size=8), max_size=6))
def test_what_shlex_quotes_is_read_as_the_same_words(words):
    words = [word.replace("\r\n", "\n") for word in words]
    script = read_shell(shlex.join(words))
    assert [token.text for token in script.tokens] == words
    assert shlex.split(write_shell(script.tokens)) == words


@given(st.lists(st.text(string.ascii_letters + "'\"\\ $#{}", max_size=6), min_size=1, max_size=3))
def test_an_expansion_in_a_made_word_is_alone_left_to_the_shell(literals):
    text = "$X".join(part.replace("$", "") for part in literals)
    written = Word(text=text, expansions=("$X",)).written()
    assert shlex.split(written) == [text]
    (word,) = read_shell(written).tokens
    assert word.text == text
    assert word.expansions == ("$X",) * (len(literals) - 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('a \'b c\' "d\\"e" f\\ g', ["a", "b c", 'd"e', "f g"]),
        ("a$B \"x $C\" '$D' `e f` $(g (h) i) ${J:-k l}", ["a$B", "x $C", "$D", "`e f`", "$(g (h) i)", "${J:-k l}"]),
        ("a && b||c ;d|e", ["a", "&&", "b", "||", "c", ";", "d", "|", "e"]),
        ("a 2>&1 >>b &> c", ["a", "2>&", "1", ">>", "b", "&>", "c"]),
        ("a # b\nc", ["a", "\n", "c"]),
        ("a#b", ["a#b"]),
        ("# a\n\n\nb\n\nc\n", ["b", "\n", "c"]),
        ("a \\\n b", ["a", "b"]),
        ("a\\\nb", ["ab"]),
        ("a 'b\n# c\nd'", ["a", "b\n# c\nd"]),
        ('a {"b": {"c": 1}} d', ["a", '{"b": {"c": 1}}', "d"]),
        ('--a={"b": 1}', ['--a={"b": 1}']),
        ("a <the model> b", ["a", "<the model>", "b"]),
        ("a <in >out", ["a", "<", "in", ">", "out"]),
        ("", []),
        ("\\", []),
    ],
)
def test_words_and_operators(text, words):
    assert texts(text) == words


def test_spelling_is_kept_where_the_shell_acts_on_it():
    text = "a $B \"$C d\" ~/e *.f {g,h} $'i\\n'"
    assert write_shell(read_shell(text).tokens) == text
    assert write_shell(read_shell("\"a\" 'b' c\\ d").tokens) == "a b 'c d'"


def test_assignments_stay_assignments():
    assert write_shell(read_shell("A='b c' D=$E f").tokens) == "A='b c' D=$E f"
    assert write_shell([Word(text="A=")]) == "A="


def test_redirections_stay_together():
    assert write_shell([Word(text="a"), Operator("2>&"), Word(text="1"), Operator(">"), Word(text="b")]) == "a 2>&1 > b"


def test_what_was_repaired_is_said():
    script = read_shell('a\n–b {"c": 1}')
    assert [token.text for token in script.tokens] == ["a", "--b", '{"c": 1}']
    assert not script.plain
    assert [note.split()[0] for note in script.notes] == ["lines", "'–'", "JSON"]


def test_an_open_quote_names_its_line():
    with pytest.raises(ConfigError, match="the quote ' of line 2 is never closed"):
        read_shell("a \\\n b 'c")
