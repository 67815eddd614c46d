"""Anchor cells: which they are, in which order, and how far they moved."""

from dataclasses import replace

import pytest

from labkit.analysis.drift import drifts, relative_drift


def test_the_drift_of_the_field():
    assert relative_drift([3.05, 2.96, 2.84]) == pytest.approx(-0.069, abs=5e-4)


def slowed(m, factor, when):
    """``m`` with its decode times stretched, measured at ``when``."""
    records = [replace(r, t_last=r.t_first + r.decode_seconds * factor) for r in m.records]
    return replace(m, records=tuple(records), provenance=replace(m.provenance, started_at=when))


def test_the_baseline_is_the_anchor_of_speed_in_the_order_of_time(sweep):
    factor = {0: 1.0, 1: 1.1, 2: 1.2}
    cells = [slowed(m, factor[m.cell.block], 1e9 - m.cell.block) for m in sweep(blocks=3)]
    found = next(d for d in drifts(cells, run="after") if d.figure == "tpot")
    assert (found.key[0], found.key[3], found.run) == ("baseline", 0.0, "after")
    assert found.values == pytest.approx([0.048, 0.044, 0.040])
    assert found.relative == pytest.approx(-1 / 6)
    assert found.notable


def test_the_largest_k_of_each_drafter_is_the_anchor_of_acceptance(sweep):
    found = [d for d in drifts(sweep(blocks=2), run="before") if d.figure == "acceptance_length"]
    assert sorted((d.key[0], d.key[2], d.relative) for d in found) == [("draft", 4, 0), ("ngram", 4, 0)]
    assert not any(d.notable for d in found)


def test_what_was_measured_once_did_not_drift(sweep):
    assert drifts(sweep(blocks=1), run="before") == []
    assert drifts([], run="before") == []


def test_without_counts_there_is_no_drift_of_acceptance(sweep):
    mute = [
        replace(m, records=tuple(replace(r, per_step_accepted=None, per_step_drafted=None) for r in m.records))
        for m in sweep(blocks=2)
    ]
    assert [d.figure for d in drifts(mute, run="before")] == ["tpot"]
