"""A grid of reports made: a few at a time, resumed from what is there, summed up, copied to a remote place."""

import json
import threading
import time

import pytest
import yaml
from papermill import iorw

from labkit.errors import ConfigError, ReportError
from labkit.view import batch
from labkit.view.batch import make_report, run_batch
from labkit.view.present import SUMMARY_MIME
from labkit.view.report import Limits
from tests.view.test_destination import store
from tests.view.test_report import FINISH, SHOW_SUMMARY, write

__all__ = ["store"]

KILL = "import os, signal\nif blocks == 13: os.kill(os.getppid(), signal.SIGKILL)"


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

    def make(notebook, parameters, *, out, name, limits):
        with lock:
            seen["asked"].append(dict(parameters))
            seen["limits"] = limits
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
        shown = {SUMMARY_MIME: {"target": "markov", "verdict": [f"<b>{name}</b>"]}}
        made["cells"][-1]["outputs"] = [{"output_type": "display_data", "metadata": {}, "data": shown}]
        source.write_text(json.dumps(made))
        (out / f"{name}.html").write_text("<html>")
        (out / "index.html").write_text("")
        return out / f"{name}.html"

    monkeypatch.setattr(batch, "build_report", make)
    return seen


def run(path, out, **options):
    """The batch in this process, so that ``built`` takes part."""
    said = []
    page, outcomes = run_batch(path, out=str(out), say=said.append, make=make_report, **options)
    return page, outcomes, said


def states(outcomes):
    return [outcome.state for outcome in outcomes]


@pytest.mark.parametrize("workers", [1, 3])
def test_the_pool_is_bounded(grid, built, tmp_path, workers):
    _, outcomes, said = run(grid(blocks=list(range(7))), tmp_path / "out", workers=workers)
    assert states(outcomes) == ["done"] * 7
    assert built["at once"] == workers
    assert sorted(asked["blocks"] for asked in built["asked"]) == list(range(7))
    assert len(said) == 7
    assert said[-1].startswith("[7/7] lab-")


def test_no_workers_are_a_mistake(grid, tmp_path):
    with pytest.raises(ConfigError, match=r"workers is how many .* got 0"):
        run(grid(blocks=[1]), tmp_path / "out", workers=0)


def test_a_failure_stops_no_other_and_stays_to_be_looked_at(grid, built, tmp_path):
    page, outcomes, _ = run(grid(blocks=[1, 13, 2]), tmp_path / "out")
    assert states(outcomes) == ["done", "failed", "done"]
    assert outcomes[1].error.startswith("unlucky")
    assert [path.name for path in (tmp_path / "out" / ".batch").iterdir()] == [outcomes[1].name]
    text = page.read_text(encoding="utf-8")
    assert "3 reports: 2 done, 1 failed." in text
    assert "unlucky" in text


def test_a_fault_of_another_kind_is_kept_with_its_report(grid, built, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(batch, "build_report", full)
    _, outcomes, _ = run(grid(blocks=[1, 2]), tmp_path / "out")
    assert [(o.state, o.error) for o in outcomes] == [("failed", "OSError: [Errno 28] No space left on device")] * 2


def test_the_summary_links_and_escapes(grid, built, tmp_path):
    page, (only,), _ = run(grid(run=["<i>x"]), tmp_path / "out")
    text = page.read_text(encoding="utf-8")
    assert f"<a href='{only.name}.html'>" in text
    assert f"&lt;b&gt;{only.name}&lt;/b&gt;" in text
    assert "&lt;i&gt;x" in text
    assert "<i>x" not in text
    (plain,) = json.loads(page.with_suffix(".json").read_text())
    assert (plain["name"], plain["target"], plain["verdict"]) == (only.name, "markov", [f"<b>{only.name}</b>"])
    assert "team (grid)" in (page.parent / "index.html").read_text(encoding="utf-8")


def test_resume_keeps_what_is_whole(grid, built, tmp_path):
    run(grid(blocks=[1, 13]), tmp_path / "out")
    built["asked"].clear()
    page, outcomes, _ = run(grid(blocks=[1, 13, 2]), tmp_path / "out", resume=True)
    assert states(outcomes) == ["kept", "failed", "done"]
    assert sorted(asked["blocks"] for asked in built["asked"]) == [2, 13]
    assert f"&lt;b&gt;{outcomes[0].name}&lt;/b&gt;" in page.read_text(encoding="utf-8"), "with its verdict"
    _, outcomes, _ = run(grid(blocks=[1, 2]), tmp_path / "out")
    assert states(outcomes) == ["done", "done"], "without resume everything is made anew"


def test_an_interrupt_keeps_what_is_finished_and_starts_nothing_more(grid, built, tmp_path):
    def stop(line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_batch(grid(blocks=list(range(9))), out=str(tmp_path / "out"), say=stop, make=make_report)
    time.sleep(0.2)
    made = len(built["asked"])
    assert made <= 3
    assert len(list((tmp_path / "out").glob("lab-*.html"))) == made
    _, outcomes, _ = run(grid(blocks=list(range(9))), tmp_path / "out", resume=True)
    assert states(outcomes).count("kept") == made


def test_deadlines_are_those_of_every_notebook(grid, built, tmp_path):
    run(grid(blocks=[1]), tmp_path / "out", limits=Limits(cell=7.0))
    assert built["limits"] == Limits(cell=7.0)
    run(grid(blocks=[1]), tmp_path / "out")
    assert built["limits"] == Limits()


def test_a_file_is_no_folder(grid, tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(ConfigError, match="is a file; --out names a folder"):
        run(grid(blocks=[1]), tmp_path / "out")


# --- remote


def test_a_remote_place_gets_every_file(grid, built, store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, (only,), _ = run(grid(blocks=[1]), "mem://bucket/x/")
    names = {path.rsplit("/", 1)[1] for path in store}
    assert names == {f"{only.name}.html", f"{only.name}.ipynb", "batch-team.html", "batch-team.json", "index.html"}
    assert all(path.startswith("mem://bucket/x/") for path in store)
    assert "1 reports: 1 done." in store["mem://bucket/x/batch-team.html"]
    assert (tmp_path / "reports" / "team" / f"{only.name}.html").exists()


def test_what_did_not_arrive_is_sent_again(grid, built, store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    lost = ["lab-2"]

    def narrow(text, path):
        if any(word in path for word in lost):
            raise ConnectionError("line lost")
        store[path] = text

    monkeypatch.setattr(store, "write", narrow, raising=False)
    _, outcomes, _ = run(grid(blocks=[1, 2]), "mem://bucket")
    assert states(outcomes) == ["done", "failed"]
    assert "ConnectionError: line lost (it is kept in reports/team)" in outcomes[1].error
    lost.clear()
    _, outcomes, _ = run(grid(blocks=[1, 2]), "mem://bucket", resume=True)
    assert states(outcomes) == ["kept", "kept"]
    assert f"mem://bucket/{outcomes[1].name}.html" in store


def test_a_place_that_takes_no_files_is_known_before_any_work(grid, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(iorw, "S3", iorw.missing_dependency_generator("boto3", "s3"))
    before = sorted(tmp_path.iterdir())
    path = grid(blocks=[1])
    with pytest.raises(ConfigError, match=r"cannot write s3://bucket/.*papermill\[s3\]"):
        run_batch(path, out="s3://bucket")
    with pytest.raises(ConfigError, match="papermill cannot write reports to ftp://x"):
        run_batch(path, out="ftp://x")
    assert sorted(tmp_path.iterdir()) == sorted({*before, path}), "nothing was begun"


# --- with real kernels, each report in its own process


def test_real_reports_side_by_side(grid, tmp_path):
    page, outcomes = run_batch(
        grid({"confidence": 0.5}, blocks=[1, 13]), out=str(tmp_path / "out"), workers=2, say=lambda line: None
    )
    assert states(outcomes) == ["done", "failed"]
    assert "failed: AssertionError: unlucky" in outcomes[1].error
    assert (tmp_path / "out" / ".batch" / outcomes[1].name / f"{outcomes[1].name}.ipynb").exists()
    index = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert index.count("<a href='lab-") == 1
    assert "At T = 0 &lt;switch&gt; on" in page.read_text(encoding="utf-8")


def test_a_process_that_is_killed_takes_no_other_report_along(tmp_path, grid, notebook):
    write(notebook, SHOW_SUMMARY, KILL, FINISH)
    _, outcomes = run_batch(grid(blocks=[13, 1]), out=str(tmp_path / "out"), say=lambda line: None)
    assert states(outcomes) == ["failed", "done"]
    assert "BrokenProcessPool" in outcomes[0].error
