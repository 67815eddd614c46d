"""A grid of reports is planned strictly, and each report has a name of its own."""

import re

import pytest
import yaml

from labkit.errors import ConfigError
from labkit.view.batch import run_batch
from labkit.view.grid import load_grid, plan_jobs
from tests.view.test_report import FINISH, SHOW_SUMMARY, write


@pytest.fixture
def notebook(tmp_path):
    return write(tmp_path / "lab.ipynb", SHOW_SUMMARY, FINISH)


@pytest.fixture
def jobs(tmp_path, notebook):
    """``jobs(blocks=[1, 2])``: the jobs of such a grid over the notebook."""

    def make(fixed=None, **values):
        path = tmp_path / "team.yaml"
        path.write_text(yaml.safe_dump({"notebook": str(notebook), "parameters": fixed or {}, "grid": values}))
        return plan_jobs(load_grid(path))

    return make


def test_every_combination_is_a_job(jobs):
    made = jobs({"fast": False}, blocks=[1, 2], run=["runs/7b.x", "b"])
    assert [job.varied for job in made] == [{"blocks": b, "run": r} for b in (1, 2) for r in ("runs/7b.x", "b")]
    assert {job.parameters["fast"] for job in made} == {False}
    assert re.fullmatch(r"lab-1-7b-[0-9a-f]{6}", made[0].name)


def test_a_name_follows_what_is_made(tmp_path, jobs, notebook):
    def name(**values):
        return jobs(**values)[0].name

    first = name(blocks=[1])
    assert name(blocks=[1]) == first
    assert name(blocks=[2]) != first
    write(notebook, SHOW_SUMMARY, "2", FINISH)
    assert name(blocks=[1]) != first, "another notebook makes another report"


def test_an_edited_plan_makes_another_report(tmp_path, jobs):
    plan = tmp_path / "plan.yaml"
    plan.write_text("blocks: 1")
    first = jobs(run=[str(plan)])[0].name
    assert jobs(run=[str(plan)])[0].name == first
    plan.write_text("blocks: 3")
    assert jobs(run=[str(plan)])[0].name != first


def test_names_are_fit_for_a_file(jobs):
    (job,) = jobs(run=["a b/ü?:*" + "x" * 99])
    assert re.fullmatch(r"lab-[A-Za-z0-9._-]{1,30}-[0-9a-f]{6}", job.name)


def test_a_grid_without_a_grid_is_one_report(jobs):
    (job,) = jobs({"blocks": 2})
    assert (job.varied, job.parameters) == ({}, {"blocks": 2})


def test_several_notebooks(tmp_path, notebook):
    other = write(tmp_path / "other.ipynb", SHOW_SUMMARY, FINISH)
    path = tmp_path / "g.yaml"
    path.write_text(yaml.safe_dump({"notebook": [str(notebook), str(other)], "grid": {"blocks": [1, 2]}}))
    assert [job.notebook for job in plan_jobs(load_grid(path))] == [notebook, notebook, other, other]


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


def test_a_missing_grid_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"cannot read a grid from .*No such file"):
        load_grid(tmp_path / "nowhere.yaml")
