"""The box of origin, the command that makes a report again, the list of its sections."""

import re
import shlex

import pytest

import labkit
from labkit.view.provenance import command, provenance_html, with_contents
from labkit.view.report import typed_parameters

FACTS = {"run": "demo-1", "engine": "vllm 0.32.0 on cpu", "workload": "8 requests a cell, hash feed", "plan": "p <1>"}


@pytest.mark.parametrize(
    ("parameters", "line"),
    [
        ({}, "labkit report lab.ipynb"),
        ({"run": "runs/a b", "blocks": 3}, "labkit report lab.ipynb -p 'run=runs/a b' -p blocks=3"),
        ({"ks": [1, 2], "fast": True, "c": 0.95}, "labkit report lab.ipynb -p 'ks=[1, 2]' -p fast=true -p c=0.95"),
    ],
)
def test_the_command_that_makes_it_again(parameters, line):
    assert command("lab.ipynb", parameters) == line


def test_what_the_command_says_is_read_back_as_it_was(tmp_path):
    from tests.view.test_report import write

    given = {"run": "it's; a=b", "blocks": 2, "confidence": 0.5, "fast": False, "ks": [3]}
    words = shlex.split(command("lab.ipynb", given))
    read = dict(word.split("=", 1) for word in words if "=" in word)
    assert typed_parameters(write(tmp_path / "lab.ipynb", "1"), read) == given


def test_the_box_holds_origin_versions_and_commands_escaped():
    html = provenance_html(FACTS, "labkit report a", "labkit report a -p run=x", created="2026-11-01 10:00:00")
    rows = dict(re.findall(r"<tr><th>([^<]*)</th><td>(?:<code>)?([^<]*)", html))
    assert rows["plan"] == "p &lt;1&gt;"
    assert rows["engine"] == "vllm 0.32.0 on cpu"
    assert rows["report made"].startswith(f"2026-11-01 10:00:00, labkit {labkit.__version__}, papermill ")
    assert (rows["made with"], rows["shows the same run"]) == ("labkit report a", "labkit report a -p run=x")


@pytest.mark.parametrize("again", [None, "labkit report a"])
def test_a_second_command_only_where_it_is_another(again):
    assert "shows the same run" not in provenance_html({}, "labkit report a", again, created="now")


def test_sections_are_listed_under_the_title():
    made = with_contents("<h1>T</h1><p>x</p><h2>What <code>K</code> &amp; T?</h2><h3>no</h3><h2>Again?</h2>")
    assert made == (
        '<h1>T</h1><nav class="contents"><ol><li><a href="#section-1">What K &amp; T?</a></li>'
        '<li><a href="#section-2">Again?</a></li></ol></nav><p>x</p>'
        '<h2 id="section-1">What <code>K</code> &amp; T?</h2><h3>no</h3><h2 id="section-2">Again?</h2>'
    )


@pytest.mark.parametrize("body", ["<h1>T</h1><p>x</p>", "<p>x</p>"])
def test_without_sections_there_is_no_list(body):
    assert with_contents(body) == body
