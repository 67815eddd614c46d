"""Validity of answers, and a drop of it."""

import json

import pytest

from labkit.analysis.task_guard import CHECKS, guard, is_json, is_python, is_sql
from labkit.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ('{"a": [1, 2]}', True),
        ('Here it is:\n```json\n{"a": 1}\n```\nEnjoy!', True),
        ("```\n[1, 2\n```", False),
        ('{"a": 1', False),
        ("", False),
        ("[" * 100_000, False),
    ],
)
def test_json(text, valid):
    assert is_json(text) == valid


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("def f(x):\n    return x + 1\n", True),
        ("Sure.\n```python\nprint('\\d')\n```", True),
        ("```python\ndef f(x):\n    return (x\n", False),  # cut off
        ("def f(x)\n    return x", False),
        ("", False),
        ("# only a comment", False),
        ("x = '\0'", False),
        ("1\n" + "(" * 5000, False),
    ],
)
def test_python(text, valid):
    assert is_python(text) == valid


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("SELECT name FROM members WHERE joined_on > '2020-01-01';", True),
        ("```sql\nSELECT a, count(*) FROM t GROUP BY a HAVING count(*) > 1\n```", True),
        ("SELECT 1; SELECT ';' AS semicolon;", True),
        ("SELECT no_such_function(a) FROM nowhere", True),
        ("SELECT FROM WHERE", False),
        ("SELECT a FROM t WHERE (b = 1", False),
        ("You could use a join here.", False),
        ("SELECT 1; SELEC 2;", False),
        ("", False),
        (";;", False),
    ],
)
def test_sql(text, valid):
    assert is_sql(text) == valid


def answers(right, n=40):
    return {f"p{i}": "{}" if i in right else "{" for i in range(n)}


def test_a_drop_disqualifies():
    found = guard("json", answers(range(10)), answers(range(30)))
    assert found.disqualified
    assert (found.with_speculation.mid, found.without.mid) == (0.25, 0.75)
    assert found.difference.mid == -0.5
    assert found.difference.high < 0
    assert found.p < 1e-5
    assert json.loads(json.dumps(found.plain()))["difference"][1] == -0.5


@pytest.mark.parametrize("ours", [range(30), range(35), range(2, 31)])
def test_no_drop_does_not(ours):
    found = guard("json", answers(ours), answers(range(30)))
    assert not found.disqualified
    assert found.difference.high >= 0


def test_how_large_a_drop_disqualifies():
    """2⁻⁸ is below .005, 2⁻⁷ is not."""
    found = guard("json", answers(range(8, 40)), answers(range(40)))
    assert found.disqualified
    assert found.visible == 8 / 40
    assert not guard("json", answers(range(7, 40)), answers(range(40))).disqualified


def test_exact_answers():
    wanted = {"a": "42", "b": "yes"}
    found = guard("exact", {"a": " 42\n", "b": "no", "c": "?"}, {"a": "42", "b": "yes"}, wanted=wanted)
    assert (found.prompts, found.with_speculation.mid, found.without.mid) == (2, 0.5, 1.0)


@pytest.mark.parametrize(
    ("check", "arms", "message"),
    [
        ("jsno", ({"a": ""}, {"a": ""}), "unknown check 'jsno'; known: json, python, sql, exact; did you mean 'json'"),
        ("exact", ({"a": ""}, {"a": ""}), "an exact match needs the wanted answer of each prompt"),
        ("json", ({"a": ""}, {"b": ""}), "there is none that both arms answered"),
    ],
)
def test_a_mistake_is_named(check, arms, message):
    with pytest.raises(ConfigError, match=message):
        guard(check, *arms)
    assert set(CHECKS) == {"json", "python", "sql"}
