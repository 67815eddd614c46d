"""Time per token beside the other cells: what blocks share is in none of it, and who takes part."""

from dataclasses import replace

import pytest

from labkit.analysis.among_cells import changes_among
from labkit.analysis.matching import matched
from labkit.config import Sampling

DRAFT = ("draft", 4)


@pytest.fixture(scope="module")
def run(sweep):
    return lambda seed=0, **options: sweep(
        **{"blocks": 3, "prompts": 12, "jitter": 0.0, "seed": seed, "temperatures": (0.0,)} | options
    )


def found(before, after):
    """Change of each cell by (drafter, K)."""
    among = changes_among(matched(before, after)[0])
    return {(cells.after_key[0], cells.after_key[2]): change for cells, _, change in among}


def slower(measurements, factor):
    """``factor(drafter, K, block)`` times the decode time."""
    return [
        replace(m, records=tuple(
            replace(r, t_last=r.t_first + factor(m.cell.spec.name, m.cell.spec.k, m.cell.block) * r.decode_seconds)
            for r in m.records
        ))
        for m in measurements
    ]  # fmt: skip


def test_what_a_block_shares_is_in_no_cell(run):
    after = slower(run(), lambda name, k, block: (1.0, 1.4, 2.0)[block])
    for change in found(run(), after).values():
        assert change.mid == pytest.approx(0, abs=1e-9)
        assert change.scatter == pytest.approx(found(run(), run())[DRAFT].scatter, abs=1e-9)


def test_a_cell_is_held_against_the_median_of_the_others(run):
    changes = found(run(), slower(run(), lambda name, k, block: 3.0 if (name, k) == DRAFT else 1.1))
    assert changes.pop(DRAFT).mid == pytest.approx(1.0033, abs=1e-3)  # log(3 / 1.1)
    assert max(abs(change.mid) for change in changes.values()) < 0.25, "the mean would move by a quarter of it and more"


def test_before_and_after_are_the_cells_time_beside_the_others(run):
    change = found(run(), run())[DRAFT]
    assert change.before == change.after
    assert (change.prompts, change.launches) == (12, (3, 3))


def test_three_cells_have_too_few_others(run):
    def few(measurements):
        return [m for m in measurements if not m.cell.spec.k or m.cell.spec.name == "draft"]

    assert len({m.cell.spec.label for m in few(run())}) == 3
    assert found(few(run()), few(run())) == {}


def test_a_cell_that_misses_a_block_takes_no_part(run):
    after = [m for m in run() if (m.cell.spec.name, m.cell.spec.k, m.cell.block) != (*DRAFT, 1)]
    cells = found(run(), run()).keys()
    assert found(run(), after).keys() == cells - {DRAFT}


def test_cells_with_other_prompts_are_beside_each_other(run):
    """Cells beyond the grid may have fewer prompts: they are not held against the grid's."""
    few = [replace(m, cell=replace(m.cell, workload=replace(m.cell.workload, per_category=1))) for m in run()]
    mixed = [f if (m.cell.spec.name, m.cell.spec.k) == DRAFT else m for m, f in zip(run(), few, strict=True)]
    assert DRAFT not in found(run(), mixed)
    assert DRAFT in found(few, few)


def test_loads_are_apart(run):
    hot = [replace(m, cell=replace(m.cell, sampling=Sampling(temperature=0.8))) for m in run()]
    both = changes_among(matched([*run(), *hot], [*run(), *slower(hot, lambda name, k, block: 2.0)])[0])
    assert {cells.load[0] for cells, *_ in both} == {0.0, 0.8}
    assert max(abs(change.mid) for *_, change in both) == pytest.approx(0, abs=1e-9)
