"""Comparing runs and making many reports on the command line: exit codes, one clear message, JSON."""

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from tests.test_cli import NOTEBOOK, labkit
from tests.view.test_report import FINISH, SHOW_SUMMARY
from tests.view.test_report import write as write_notebook

RECORDED = Path(__file__).parent.parent / "data" / "recorded" / "drafters"


@pytest.fixture
def edited(tmp_path):
    """``edited(change)``: a copy of the recorded run, each of its cells put through ``change``."""

    def make(change):
        folder = shutil.copytree(RECORDED, tmp_path / "edited")
        for path in (folder / "cells").iterdir():
            cell = json.loads(gzip.decompress(path.read_bytes()))
            change(cell)
            path.write_bytes(gzip.compress(json.dumps(cell).encode()))
        return folder

    return make


def is_eagle3(cell):
    return (cell["cell"]["spec"]["k"], cell["provenance"]["method_effective"]) == (3, "eagle3")


def twice_as_slow(cell):
    if is_eagle3(cell):
        for record in cell["records"]:
            record["t_last"] = record["t_first"] + 2 * (record["t_last"] - record["t_first"])


def test_compare_of_a_run_with_itself_is_no_change():
    said = labkit("compare", "drafters", RECORDED)[0]
    assert re.match(r"No change: none of \d+ figures differs beyond chance", said)
    found = json.loads(labkit("compare", "drafters", RECORDED, "--json")[0])
    assert (found["verdict"], found["regressions"], found["setup"]) == ("no change", [], [])
    assert {figure["figure"] for figure in found["figures"]} == {
        "tpot", "relative_tpot", "speedup", "acceptance_length", "joint_rate", "divergence",
    }  # fmt: skip
    assert {figure["change"][1] for figure in found["figures"]} == {0}


def test_compare_ends_with_1_on_a_regression(edited):
    slower = edited(twice_as_slow)
    said = labkit("compare", "drafters", slower, code=1)[0]
    assert re.match(r"Regression: 3 of \d+ figures are worse beyond chance", said)
    assert "Regression: eagle3 K=3, T = 0, concurrency 1: time per token +100.0 %" in said
    found = json.loads(labkit("compare", "drafters", slower, "--json", code=1)[0])
    assert [(f["drafter"], f["k"], f["figure"]) for f in found["regressions"]] == [
        ("eagle3", 3, "tpot"), ("eagle3", 3, "speedup"), ("eagle3", 3, "relative_tpot"),
    ]  # fmt: skip
    assert labkit("compare", slower, "drafters")[0].startswith("Improvement: 3 of ")


def test_compare_of_an_unfinished_run_compares_and_ends_with_1(edited):
    run = edited(lambda cell: None)
    next((run / "cells").iterdir()).unlink()
    out, said = labkit("compare", run, run, code=1)
    assert out.startswith("No change")
    assert re.search(r"1 of \d+ cells of", said)


def test_compare_ends_with_1_where_a_cell_of_the_later_run_was_discarded(edited):
    def discard(cell):
        if is_eagle3(cell):
            cell["flags"] = [{"name": "method_mismatch", "reason": "asked for eagle3, the engine runs draft_model"}]

    run = edited(discard)
    out, said = labkit("compare", "drafters", run, code=1)
    assert "Not compared: eagle3 K=3, T = 0, concurrency 1: only before." in out
    assert "eagle3 K=3, T=0, concurrency 1: method_mismatch: asked for eagle3" in said
    assert labkit("compare", run, "drafters")[0].startswith("No change"), "the run that is judged is whole"


def test_compare_ends_with_2_where_nothing_could_be_judged(edited):
    def shorten(cell):
        cell["records"] = cell["records"][:4]

    out, said = labkit("compare", "drafters", edited(shorten), code=2)
    assert out.startswith("Nothing could be judged")
    assert "no cell has 5 prompts that both runs finished in every block" in said


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("compare", "drafters", "nowhere"), "no run at nowhere"),
        (("compare", "drafters", "drafters", "--confidence", "1"), "confidence must lie between 0 and 1"),
        (("batch", "nowhere.yaml"), r"cannot read a grid from nowhere\.yaml: No such file"),
    ],
)
def test_mistakes_in_comparing_and_in_grids_are_exit_2(tmp_path, argv, message):
    _, said = labkit(*argv, cwd=tmp_path, code=2)
    assert re.search(message, said)
    assert list(tmp_path.iterdir()) == []


def test_a_batch_lists_makes_resumes_and_ends_with_1_where_a_report_failed(tmp_path):
    notebook = write_notebook(tmp_path / "lab.ipynb", SHOW_SUMMARY, "assert blocks != 13, 'unlucky'", FINISH)
    grid = tmp_path / "team.yaml"
    grid.write_text(yaml.safe_dump({"notebook": str(notebook), "grid": {"blocks": [1, 13]}}))
    listed = json.loads(labkit("batch", grid, "--dry-run", "--json", cwd=tmp_path)[0])
    assert [job["blocks"] for job in listed] == [1, 13]
    assert not (tmp_path / "reports").exists()
    out, said = labkit("batch", grid, "--workers", 2, "--json", cwd=tmp_path, code=1)
    assert [report["state"] for report in json.loads(out)["reports"]] == ["done", "failed"]
    assert "1 of 2 reports failed, the others are kept:" in said
    assert "AssertionError: unlucky" in said
    grid.write_text(yaml.safe_dump({"notebook": str(notebook), "grid": {"blocks": [1]}}))
    assert "kept" in labkit("batch", grid, "--resume", "--json", cwd=tmp_path)[0]


def test_an_interrupted_batch_ends_and_says_how_to_go_on(tmp_path):
    """Ctrl-C reaches every process of the terminal: the kernel at work is ended, and no other report is begun."""
    started = tmp_path / "started"
    wait = "import pathlib, time\npathlib.Path(run).write_text(str(blocks))\ntime.sleep(120)"
    notebook = write_notebook(tmp_path / "lab.ipynb", SHOW_SUMMARY, wait, FINISH)
    grid = tmp_path / "team.yaml"
    settings = {"notebook": str(notebook), "parameters": {"run": str(started)}, "grid": {"blocks": [1, 2]}}
    grid.write_text(yaml.safe_dump(settings))
    process = subprocess.Popen(
        [sys.executable, "-m", "labkit.cli", "batch", grid], cwd=tmp_path, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not started.exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted; finished cells are kept, go on with --resume" in said
    assert "Traceback" not in said
    assert started.read_text() == "1"


def test_the_shipped_comparison_becomes_a_report(tmp_path):
    notebook = NOTEBOOK.with_name("05_compare.ipynb")
    found = json.loads(labkit("report", notebook, "--out", tmp_path / "reports", "--json")[0])
    page = Path(found["report"]).read_text(encoding="utf-8")
    assert len(page.encode()) < 3_000_000
    assert page.count('<div class="figure">') == 1
    assert re.search(r"No change: none of \d+ figures differs", Path(found["index"]).read_text(encoding="utf-8"))
    assert "not 2.7×" in page
