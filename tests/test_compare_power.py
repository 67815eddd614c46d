"""benchmarks/compare_power.py on recorded runs, with few pairs and a fixed seed: equal runs are no change, a slowdown
of 8 % in one cell is found."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from labkit.paths import DATA
from labkit.store import recorded

SCRIPT = runpy.run_path(str(Path(__file__).parents[1] / "benchmarks" / "compare_power.py"))
CHANCE = SCRIPT["Chance"]
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
        assert 0.002 < found.request < 0.2
        assert all(0 <= part < 0.15 for part in found)


PARTS = [
    pytest.param(CHANCE(0.04, 0.03, 0.03, 0.06), id="all"),
    pytest.param(CHANCE(0.08, 0.0, 0.0, 0.0), id="requests alone"),
    pytest.param(CHANCE(0.04, 0.0, 0.03, 0.0), id="launches apart"),
    pytest.param(CHANCE(0.04, 0.06, 0.0, 0.0), id="moments"),
]


@pytest.mark.parametrize("put_in", PARTS)
def test_chance_put_in_is_found_again(put_in):
    """In two loads of other sizes, whose cells and prompts differ for good as well."""
    rng, tables = np.random.default_rng(3), []
    for cells, prompts in ((5, 10), (3, 50)):
        shapes = ((cells, 200, prompts), (1, 200, prompts), (cells, 200, 1), (1, 200, 1))
        drawn = [rng.normal(0, size, shape) for size, shape in zip(put_in, shapes, strict=True)]
        tables.append(sum(drawn) + rng.normal(0, 0.5, (cells, 1, prompts)))
    for part, value in SCRIPT["told_apart"](tables)._asdict().items():
        assert value == pytest.approx(getattr(put_in, part), rel=0.15, abs=0.01), part


def test_equal_runs_are_no_change_and_a_slower_cell_is_found(run):
    made = SCRIPT["Simulation"](run, CHANCE(0.04, 0.02, 0.012, 0.03), seed=1)
    assert made.equal(4) == 4
    assert made.slower(5, 1.08) >= 4  # every speculative cell once


def test_halves_of_a_run_measured_in_turn_are_no_change_and_a_slower_cell_is_found():
    """Real launches on a shared machine, nothing simulated but the slowdown: every half of six blocks with the rest."""
    unchanged, found = SCRIPT["halves"](recorded("repeats").measurements(), 1.08)
    assert (len(unchanged), len(found)) == (20, 40)
    assert all(unchanged)
    assert all(found)
