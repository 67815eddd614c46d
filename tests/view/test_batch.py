"""A grid of reports: planned strictly, built a few at a time, resumed from what is there, summed up."""

import json
import re
import threading
import time

import pytest
import yaml

from labkit.errors import ConfigError, ReportError
from labkit.view import batch
from labkit.view.batch import load_grid, plan_jobs, run_batch
from tests.view.test_destination import store
from tests.view.test_report import FINISH, SHOW_SUMMARY, write

__all__ = ["store"]


@pytest.fixture
def notebook(tmp_path):
    return write(tmp_path / "lab.ipynb", SHOW_SUMMARY, "assert blocks != 13, 'unlucky'", FINISH)


@pytest.fixture
def grid(tmp_path, notebook):
    """``grid(blocks=[1, 2])``: a grid file over the notebook."""

    def make(fixed=None, **values):
        path = tmp_path / "team.yaml"
        path.write_text(yaml.safe_dump({"notebook": str(notebook), "parameters": fixed or {}, "grid": values}))
        return path

    return make


@pytest.fixture
def built(monkeypatch):
    """Reports made by writing two files, with a moment's pause: what was asked, and how many at once."""
    seen = {"asked": [], "at once": 0, "now": 0}
    lock = threading.Lock()

    def make(notebook, parameters, *, out, name):
        with lock:
            seen["asked"].append(dict(parameters))
            seen["now"] += 1
            seen["at once"] = max(seen["at once"], seen["now"])
        time.sleep(0.05)
        with lock:
            seen["now"] -= 1
        out.mkdir(parents=True, exist_ok=True)
        if parameters.get("blocks") == 13:
            raise ReportError(f"unlucky (partial notebook: {out / name}.ipynb)")
        source = write(out / f"{name}.ipynb", "1")
        made = json.loads(source.read_text())
        made["cells"][-1]["outputs"] = [
            {"output_type": "display_data", "metadata": {}, "data": {batch_mime(): {"verdict": [f"<b>{name}</b>"]}}}
        ]
        source.write_text(json.dumps(made))
        (out / f"{name}.html").write_text("<html>")
        (out / "index.html").write_text("")
        return out / f"{name}.html"

    monkeypatch.setattr(batch, "build_report", make)
    return seen


def batch_mime():
    from labkit.view.present import SUMMARY_MIME

    return SUMMARY_MIME


def run(path, out, **options):
    said = []
    page, outcomes = run_batch(path, out=str(out), say=said.append, **options)
    return page, outcomes, said


def states(outcomes):
    return [outcome.state for outcome in outcomes]


# --- planned


def test_every_combination_is_a_job(grid, notebook):
    jobs = plan_jobs(load_grid(grid({"fast": False}, blocks=[1, 2], run=["runs/7b.x", "b"])))
    assert [job.varied for job in jobs] == [
        {"blocks": b, "run": r} for b in (1, 2) for r in ("runs/7b.x", "b")
    ]  # fmt: skip
    assert {job.parameters["fast"] for job in jobs} == {False}
    assert re.fullmatch(r"lab-1-7b-[0-9a-f]{6}", jobs[0].name)


def test_a_name_follows_what_is_made(grid, notebook):
    def name(**values):
        return plan_jobs(load_grid(grid(**values)))[0].name

    first = name(blocks=[1])
    assert name(blocks=[1]) == first
    assert name(blocks=[2]) != first
    write(notebook, SHOW_SUMMARY, "2", FINISH)
    assert name(blocks=[1]) != first, "another notebook makes another report"


def test_names_are_fit_for_a_file(grid):
    (job,) = plan_jobs(load_grid(grid(run=["a b/ü?:*" + "x" * 99])))
    assert re.fullmatch(r"lab-[A-Za-z0-9._-]{1,30}-[0-9a-f]{6}", job.name)


def test_a_grid_without_a_grid_is_one_report(grid):
    (job,) = plan_jobs(load_grid(grid({"blocks": 2})))
    assert (job.varied, job.parameters) == ({}, {"blocks": 2})


def test_several_notebooks(tmp_path, notebook):
    other = write(tmp_path / "other.ipynb", SHOW_SUMMARY, FINISH)
    (tmp_path / "g.yaml").write_text(
        yaml.safe_dump({"notebook": [str(notebook), str(other)], "grid": {"blocks": [1, 2]}})
    )
    assert [job.name.split("-")[0] for job in plan_jobs(load_grid(tmp_path / "g.yaml"))] == [
        "lab",
        "lab",
        "other",
        "other",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("grid: {blocks: [1]}", "notebook"),
        ("notebok: x", "unknown key 'notebok'.*did you mean 'notebook'"),
        ("[1, 2]", "holds no mapping"),
        ("notebook: [", "cannot read a grid from"),
        ("{notebook: nowhere.ipynb}", r"no notebook at nowhere\.ipynb"),
        ("{notebook: LAB, grid: {blocks: []}}", "grid: 'blocks' has no value"),
        ("{notebook: LAB, grid: {blocks: 3}}", r"grid\.blocks: "),
        (
            "{notebook: LAB, grid: {blocks: [1]}, parameters: {blocks: 2}}",
            "'blocks' stands in 'parameters' and in 'grid'",
        ),
        ("{notebook: LAB, grid: {blcoks: [1]}}", "no parameter 'blcoks'.*did you mean 'blocks'"),
        ("{notebook: LAB, grid: {blocks: [1, x]}}", "'blocks' must be of type int; got 'x'"),
        ("{notebook: LAB, grid: {blocks: [1, 1]}}", "makes a report twice"),
    ],
)
def test_mistakes_are_found_before_anything_is_done(tmp_path, notebook, text, message):
    (tmp_path / "g.yaml").write_text(text.replace("LAB", str(notebook)))
    with pytest.raises(ConfigError, match=message):
        run_batch(tmp_path / "g.yaml", out=str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_missing_grid_and_no_workers(tmp_path, grid):
    with pytest.raises(ConfigError, match=r"cannot read a grid from .*No such file"):
        load_grid(tmp_path / "nowhere.yaml")
    with pytest.raises(ConfigError, match=r"workers is how many .* got 0"):
        run_batch(grid(blocks=[1]), out=str(tmp_path / "out"), workers=0)


# --- made


@pytest.mark.parametrize("workers", [1, 3])
def test_the_pool_is_bounded(grid, built, tmp_path, workers):
    _, outcomes, said = run(grid(blocks=list(range(7))), tmp_path / "out", workers=workers)
    assert states(outcomes) == ["done"] * 7
    assert built["at once"] == workers
    assert sorted(asked["blocks"] for asked in built["asked"]) == list(range(7))
    assert len(said) == 7
    assert said[-1].startswith("[7/7] lab-")


def test_a_failure_stops_no_other_and_stays_to_be_looked_at(grid, built, tmp_path):
    page, outcomes, _ = run(grid(blocks=[1, 13, 2]), tmp_path / "out")
    assert states(outcomes) == ["done", "failed", "done"]
    assert outcomes[1].error.startswith("unlucky")
    assert [path.name for path in (tmp_path / "out" / ".batch").iterdir()] == [outcomes[1].name]
    text = page.read_text(encoding="utf-8")
    assert "3 reports: 2 done, 1 failed." in text
    assert "unlucky" in text


def test_the_summary_links_and_escapes(grid, built, tmp_path):
    page, (only,), _ = run(grid(run=["<i>x"]), tmp_path / "out")
    text = page.read_text(encoding="utf-8")
    assert f"<a href='{only.name}.html'>" in text
    assert f"&lt;b&gt;{only.name}&lt;/b&gt;" in text
    assert "&lt;i&gt;x" in text
    assert "<i>x" not in text
    assert json.loads(page.with_suffix(".json").read_text()) == [only.plain()]
    assert "team (grid)" in (page.parent / "index.html").read_text(encoding="utf-8")


def test_resume_keeps_what_is_whole(grid, built, tmp_path):
    run(grid(blocks=[1, 13]), tmp_path / "out")
    built["asked"].clear()
    _, outcomes, _ = run(grid(blocks=[1, 13, 2]), tmp_path / "out", resume=True)
    assert states(outcomes) == ["kept", "failed", "done"]
    assert sorted(asked["blocks"] for asked in built["asked"]) == [2, 13]
    _, outcomes, _ = run(grid(blocks=[1, 2]), tmp_path / "out")
    assert states(outcomes) == ["done", "done"], "without resume everything is made anew"


def test_an_interrupt_keeps_what_is_finished_and_starts_nothing_more(grid, built, tmp_path, monkeypatch):
    def stop(line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_batch(grid(blocks=list(range(9))), out=str(tmp_path / "out"), say=stop)
    time.sleep(0.2)
    assert len(built["asked"]) <= 3
    assert len(list((tmp_path / "out").glob("lab-*.html"))) == 1
    _, outcomes, _ = run(grid(blocks=list(range(9))), tmp_path / "out", resume=True)
    assert states(outcomes).count("kept") == 1


def test_a_file_is_no_folder(grid, tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(ConfigError, match="is a file; --out names a folder"):
        run_batch(grid(blocks=[1]), out=str(tmp_path / "out"))


# --- remote


def test_a_remote_place_gets_every_file(grid, built, store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, (only,), _ = run(grid(blocks=[1]), "mem://bucket/x/")
    names = {path.rsplit("/", 1)[1] for path in store}
    assert names == {f"{only.name}.html", f"{only.name}.ipynb", "batch-team.html", "batch-team.json", "index.html"}
    assert all(path.startswith("mem://bucket/x/") for path in store)
    assert (tmp_path / "reports" / "team" / f"{only.name}.html").exists()


def test_resume_finds_what_only_the_remote_place_has(grid, built, store, tmp_path, monkeypatch):
    for machine in ("one", "two"):
        (tmp_path / machine).mkdir()
    monkeypatch.chdir(tmp_path / "one")
    run(grid(blocks=[1]), "mem://bucket")
    monkeypatch.chdir(tmp_path / "two")
    _, outcomes, _ = run(grid(blocks=[1, 2]), "mem://bucket", resume=True)
    assert states(outcomes) == ["kept", "done"]
    assert len(built["asked"]) == 2


def test_a_place_that_takes_no_files_is_known_before_any_work(grid, built, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ReportError, match="cannot write s3://bucket/"):
        run_batch(grid(blocks=[1]), out="s3://bucket")
    assert built["asked"] == []
    with pytest.raises(ConfigError, match="papermill cannot write reports to ftp://x"):
        run_batch(grid(blocks=[1]), out="ftp://x")


# --- with real kernels


def test_real_reports_side_by_side(grid, tmp_path):
    page, outcomes, _ = run(grid({"confidence": 0.5}, blocks=[1, 13, 2]), tmp_path / "out", workers=2)
    assert states(outcomes) == ["done", "failed", "done"]
    assert "failed: AssertionError: unlucky" in outcomes[1].error
    assert (tmp_path / "out" / ".batch" / outcomes[1].name / f"{outcomes[1].name}.ipynb").exists()
    index = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert index.count("<a href='lab-") == 2
    assert "At T = 0 &lt;switch&gt; on" in page.read_text(encoding="utf-8")
