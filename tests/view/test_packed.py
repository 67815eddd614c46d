"""Trees that share parts come back as they were, and each part travels once."""

import base64
import gzip
import json

import pytest

from labkit.view.packed import Pool, pack, plain_text, unpack

TREES = [
    None, True, 1, 0, 1.5, "", "text", "</script>", [], {}, [1, 2.5, None, "x"], [[]], [{}], {"a": [1, {"b": []}]},
    {"x": [1], "y": [1]}, [0, [0, 1]], [1, [2, 3]], [2, "x"], {"2": 2},
]  # fmt: skip


def packed(*trees):
    pool = Pool()
    return pool, pack(pool.entries, [pool.add(tree) for tree in trees])


@pytest.mark.parametrize("tree", TREES, ids=json.dumps)
def test_a_tree_comes_back(tree):
    trees, (root,) = unpack(packed(tree)[1])
    assert trees[root] == tree
    assert json.dumps(trees[root]) == json.dumps(tree), "1 is not 1.0, and True is not 1"


def test_all_of_them_together_come_back():
    trees, roots = unpack(packed(*TREES)[1])
    assert [trees[root] for root in roots] == TREES


def test_what_is_there_twice_travels_once():
    chart = {"data": [{"y": [1, 2, 3]}], "layout": {"title": "t"}}
    pool, _ = packed(chart)
    before = len(pool.entries)
    assert pool.add({"other": chart}) == before + 1
    assert len(pool.entries) == before + 2, "its keys and itself"


@pytest.mark.parametrize(
    ("value", "kept"),
    [(1.23456789, 1.2346), (123456.789, 123460.0), (-1.23456e-9, -1.2346e-9), (123456789, 123456789), (0.1, 0.1),
     (float("nan"), None), (float("inf"), None)],
)  # fmt: skip
def test_floats_keep_five_digits_and_the_unknown_becomes_null(value, kept):
    trees, roots = unpack(packed(value, [value, 1], {"x": value})[1])
    assert [trees[root] for root in roots] == [kept, [kept, 1], {"x": kept}]


def test_the_text_is_json_that_any_reader_takes():
    _, text = packed({"x": [float("nan"), 1.5]})
    assert json.loads(plain_text(text)) == {"pool": [[2, "x"], [2, None, 1.5], [1, 0, 1]], "roots": [2]}
    assert gzip.decompress(base64.b64decode(text)).decode() == plain_text(text)


def test_the_same_trees_make_the_same_text():
    assert packed(*TREES)[1] == packed(*TREES)[1]
