"""The duration of a step: what was measured beyond the line holds where it was measured, and between."""

import math
from dataclasses import replace

import pytest

from labkit.analysis.cost import fit_cost
from labkit.analysis.step_line import Line
from labkit.errors import ConfigError
from tests.analysis.test_cost import cell, grid, seconds


@pytest.mark.parametrize(
    "wrong",
    [{"drafter": None}, {"k": 0}, {"k": -1}, {"batch": 0}, {"batch": math.nan}, {"step_seconds": 0},
     {"step_seconds": math.nan}, {"drafted_share": 1.1}, {"drafted_share": math.nan}],
    ids=str,
)  # fmt: skip
def test_a_cell_that_cannot_be_is_refused(wrong):
    with pytest.raises(ConfigError, match="got"):
        replace(cell("draft", 2, 1), **wrong)


def test_a_line_without_cells_is_the_formula():
    """40 + .5·4 + 15/16·(2 + 1·4 + 2·4) + .3·.5·4·2 = 56.325 ms, where half of each request's steps are drafted."""
    line = Line({"a": 0.040, "b": 0.0005, "e:x": 0.002, "g:x": 0.001, "c:x": 0.004, "d:x": 0.0003}, ())
    assert line.seconds("x", 2, 4, 0.5) == pytest.approx(0.056325)
    assert line.seconds("x", 2, 4, 0.0) == line.seconds(None, 0, 4) == pytest.approx(0.042)


def test_where_it_was_measured_a_k_takes_what_was_measured():
    """K = 1 takes 20 % more than the line through the others says."""
    cells = grid(batches=(1,), ks=(1, 2, 4, 8))
    model = fit_cost([replace(c, step_seconds=1.2 * c.step_seconds) if c.k == 1 else c for c in cells])
    for c in cells:
        assert model.step_seconds(c.drafter, c.k, 1) == pytest.approx(c.step_seconds * (1.2 if c.k == 1 else 1))


def test_between_two_k_it_is_interpolated():
    """Halfway between 2 and 4 a step takes half of both; at a batch that was not measured the line alone holds."""
    cells = grid(batches=(1, 8), ks=(1, 2, 4))
    uneven = [replace(c, step_seconds=1.1 * c.step_seconds) if c.k == 2 else c for c in cells]
    model = fit_cost(uneven)
    two, three, four = (model.step_seconds("draft", k, 1) for k in (2, 3, 4))
    assert three == pytest.approx((two + four) / 2)
    assert model.step_seconds("draft", 2, 3) == pytest.approx(seconds("draft", 2, 3, costs=model.coefficients))


def test_measured_twice_it_takes_the_mean():
    """The same K and batch at two temperatures."""
    cells = [c for c in grid(batches=(1,)) if c.k != 2]
    twice = [cell("draft", 2, 1, times=1.2), cell("draft", 2, 1, times=1.0)]
    assert fit_cost([*cells, *twice]).step_seconds("draft", 2, 1) == pytest.approx(1.1 * seconds("draft", 2, 1))


def test_the_baseline_measured_twice_takes_the_geometric_mean():
    cells = [cell(None, 0, 1, times=1.21), *grid(batches=(1,))]
    assert fit_cost(cells).step_seconds(None, 0, 1) == pytest.approx(1.1 * seconds(None, 0, 1))


def test_what_a_step_with_drafts_takes_beyond_goes_with_how_many_there_are():
    """Drafts on half of the steps of one user, 3 ms beyond the line: 6 ms a step with drafts, 1.2 where a fifth is."""
    cells = grid(batches=(1,), ks=(1, 2, 4, 8), share=0.5)
    late = [replace(c, step_seconds=c.step_seconds + 0.003) if c.k == 2 else c for c in cells]
    model = fit_cost(late)
    assert model.step_seconds("draft", 2, 1, drafted_share=0.5) == pytest.approx(late[2].step_seconds)
    assert model.step_seconds("draft", 2, 1, drafted_share=0.0) == model.step_seconds(None, 0, 1)
    whole, half, none = (model.step_seconds("draft", 2, 1, drafted_share=share) for share in (1.0, 0.5, 0.0))
    assert whole - none == pytest.approx(2 * (half - none))


def test_a_cell_without_drafts_tells_nothing_of_them():
    cells = [cell(None, 0, 1), cell("ngram", 2, 1, 0.0), cell("ngram", 4, 1, 0.5)]
    assert math.isfinite(fit_cost(cells).step_seconds("ngram", 2, 1, drafted_share=0.0))
