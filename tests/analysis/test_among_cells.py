"""Time per token against the other drafters: what blocks share is in none of it, and who takes part."""

from dataclasses import replace

import pytest

from labkit.analysis.among_cells import changes_among
from labkit.analysis.matching import matched
from labkit.config import Drafter, Sampling

DRAFTERS = [Drafter(method="draft_model", model="demo/draft"), Drafter(method="ngram"), Drafter(method="suffix")]
DRAFT = ("draft", 4)


@pytest.fixture(scope="module")
def run(sweep):
    """``run(seed)``: the baseline and three drafters at two K each, three launches, nothing by chance."""
    given = {"drafters": DRAFTERS, "blocks": 3, "prompts": 12, "temperatures": (0.0,)}
    return lambda **options: sweep(**given | options)


def found(before, after):
    """Change of each cell by (drafter, K)."""
    among = changes_among(matched(before, after)[0])
    return {(cells.after_key[0], cells.after_key[2]): change for cells, _, change in among}


def slower(measurements, factor):
    """``factor(drafter, K, block)`` times the decode time."""

    def paced(m):
        by = factor(m.cell.spec.name, m.cell.spec.k, m.cell.block)
        return replace(m, records=tuple(replace(r, t_last=r.t_first + by * r.decode_seconds) for r in m.records))

    return list(map(paced, measurements))


def is_draft(m):
    return (m.cell.spec.name, m.cell.spec.k) == DRAFT


def test_what_a_block_shares_is_in_no_cell(run):
    changes = found(run(), slower(run(), lambda drafter, k, block: (1.0, 1.4, 2.0)[block]))
    assert len(changes) == 7
    for change in changes.values():
        assert (change.mid, change.scatter) == pytest.approx((0, 0), abs=1e-9)


def test_a_cell_is_held_against_the_median_of_the_other_drafters(run):
    changes = found(run(), slower(run(), lambda drafter, k, block: 3.0 if drafter == "draft" else 1.1))
    for (drafter, _), change in changes.items():
        assert change.mid == pytest.approx(1.0033 if drafter == "draft" else 0, abs=1e-4)  # log(3 / 1.1)


def test_before_and_after_are_times_against_the_level_of_the_others(run):
    same, changes = (
        found(run(), run())[DRAFT],
        found(slower(run(), lambda *cell: 2.0 if cell[:2] == DRAFT else 1), run()),
    )
    assert (same.before, same.prompts, same.launches) == (same.after, 12, (3, 3))
    assert changes[DRAFT].before - same.before == pytest.approx(0.6931, abs=1e-4)  # log(2)
    assert changes[DRAFT].after == pytest.approx(same.after, abs=1e-4)


def test_two_drafters_have_too_few_others(run):
    assert found(run(drafters=DRAFTERS[:2]), run(drafters=DRAFTERS[:2])) == {}


def test_a_cell_that_misses_a_block_takes_no_part(run):
    after = [m for m in run() if not (is_draft(m) and m.cell.block == 1)]
    assert found(run(), after).keys() == found(run(), run()).keys() - {DRAFT}


def test_cells_with_other_prompts_are_held_against_each_other(run):
    """Cells beyond the grid may have fewer prompts: they are not held against the grid's."""
    few = [replace(m, cell=replace(m.cell, workload=replace(m.cell.workload, per_category=1))) for m in run()]
    mixed = [few_m if is_draft(m) else m for m, few_m in zip(run(), few, strict=True)]
    assert DRAFT not in found(run(), mixed)
    assert DRAFT in found(few, few)


def test_loads_are_apart(run):
    hot = [replace(m, cell=replace(m.cell, sampling=Sampling(temperature=0.8))) for m in run()]
    both = changes_among(matched([*run(), *hot], [*run(), *slower(hot, lambda drafter, k, block: 2.0)])[0])
    assert {cells.load[0] for cells, *_ in both} == {0.0, 0.8}
    assert max(abs(change.mid) for *_, change in both) == pytest.approx(0, abs=1e-9)
