"""Time per token against the other drafters: what blocks share is in none of it, and who takes part."""

from dataclasses import replace
from math import nan

import pytest

from labkit.analysis.among_cells import changes_among, own_doing
from labkit.analysis.matching import matched
from labkit.config import Drafter, Sampling

DRAFTERS = [Drafter(method="draft_model", model="demo/draft"), Drafter(method="ngram"), Drafter(method="suffix")]
DRAFT = ("draft", 4)
LOOP = tuple(range(8)) * 10


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


def test_a_block_that_too_few_drafters_have_is_left_out(run):
    """A run that ended early, or lost its baseline in one block: the other blocks tell."""
    after = [m for m in run() if m.cell.block < 2 or not m.cell.spec.k]
    changes = found(run(), after)
    assert len(changes) == 7
    assert {change.blocks for change in changes.values()} == {((0, 1, 2), (0, 1))}
    assert len(found(run(), [m for m in run() if m.cell.spec.k])) == 0, "three drafters, no baseline"


def test_a_run_that_ended_inside_a_block_is_compared_in_the_whole_ones(run):
    """Every drafter has one K of the last block: it costs no other K its place."""
    after = [m for m in run() if m.cell.block < 2 or m.cell.spec.k != 4]
    changes = found(run(), after)
    assert len(changes) == 7
    assert changes[DRAFT].blocks == ((0, 1, 2), (0, 1))


def test_a_cell_with_two_launches_in_one_block_takes_no_part(run):
    twice = [*run(), *(m for m in run() if is_draft(m) and m.cell.block == 1)]
    assert found(run(), twice).keys() == found(run(), run()).keys() - {DRAFT}


def test_launches_meet_those_of_their_block_in_whatever_order(run):
    paced = slower(run(), lambda drafter, k, block: (1.0, 1.4, 2.0)[block])
    mixed = sorted(paced, key=lambda m: m.cell.block if is_draft(m) else -m.cell.block)
    for key, change in found(run(), mixed).items():
        assert (change.mid, change.scatter) == pytest.approx((0, 0), abs=1e-9), key


def test_the_several_k_of_a_drafter_are_one_reference(run):
    """One K of each other drafter is twice as slow: half way in each, and so in their median."""
    changes = found(run(), slower(run(), lambda drafter, k, block: 2.0 if k == 2 and drafter != "draft" else 1.0))
    assert changes[DRAFT].mid == pytest.approx(-0.3466, abs=1e-4)  # log(2) / 2


def test_cells_with_other_prompts_are_not_held_against_each_other(run):
    """Cells beyond the grid may have fewer prompts."""
    few = [replace(m, cell=replace(m.cell, workload=replace(m.cell.workload, per_category=1))) for m in run()]
    mixed = [few_m if is_draft(m) else m for m, few_m in zip(run(), few, strict=True)]
    for before, after in ((run(), mixed), (mixed, run())):
        assert DRAFT not in found(before, after)
    assert DRAFT in found(few, few)


@pytest.mark.parametrize(("broken", "prompts"), [(6, 6), (7, 12)])
def test_a_cell_that_finished_few_prompts_spoils_no_others(run, broken, prompts):
    def failed(m):
        return replace(m, records=tuple(replace(r, error="HTTP 500") if int(r.prompt_id[1:]) < broken else r
                                        for r in m.records))  # fmt: skip

    changes = found(run(), [failed(m) if is_draft(m) else m for m in run()])
    assert {change.prompts for change in changes.values()} == {prompts}
    assert (DRAFT in changes) == (prompts == 6)


def test_cells_that_finished_unlike_prompts_are_not_all_lost(run):
    def failed(m):
        lost = {("draft", 4): range(6), ("ngram", 4): range(6, 12)}.get((m.cell.spec.name, m.cell.spec.k), ())
        records = (replace(r, error="HTTP 500") if int(r.prompt_id[1:]) in lost else r for r in m.records)
        return replace(m, records=tuple(records))

    changes = found(run(), list(map(failed, run())))
    assert len(changes) == 6
    assert {change.prompts for change in changes.values()} == {6}


def test_looping_outputs_and_prompts_that_share_only_an_id_do_not_count(run):
    def looping(m):
        return replace(m, records=tuple(replace(r, output_token_ids=LOOP) if r.prompt_id == "p0" else r
                                        for r in m.records))  # fmt: skip

    def asked(m, number):
        records = tuple(replace(r, prompt_token_ids=(number if r.prompt_id == "p1" else 1,)) for r in m.records)
        return replace(m, records=records, provenance=replace(m.provenance, workload_hash=str(number)))

    before, after = ([asked(m, number) for m in run()] for number in (1, 2))
    changes = found(before, [looping(m) if is_draft(m) else m for m in after])
    assert {change.prompts for change in changes.values()} == {10}


@pytest.mark.parametrize(
    ("relative", "speedup", "own"),
    [
        pytest.param(0.1, -0.1, True, id="both"),
        pytest.param(0.1, -0.05, True, id="half"),
        pytest.param(0.1, -0.04, False, id="less than half"),
        pytest.param(-0.1, 0.0, False, id="others became slower"),
        pytest.param(-0.1, 0.2, True, id="both became faster"),
        pytest.param(0.0, 0.0, True, id="nothing"),
        pytest.param(0.1, nan, False, id="no baseline"),
    ],
)
def test_what_a_cell_did_itself_shows_against_the_baseline_too(relative, speedup, own):
    assert own_doing(relative, speedup) == own


def test_loads_are_apart(run):
    hot = [replace(m, cell=replace(m.cell, sampling=Sampling(temperature=0.8))) for m in run()]
    both = changes_among(matched([*run(), *hot], [*run(), *slower(hot, lambda drafter, k, block: 2.0)])[0])
    assert {cells.load[0] for cells, *_ in both} == {0.0, 0.8}
    assert max(abs(change.mid) for *_, change in both) == pytest.approx(0, abs=1e-9)
