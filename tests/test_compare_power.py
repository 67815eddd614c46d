"""benchmarks/compare_power.py on the recorded run, with few pairs and a fixed seed: equal runs are no change, a
slowdown of 8 % in one cell is found."""

import runpy
from pathlib import Path

import pytest

from labkit.store import recorded

SCRIPT = runpy.run_path(str(Path(__file__).parents[1] / "benchmarks" / "compare_power.py"))


@pytest.fixture(scope="module")
def run():
    return recorded("drafters").measurements()


def test_the_noise_of_the_recorded_run(run):
    request, launch, how = SCRIPT["chance"](run)
    assert 0.01 < request < 0.1
    assert 0.005 < launch < 0.04
    assert how.startswith("stretches of" if {m.cell.block for m in run} == {0} else "blocks")


def test_noise_put_in_is_found_again(run):
    """From blocks of a simulated run with a chance of 4 % per request and 3 % per launch."""
    made = SCRIPT["Simulation"](run, 0.04, 0.03, prompts=40, blocks=12, seed=3)
    request, launch, how = SCRIPT["chance"](made.pair()[0])
    assert (request, launch) == (pytest.approx(0.04, rel=0.25), pytest.approx(0.03, rel=0.25))
    assert how == "blocks"


def test_equal_runs_are_no_change_and_a_slower_cell_is_found(run):
    made = SCRIPT["Simulation"](run, 0.04, 0.015, seed=1)
    assert made.equal(6) == 6
    assert made.slower(6, 1.08) >= 5
