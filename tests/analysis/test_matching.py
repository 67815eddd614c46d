"""Which cells of two runs belong together."""

from dataclasses import replace

from labkit.analysis.matching import cell_name, matched
from labkit.config import Drafter
from labkit.records import Flag


def names(cells):
    return [c.label for c in cells]


def test_equal_cells_are_matched_with_their_baselines(sweep):
    both, alone = matched(sweep(blocks=2), sweep(blocks=3, seed=1))
    assert len(both) == 10
    assert alone == []
    assert {(len(c.before), len(c.after)) for c in both} == {(2, 3)}
    assert {(len(c.before_pairs), len(c.after_pairs)) for c in both if c.after_key[2]} == {(2, 3)}
    assert {(len(c.before_pairs), len(c.after_pairs)) for c in both if not c.after_key[2]} == {(0, 0)}


def test_what_only_one_run_has_is_named(sweep):
    both, alone = matched(sweep(temperatures=(0.0,)), sweep(temperatures=(0.8,)))
    assert both == []
    assert "ngram K=2, T = 0, concurrency 1: only before" in alone
    assert "baseline, T = 0.8, concurrency 1: only after" in alone


def test_a_renamed_drafter_is_found_by_its_method(sweep):
    old, new = Drafter(method="draft_model", model="a/old"), Drafter(method="draft_model", model="b/new")
    both, alone = matched(sweep(drafters=(old,), gains={}), sweep(drafters=(new,), gains={}))
    assert "old → new K=2, T = 0, concurrency 1" in names(both)
    assert alone == []


def test_two_of_a_method_are_not_guessed(sweep):
    old = Drafter(method="draft_model", model="a/old")
    new = [Drafter(method="draft_model", model=f"b/new{i}") for i in range(2)]
    both, alone = matched(sweep(drafters=(old,), gains={}), sweep(drafters=new, gains={}))
    assert sorted(names(both)) == ["baseline, T = 0, concurrency 1", "baseline, T = 0.8, concurrency 1"]
    assert len(alone) == 4 + 8


def test_discarded_measurements_are_left_out(sweep):
    cells = [replace(m, flags=(Flag(name="reset", reason="x"),)) if m.cell.spec.name == "ngram" else m for m in sweep()]
    both, alone = matched(sweep(), cells)
    assert not any("ngram" in name for name in names(both))
    assert "ngram K=4, T = 0.8, concurrency 1: only before" in alone


def test_flags_of_either_run_and_of_the_baseline_count(sweep):
    busy = Flag(name="machine_busy", reason="x")
    cells = [replace(m, flags=(busy,)) if not m.cell.spec.k else m for m in sweep()]
    both, _ = matched(sweep(), cells)
    assert {c.flags for c in both} == {("machine_busy",)}


def test_the_name_of_a_cell():
    assert cell_name(("ngram", "ngram", 4, 0.8, 4)) == "ngram K=4, T = 0.8, concurrency 4"
    assert cell_name(("baseline", None, 0, 0.0, 1)) == "baseline, T = 0, concurrency 1"
