"""Runs compared: what is found, where, and what is left alone. How small a change is found: test_compare_power.py."""

from dataclasses import replace
from math import isnan

import pytest

from labkit.analysis.compare import compare
from labkit.config import Drafter
from labkit.errors import ConfigError

LOOP = tuple(range(8)) * 10
DRAFTERS = [Drafter(method="draft_model", model="demo/draft"), Drafter(method="ngram"), Drafter(method="suffix")]


@pytest.fixture(scope="module")
def run(sweep):
    """``run(seed)``: three launches, 24 prompts, requests that vary by 2 %."""
    return lambda seed=0, **options: sweep(**{"blocks": 3, "prompts": 24, "jitter": 0.02, "seed": seed} | options)


def changed(measurements, what, *, drafter="draft", k=4, temperature=None):
    """The records of one cell, in all its blocks, put through ``what``."""
    return [
        replace(m, records=tuple(map(what, m.records)))
        if (m.cell.spec.name, m.cell.spec.k) == (drafter, k) and temperature in (None, m.cell.sampling.temperature)
        else m
        for m in measurements
    ]


def slower(factor):
    return lambda r: replace(r, t_last=r.t_first + factor * r.decode_seconds)


def where(figures):
    return sorted({(f.after_key[0], f.after_key[2], f.after_key[3], f.figure) for f in figures})


def test_a_run_against_itself_has_no_change(run):
    found = compare(run(), run())
    assert found.verdict == "no change"
    assert {(f.change.mid, f.p, f.verdict) for f in found.figures} == {(0, 1, "no change")}
    assert (found.setup, found.unmatched) == ((), ())


def test_every_figure_of_every_cell_is_there(run):
    found = compare(run(), run(1))
    kinds = [(f.figure, f.position) for f in found.figures if f.after_key[:4] == ("ngram", "ngram", 4, 0.0)]
    assert kinds == [
        ("tpot", None), ("speedup", None), ("divergence", None), ("acceptance_length", None),
        ("joint_rate", 1), ("joint_rate", 2), ("joint_rate", 3), ("joint_rate", 4),
    ]  # fmt: skip
    assert not any(f.figure == "divergence" for f in found.figures if f.after_key[3] > 0), "greedy texts only"
    assert {f.figure for f in found.figures if not f.after_key[2]} == {"tpot"}
    more = compare(run(drafters=DRAFTERS), run(1, drafters=DRAFTERS))
    assert {f.after_key[2] for f in more.figures if f.figure == "relative_tpot"} == {2, 4}
    assert {f.blocks for f in found.figures} == {(3, 3)}


def test_another_run_of_the_same_is_no_change(run):
    assert compare(run(), run(1)).verdict == "no change"


def test_a_slower_cell_is_a_regression_of_its_speeds_alone(run):
    found = compare(run(), changed(run(1), slower(1.1), temperature=0.8))
    assert found.verdict == "regression"
    assert where(found.regressions) == [("draft", 4, 0.8, "speedup"), ("draft", 4, 0.8, "tpot")]
    assert found.improvements == []
    tpot = next(f for f in found.regressions if f.figure == "tpot")
    assert tpot.change.low < 0.1 < tpot.change.high
    assert tpot.change.low > 0
    assert (tpot.before, tpot.after) == (pytest.approx(0.05, rel=0.02), pytest.approx(0.055, rel=0.02))


def test_the_other_way_round_it_is_an_improvement(run):
    found = compare(changed(run(1), slower(1.1)), run())
    assert found.verdict == "improvement"
    assert {f.figure for f in found.improvements} == {"tpot", "speedup"}
    assert found.regressions == []


def test_a_slower_baseline_is_the_anchors(run):
    found = compare(run(), changed(run(1), slower(1.1), drafter="baseline", k=0))
    assert {f.anchor for f in found.regressions} == {True}
    assert {f.figure for f in found.improvements} == {"speedup"}, "against a slower baseline every drafter gains"


def test_a_lost_tail_is_found_at_its_position(run):
    def short(r):
        return replace(r, per_step_accepted=tuple(min(a, 2) for a in r.per_step_accepted))

    found = compare(run(), changed(run(1), short, temperature=0.0))
    assert {f.figure for f in found.regressions} == {"acceptance_length", "joint_rate"}
    assert [f.position for f in found.regressions if f.figure == "joint_rate"] == [3, 4]
    assert {f.after for f in found.regressions if f.figure == "joint_rate"} == {0}


def test_other_greedy_texts_are_a_regression(run):
    def other(r):
        return replace(r, output_token_ids=(*r.output_token_ids[:-1], 0))

    found = compare(run(), changed(run(1), other))
    assert where(found.regressions) == [("draft", 4, 0.0, "divergence")]
    (only,) = found.regressions
    assert (only.before, only.after, only.change.mid) == (0, 1, 1)


def test_launches_that_scatter_hide_what_they_would_explain(run):
    """Both runs have the same three paces in another order: their means agree, but one launch against one does not."""
    paces = ((0.9, 1.0, 1.1), (1.1, 0.9, 1.03))

    def paced(measurements, pace):
        return [replace(m, records=tuple(map(slower(pace[m.cell.block]), m.records))) for m in measurements]

    found = compare(paced(run(), paces[0]), paced(run(1), paces[1]))
    assert found.verdict == "no change"
    tpot = next(f for f in found.figures if f.figure == "tpot")
    assert tpot.launches == "measured"
    assert tpot.change.high - tpot.change.low > 0.1


def in_hours(run, seed):
    """Four engines; every block has a pace of its own, by 10 % and more."""
    pace = {0: (1.0, 1.12, 1.25), 1: (1.2, 1.05, 1.0)}[seed]
    measured = run(seed, drafters=DRAFTERS, temperatures=(0.0,))
    return [replace(m, records=tuple(map(slower(pace[m.cell.block]), m.records))) for m in measured]


def at_every_k(measurements, what, *drafters):
    for drafter in drafters:
        for k in (2, 4):
            measurements = changed(measurements, what, drafter=drafter, k=k)
    return measurements


def test_a_drafter_is_found_in_hours_that_differ(run):
    """By itself 6 % is no more than chance; it is against the others of its block."""
    before, after = in_hours(run, 0), in_hours(run, 1)
    assert compare(before, after).verdict == "no change"
    found = compare(before, at_every_k(after, slower(1.06), "draft"))
    assert {f.figure for f in found.regressions} == {"relative_tpot", "speedup"}
    assert found.improvements == []
    against = [f for f in found.regressions if f.figure == "relative_tpot"]
    assert where(against) == [("draft", k, 0.0, "relative_tpot") for k in (2, 4)]
    for f in against:
        assert f.change.low < 0.06 < f.change.high


@pytest.mark.parametrize("changing", [["draft"], ["draft", "ngram"], ["draft", "ngram", "suffix"]])
@pytest.mark.parametrize("factor", [0.6, 1.6])
def test_nobody_is_blamed_for_what_others_did(run, factor, changing):
    found = compare(in_hours(run, 0), at_every_k(in_hours(run, 1), slower(factor), *changing))
    right, wrong = (found.regressions, found.improvements) if factor > 1 else (found.improvements, found.regressions)
    assert {f.after_key[0] for f in right} == set(changing)
    assert wrong == []


def test_what_others_did_is_called_so(run):
    found = compare(in_hours(run, 0), at_every_k(in_hours(run, 1), slower(1.6), "draft", "ngram"))
    verdicts = {f.after_key[0]: (f.verdict, f.p) for f in found.figures if f.figure == "relative_tpot"}
    assert verdicts["suffix"] == ("others changed", 1)
    assert verdicts["draft"][0] == "regression"


def test_without_a_baseline_no_time_is_held_against_others(run):
    """Nobody could say who changed."""
    drafters = [*DRAFTERS, Drafter(method="eagle3", model="demo/eagle3")]
    before, after = ([m for m in run(seed, drafters=drafters) if m.cell.spec.k] for seed in (0, 1))
    found = compare(before, changed(after, slower(1.5)))
    assert "relative_tpot" not in {f.figure for f in found.figures}
    assert ("draft", 4, 0.8, "tpot") in where(found.regressions)


def test_fewer_launches_make_no_change_out_of_the_hours(run):
    """What six launches call no change is none with five of them."""
    before, after = in_hours(run, 0), in_hours(run, 1)
    for few in (after, [m for m in after if m.cell.block < 2], [m for m in after if m.cell.block != 1]):
        assert compare(before, few).verdict == "no change"


def test_with_too_few_others_the_speedup_stands_in(run):
    def p_of_the_speedup(**options):
        before, after = (run(seed, temperatures=(0.0,), **options) for seed in (0, 1))
        found = compare(before, changed(after, slower(1.06)))
        assert ("draft", 4, 0.0, "tpot") in where(found.regressions)
        (own,) = (f for f in found.figures if f.after_key[:3] == ("draft", "draft_model", 4) and f.figure == "speedup")
        return own.p

    assert p_of_the_speedup() < p_of_the_speedup(drafters=DRAFTERS)


@pytest.mark.parametrize("blocks", [(1, 1), (2, 1), (1, 2), (2, 2)])
def test_another_launch_hides_nothing_that_single_ones_show(run, blocks):
    before, after = (run(seed, blocks=n) for seed, n in enumerate(blocks))
    found = compare(before, changed(after, slower(1.25)))
    assert ("draft", 4, 0.8, "tpot") in where(found.regressions)


def test_what_is_noticed_is_known_beforehand(run):
    before, after = in_hours(run, 0), in_hours(run, 1)
    least = compare(before, after).noticed_from
    assert 0.01 < least < 0.06
    for drafter in ("draft", "ngram", "suffix"):
        seen = compare(before, changed(after, slower(1 + 1.3 * least), drafter=drafter))
        assert (drafter, 4) in {(f.after_key[0], f.after_key[2]) for f in seen.regressions}
        assert compare(before, changed(after, slower(1 + 0.3 * least), drafter=drafter)).verdict == "no change"
    own = {
        f.figure: f.noticed_from
        for f in compare(before, after).figures
        if f.after_key[:3] == ("draft", "draft_model", 4)
    }
    assert own["relative_tpot"] < own["speedup"] < own["tpot"]


def test_where_nothing_can_be_judged_nothing_is_noticed(run):
    assert isnan(compare(run(prompts=4), run(1, prompts=4)).noticed_from)


def test_single_launches_are_judged_by_what_launches_do_elsewhere(run):
    few = {"blocks": 1}
    small = compare(run(**few), changed(run(1, **few), slower(1.06)))
    assert small.verdict == "no change"
    assert {f.launches for f in small.figures} == {"assumed"}
    assert compare(run(**few), changed(run(1, **few), slower(1.3))).verdict == "regression"


def test_runs_of_different_length_are_compared(run):
    found = compare(run(), run(1, blocks=2))
    assert {f.blocks for f in found.figures} == {(3, 2)}
    assert found.verdict == "no change"


def test_only_prompts_that_both_finished_count(run):
    def partly(r):
        return replace(r, error="HTTP 500", t_last=None) if r.prompt_id in ("p0", "p1") else r

    found = compare(run(), changed(run(1), partly))
    counts = {f.figure: f.prompts for f in found.figures if f.after_key[:4] == ("draft", "draft_model", 4, 0.0)}
    assert counts == {"tpot": 22, "speedup": 22, "acceptance_length": 22, "joint_rate": 22, "divergence": 22}


def test_looping_outputs_count_only_as_texts(run):
    def looping(r):
        return replace(r, output_token_ids=LOOP) if r.prompt_id == "p0" else r

    found = compare(run(), changed(run(), looping))
    counts = {f.figure: f.prompts for f in found.figures if f.after_key[:4] == ("draft", "draft_model", 4, 0.0)}
    assert counts == {"tpot": 23, "speedup": 23, "acceptance_length": 23, "joint_rate": 23, "divergence": 24}


def test_prompts_that_share_only_an_id_are_not_paired(run):
    def asked(r, *ids):
        return replace(r, prompt_token_ids=ids)

    before = [replace(m, records=tuple(asked(r, 1) for r in m.records)) for m in run()]
    dated = [replace(m, records=tuple(asked(r, 2) for r in m.records)) for m in run()]
    assert compare(before, dated).figures, "the same set of prompts: only its template moved"
    other = [replace(m, provenance=replace(m.provenance, workload_hash="beef")) for m in dated]
    found = compare(before, other)
    assert found.figures == ()
    assert found.verdict == "unknown"
    assert found.setup == ("prompts: feed → beef",)


def test_too_few_prompts_are_unknown(run):
    found = compare(run(prompts=4), run(1, prompts=4))
    assert {f.verdict for f in found.figures} == {"unknown"}
    assert all(isnan(f.p) for f in found.figures)
    assert found.verdict == "unknown"


def test_without_counts_only_speeds_and_texts_are_compared(run):
    def mute(r):
        return replace(r, per_step_accepted=None, per_step_drafted=None)

    found = compare(run(), changed(run(1), mute))
    assert {f.figure for f in found.figures if f.after_key[:3] == ("draft", "draft_model", 4)} == {
        "tpot", "speedup", "divergence",
    }  # fmt: skip


def test_runs_without_a_common_cell_are_a_mistake(run):
    with pytest.raises(ConfigError, match=r"no cell in common.*ngram K=2, T = 0, concurrency 1: only before"):
        compare(run(temperatures=(0.0,)), run(temperatures=(0.8,)))
    with pytest.raises(ConfigError, match="no cells at all"):
        compare([], [])


@pytest.mark.parametrize("level", [{"confidence": 1.0}, {"false_alarm": 0.0}])
def test_levels_lie_between_0_and_1(run, level):
    (name,) = level
    with pytest.raises(ConfigError, match=f"{name} must lie between 0 and 1"):
        compare(run(), run(), **level)
