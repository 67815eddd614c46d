"""benchmarks/compare_power.py on recorded runs, with few pairs and a fixed seed: equal runs are no change, a slowdown
of 8 % in one cell is found."""

import runpy
from pathlib import Path

import pytest

from labkit.paths import DATA
from labkit.store import recorded

SCRIPT = runpy.run_path(str(Path(__file__).parents[1] / "benchmarks" / "compare_power.py"))
RECORDED = sorted(path.parent.name for path in (DATA / "recorded").glob("*/plan.json"))


@pytest.fixture(scope="module")
def run():
    return recorded("drafters").measurements()


@pytest.mark.parametrize("name", RECORDED)
def test_the_size_of_chance_is_told_by_runs_that_launched_their_cells_again(name):
    found = SCRIPT["chance"](recorded(name).measurements())
    if recorded(name).plan.blocks == 1:
        assert found is None
    else:
        request, launch = found
        assert 0.002 < request < 0.2
        assert 0 <= launch < 0.1


def test_chance_put_in_is_found_again(run):
    """From the blocks of a simulated run with a chance of 4 % per request and 3 % per launch."""
    made = SCRIPT["Simulation"](run, 0.04, 0.03, prompts=40, blocks=12, seed=3)
    assert SCRIPT["chance"](made.pair()[0]) == (pytest.approx(0.04, rel=0.1), pytest.approx(0.03, rel=0.3))


def test_chance_of_requests_alone_is_none_of_launches(run):
    made = SCRIPT["Simulation"](run, 0.08, 0.0, prompts=40, blocks=12, seed=4)
    request, launch = SCRIPT["chance"](made.pair()[0])
    assert request == pytest.approx(0.08, rel=0.1)
    assert launch < 0.008


def test_equal_runs_are_no_change_and_a_slower_cell_is_found(run):
    made = SCRIPT["Simulation"](run, 0.04, 0.015, seed=1)
    assert made.equal(4) == 4
    assert made.slower(5, 1.08) >= 4  # every speculative cell once
