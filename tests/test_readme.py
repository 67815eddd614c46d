"""The README keeps its word: its files exist, its commands parse, its Python runs."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from labkit.config import EngineConfig, Simulation, read
from labkit.measure.sweep import sweep
from labkit.plan import Plan, WorkloadSpec

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.S)


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)h][^)]*)\)", TEXT))))
def test_what_it_links_to_exists(target):
    assert (ROOT / target).exists()


def test_every_make_target_exists():
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.M))
    asked = set(re.findall(r"`make (\w+)|^make (\w+)", TEXT, re.M))
    assert {a or b for a, b in asked} <= targets


@pytest.mark.parametrize("line", [line for block in blocks("bash") for line in block.splitlines() if "labkit " in line])
def test_every_command_has_the_options_it_is_shown_with(line):
    words = shlex.split(line, comments=True)[1:]
    command = words[:2] if words[0] in ("models", "drafters") else words[:1]
    helped = subprocess.run(
        [sys.executable, "-m", "labkit.cli", *command, "--help"], capture_output=True, text=True, timeout=60, env=WIDE
    )
    assert helped.returncode == 0
    for word in words:
        if word.startswith("-"):
            assert re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", helped.stdout), word


WIDE = {"COLUMNS": "200", "PATH": "/usr/bin", "NO_COLOR": "1"}


def test_the_plan_is_valid():
    (text,) = blocks("yaml")
    plan = read(Plan, yaml.safe_load(text), where="README")
    assert len(plan.specs) == 7


def test_the_python_example_runs(tmp_path, monkeypatch, capsys):
    (code,) = blocks("python")
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    monkeypatch.setenv("LABKIT_RUNS", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)
    engine = EngineConfig(target="markov", kind="simulated", simulation=Simulation(base=0.001))
    plan = {"drafters": ({"method": "ngram"},), "k": (2,), "blocks": 1, "warmup": "engine"}
    workload = WorkloadSpec(categories=("code",), per_category=6, max_tokens=24)
    sweep(read(Plan, plan | {"engine": engine, "workload": workload}, where="test"))
    exec(compile(code, "README.md", "exec"), {})
    said = capsys.readouterr().out
    assert "mean_acceptance_length" in said
    assert "At T = 0 with 1 user" in said
    assert (tmp_path / "speedup.html").exists()


def test_no_placeholder_is_left():
    assert "@" not in TEXT
