"""Flags that only the other cells of a run show."""

from dataclasses import replace

import pytest

from labkit.analysis.related import related
from labkit.view import tables
from tests.analysis.test_drift import slowed


def cached(m, hits, queries=1000):
    """``m`` from a server whose prefix cache answered so many of the prompt tokens asked for."""
    engine = replace(m.counters.per_engine["0"], prefix_cache_hits=hits, prefix_cache_queries=queries)
    return replace(m, counters=replace(m.counters, per_engine={"0": engine}))


def flags(measurements, name):
    return {(m.cell.spec.name, m.cell.spec.k): flag.reason for m in related(measurements) if (flag := m.flag(name))}


@pytest.mark.parametrize(("hits", "flagged"), [(0, False), (10, False), (11, True), (1000, True)])
def test_a_cache_that_one_arm_alone_had(sweep, hits, flagged):
    """More than a point apart from the baseline of the same block, temperature and load."""
    cells = [cached(m, hits if (m.cell.spec.name, m.cell.spec.k) == ("ngram", 2) else 0) for m in sweep()]
    found = flags(cells, "cache_mismatch")
    assert set(found) == ({("ngram", 2)} if flagged else set())
    if flagged:
        assert found["ngram", 2] == (
            f"{hits / 1000:.1%} of the prompt tokens came from the prefix cache, 0.0% in the baseline"
        )
        row = tables.speedups(cells).query("drafter == 'ngram' and k == 2").iloc[0]
        assert row["cautions"] == "cache_mismatch"
        assert "cache_mismatch" in tables.cells(cells).query("drafter == 'ngram' and k == 2")["flags"].iloc[0]


def test_a_cache_that_both_had_or_nobody_tells_of(sweep):
    assert flags([cached(m, 400) for m in sweep()], "cache_mismatch") == {}
    assert flags([cached(m, None) if m.cell.spec.k else cached(m, 400) for m in sweep()], "cache_mismatch") == {}
    assert flags([cached(m, 400 if m.cell.spec.k else 0, 0) for m in sweep()], "cache_mismatch") == {}
    assert flags([replace(m, counters=None) for m in sweep()], "cache_mismatch") == {}


def test_an_anchor_that_moved(sweep):
    """The baseline became slower from block to block; so it says on the baseline, in every block."""
    factor = {0: 1.0, 1: 1.1, 2: 1.2}
    cells = [slowed(m, 1.0 if m.cell.spec.k else factor[m.cell.block], 1e9 + m.cell.block) for m in sweep(blocks=3)]
    found = [m for m in related(cells) if m.flag("drift")]
    assert {(m.cell.spec.k, m.cell.sampling.temperature) for m in found} == {(0, 0.0)}
    assert len(found) == 3
    assert found[0].flag("drift").reason == "+20.0% in time per token (40.00, 44.00, 48.00 ms by block)"


def test_what_did_not_move_is_left_as_it_is(sweep):
    cells = sweep(blocks=3)
    assert related(cells) == cells
    assert related([]) == []
