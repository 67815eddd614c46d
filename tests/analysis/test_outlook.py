"""From a run to candidates: measured ones, predicted ones, and what cannot be told."""

from dataclasses import replace

import pytest

from labkit.analysis.outlook import outlook
from labkit.analysis.recommend import recommend
from labkit.plan import WorkloadSpec
from tests.analysis.test_cost_cells import DRAFT, NGRAM, measured, record
from tests.analysis.test_every_k import EAGLE

BASE, STEP = 0.04, {1: 0.044, 4: 0.050, 8: 0.058}  # e = 2 ms, 2 ms a draft


def prompts(accepted=None, k=0, *, tpot=None, n=8):
    """``n`` prompts whose steps each take the baseline's 40 ms, or what K costs."""
    made = []
    for i in range(n):
        tokens = sum(accepted) + len(accepted) if accepted else 24
        seconds = len(accepted) * STEP[k] if accepted else tokens * (tpot or BASE)
        one = record(sent=100.0 * i, seconds=seconds, tokens=tokens, accepted=accepted, prompt_id=f"p{i}")
        made.append(one if accepted is None else replace(one, per_step_drafted=(k,) * len(accepted)))
    return made


ACCEPTED = {1: (1, 0, 1, 1, 0, 1) * 2, 4: (4, 0, 2, 1, 0, 3), 8: (8, 0, 2, 1, 0, 3)}


def run(*ks, drafter=EAGLE):
    return [measured(prompts()), *(measured(prompts(ACCEPTED[k], k), drafter=drafter, k=k) for k in ks)]


def predicted(found):
    return {o.candidate.k: o for o in found.outcomes if not o.candidate.measured}


def test_nothing_measured_has_no_outcome_and_says_so():
    found = outlook([])
    assert (found.outcomes, found.cost, found.candidates()) == ((), None, [])
    assert "baseline was not measured" in found.unknown[0]


def test_every_k_between_the_measured_ones_is_predicted():
    found = outlook(run(1, 4, 8))
    assert sorted(predicted(found)) == list(range(1, 9))
    assert found.unknown == ()
    three = predicted(found)[3]
    assert three.source == "cut"
    wanted = three.tokens_per_step * BASE / 0.048
    assert three.candidate.speedup.mid == pytest.approx(wanted, rel=1e-6)
    assert three.prediction.fit_error == pytest.approx(0, abs=1e-6)
    assert three.candidate.whole_interval


def test_a_measurement_is_preferred_to_a_prediction():
    kinds = {c.k: c.measured for c in outlook(run(1, 4, 8)).candidates()}
    assert kinds == {1: True, 2: False, 3: False, 4: True, 5: False, 6: False, 7: False, 8: True}


def test_the_measured_speedup_is_the_ratio_of_the_arms():
    (one,) = [o for o in outlook(run(4)).outcomes if o.candidate.measured]
    tokens, steps = sum(ACCEPTED[4]) + len(ACCEPTED[4]), len(ACCEPTED[4])
    assert one.candidate.speedup.mid == pytest.approx(BASE / (steps * STEP[4] / tokens))
    assert one.tokens_per_step == pytest.approx(tokens / steps)


def test_outside_the_measured_range_the_cell_to_measure_is_named():
    found = outlook(run(4))
    assert sorted(predicted(found)) == [4]
    assert any("measure eagle K=1" in sentence for sentence in found.unknown)


def test_a_prediction_without_a_spare_cell_is_never_proven():
    found = outlook(run(1, 8))
    assert not any(o.candidate.whole_interval for o in predicted(found).values())
    only = [c for c in found.candidates() if not c.measured]
    assert recommend(only).verdict == "not proven"


def test_scored_outputs_predict_a_drafter_whose_cost_is_known():
    from labkit.measure.traces import Trace

    traces = [
        Trace(where=f"p{i}", prompt_id=f"p{i}", run_lengths=(3, 2, 1, 0, 0), drafted=(9, 9, 9, 9, 0)) for i in range(8)
    ]
    found = outlook(run(1, 4, 8, drafter=NGRAM), {("ngram", 0.0): traces})
    two = predicted(found)[2]
    assert two.source == "scored"
    assert two.tokens_per_step == pytest.approx(5 / 3), "2 drafts and a token, a draft and a token, none"
    share = 2 / 3  # the last step has no draft
    assert two.prediction.tpot.mid == pytest.approx((share * 0.046 + (1 - share) * BASE) * 3 / 5)


def test_flags_of_either_arm_reach_the_candidate():
    base, arm = run(4, drafter=DRAFT)
    flagged = measured(prompts(), flags=("contaminated",))
    assert outlook([flagged, arm]).candidates()[0].flags == ("contaminated",)
    assert outlook([base, arm]).candidates()[0].flags == ()


def few_prompts(measurement):
    """The same cell, asked for with one prompt of each category."""
    return replace(measurement, cell=replace(measurement.cell, workload=WorkloadSpec(per_category=1)))


def test_a_cell_with_few_prompts_tells_costs_and_does_not_decide():
    base, probe, middle, large = run(1, 4, 8)
    found = outlook([base, few_prompts(probe), middle, large])
    assert {c.k: c.measured for c in found.candidates()}[1] is False
    assert {o.candidate.k for o in found.outcomes if o.candidate.measured} == {1, 4, 8}
    assert found.cost.cells == outlook(run(1, 4, 8)).cost.cells


def test_a_cell_with_few_prompts_at_another_load_is_compared_with_nothing():
    cells = [replace(m, cell=replace(m.cell, concurrency=4)) for m in run(1, 4, 8)]
    cells[1] = few_prompts(cells[1])
    assert {o.candidate.k for o in outlook(cells).outcomes if o.candidate.measured} == {4, 8}


def test_a_measurement_without_an_interval_gives_way_to_a_prediction():
    base, one, *others = run(1, 4, 8)
    lone = replace(one, records=one.records[:2])
    candidates = {c.k: c for c in outlook([base, lone, *others]).candidates()}
    assert not candidates[1].measured
    assert candidates[1].speedup.low > 0


def test_predictions_from_synthetic_cells_are_synthetic():
    cells = [measured(prompts(), flags=("synthetic",)), *run(1, 4, 8)[1:]]
    made = recommend(outlook(cells).candidates())
    assert made.verdict == "no evidence"


def test_a_cell_without_its_baseline_is_named():
    _, arm = run(4)
    found = outlook([arm])
    assert found.outcomes == ()
    assert "eagle K=4 at T = 0, concurrency 1 has no baseline of its block; measure that baseline" in found.unknown


def test_looping_outputs_do_not_lengthen_what_was_measured():
    base, arm = run(4)
    loop = replace(arm.records[0], prompt_id="loop", output_token_ids=tuple([1, 2, 3, 4] * 30),
                   per_step_accepted=(4,) * 40, per_step_drafted=(4,) * 40, output_tokens=201)  # fmt: skip
    plain = replace(base.records[0], prompt_id="loop")
    found = outlook([replace(base, records=(*base.records, plain)), replace(arm, records=(*arm.records, loop))])
    (one,) = [o for o in found.outcomes if o.candidate.measured]
    assert one.candidate.mean_acceptance_length == pytest.approx(1 + sum(ACCEPTED[4]) / len(ACCEPTED[4]))
    assert one.prompts == 8
