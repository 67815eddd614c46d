"""Cost model: what is refused, what is recovered, how wrong it says it is, and what follows for a prediction."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from labkit.analysis.cost import CostCell, fit_cost
from labkit.analysis.prediction import Yield, predict
from labkit.errors import ConfigError, PredictionError

TRUE = {"a": 0.040, "b": 0.0005, "e:draft": 0.002, "g:draft": 0.001, "c:draft": 0.004, "d:draft": 0.0003,
        "e:ngram": 0.001, "g:ngram": 0.0004, "c:ngram": 0.0001, "d:ngram": 0.0002}  # fmt: skip


def seconds(drafter, k, batch, share=1.0, costs=TRUE):
    """The formula, written out."""
    t0 = costs["a"] + costs["b"] * batch
    if not k:
        return t0
    e, g, c, d = (costs[f"{name}:{drafter}"] for name in "egcd")
    nobody_drafts = (1 - share) ** batch
    return t0 + (1 - nobody_drafts) * (e + g * batch + k * c) + share * batch * k * d


def cell(drafter, k, batch, share=1.0, *, times=1.0):
    return CostCell(
        drafter=drafter, k=k, batch=batch, drafted_share=share, step_seconds=times * seconds(drafter, k, batch, share)
    )


def grid(drafter="draft", ks=(1, 2, 4), batches=(1, 4, 8), share=1.0):
    return [cell(None, 0, b) for b in batches] + [cell(drafter, k, b, share) for k in ks for b in batches]


def constant(tokens, share=1.0, units=10, replicates=400):
    return Yield(
        tokens_per_step=tokens, drafted_share=share, units=units,
        tokens_per_step_replicates=np.full(replicates, tokens), drafted_share_replicates=np.full(replicates, share),
    )  # fmt: skip


# --- what is refused


@pytest.mark.parametrize("cells", [[], [cell("draft", 2, 1), cell("draft", 4, 1)]], ids=["nothing", "no baseline"])
def test_without_a_baseline_there_is_no_model(cells):
    with pytest.raises(PredictionError, match=r"the baseline was not measured.*measure K = 0"):
        fit_cost(cells)


@pytest.mark.parametrize(
    ("drafter", "k", "batch", "said"),
    [
        ("eagle", 2, 1, "eagle was not measured; measure eagle K=2 at a running batch of 1"),
        ("draft", 1, 4, r"K = 1 of draft lies outside the measured K \(2 to 4\); measure draft K=1 at .* 4"),
        ("draft", 5, 4, r"K = 5 of draft .* measure draft K=5 at a running batch of 4"),
        ("draft", 3, 1.5, r"batch of 1.5 lies outside .* of draft \(2 to 8\); measure draft K=3 at .* of 1.5"),
        ("draft", 3, 9, r"batch of 9 lies outside .* \(2 to 8\); measure draft K=3 at a running batch of 9"),
        (None, 0, 1, r"batch of 1 lies outside .* of the baseline \(2 to 8\); measure the baseline at .* of 1"),
        (None, 0, 16, r"batch of 16 .* measure the baseline at a running batch of 16"),
    ],
)
def test_nothing_is_extrapolated_and_the_cell_to_measure_is_named(drafter, k, batch, said):
    model = fit_cost(grid(ks=(2, 4), batches=(2, 8)))
    with pytest.raises(PredictionError, match=said):
        model.step_seconds(drafter, k, batch)


def test_a_batch_within_a_tenth_of_the_range_is_inside():
    model = fit_cost(grid(ks=(2, 4), batches=(2, 8)))
    for batch in (1.9, 8.7):
        assert model.step_seconds("draft", 3, batch) == pytest.approx(seconds("draft", 3, batch))


def test_one_k_answers_for_that_k_only():
    model = fit_cost(grid(ks=(4,)))
    assert model.step_seconds("draft", 4, 6) == pytest.approx(seconds("draft", 4, 6))
    assert "e:draft" not in model.coefficients
    for k in (2, 3, 5):
        with pytest.raises(PredictionError, match=rf"\(4 only\); measure draft K={k} at"):
            model.step_seconds("draft", k, 1)


def test_a_drafter_is_bounded_by_its_own_batches():
    """Others were measured at 8, this one at 1: the coefficient d of its own is unknown."""
    cells = grid() + [cell("ngram", k, 1) for k in (2, 4)]
    with pytest.raises(PredictionError, match=r"of ngram \(1 only\); measure ngram K=2 at a running batch of 8"):
        fit_cost(cells).step_seconds("ngram", 2, 8)


def test_what_scattered_cells_leave_open_is_refused_inside_their_range_too():
    """K = 2 at 1 and K = 4 at 8 say nothing about K = 4 at 1: two cells, three costs."""
    cells = [cell(None, 0, b) for b in (1, 2, 4, 8)] + [cell("draft", 2, 1), cell("draft", 4, 8)]
    model = fit_cost(cells)
    assert model.step_seconds("draft", 2, 1) == pytest.approx(seconds("draft", 2, 1))
    with pytest.raises(PredictionError, match=r"leave its costs open; measure draft K=4 at a running batch of 1"):
        model.step_seconds("draft", 4, 1)


def test_a_step_that_does_not_always_draft_needs_the_baseline_at_its_batch():
    cells = [cell(None, 0, 1), *(cell("ngram", k, b, 0.5) for k in (2, 4) for b in (1, 8))]
    with pytest.raises(PredictionError, match="measure the baseline at a running batch of 8"):
        fit_cost(cells).step_seconds("ngram", 2, 8, drafted_share=0.5)


# --- what is recovered


def test_coefficients_of_exact_cells_are_recovered():
    model = fit_cost(grid() + grid("ngram", share=0.5)[3:])
    assert model.coefficients == pytest.approx(TRUE)
    assert model.step_seconds("draft", 3, 6) == pytest.approx(seconds("draft", 3, 6))
    assert model.step_seconds("ngram", 3, 6, drafted_share=0.3) == pytest.approx(seconds("ngram", 3, 6, 0.3))


def test_golden_step_time():
    """K = 2 at a batch of 4: 40 + .5·4 + (2 + 1·4 + 2·4) + .3·4·2 = 58.4 ms. With drafts on half of each request's
    steps 15 of 16 steps hold one: 42 + 14·15/16 + 2.4/2 = 56.325 ms. Never drafted: the baseline's 42 ms."""
    model = fit_cost(grid())
    assert model.step_seconds("draft", 2, 4) == pytest.approx(0.0584)
    found = model.step_seconds("draft", 2, 4, drafted_share=np.array([1.0, 0.5, 0.0]))
    assert found == pytest.approx([0.0584, 0.056325, 0.042])


def test_at_one_batch_a_e_and_one_slope_are_fitted():
    """Users of one level run at batches that differ a little: no slope over B is read from that."""
    cells = grid(batches=(4,))
    model = fit_cost([*cells[:-1], replace(cells[-1], batch=3.4)])
    assert model.coefficients == pytest.approx(
        {"a": 0.042, "e:draft": 0.002 + 4 * 0.001, "c:draft": 0.004 + 4 * 0.0003}
    )
    assert model.step_seconds("draft", 3, 4) == pytest.approx(seconds("draft", 3, 4))


def test_no_coefficient_is_negative():
    """A drafter that seems to make steps cheaper costs nothing, where it was measured and between."""
    cells = [cell(None, 0, 1), cell("draft", 1, 1, times=0.7), cell("draft", 4, 1, times=0.7)]
    model = fit_cost(cells)
    assert min(model.coefficients.values()) == 0
    for k in (1, 2, 4):
        assert model.step_seconds("draft", k, 1) >= model.step_seconds(None, 0, 1) == pytest.approx(seconds(None, 0, 1))


# --- how wrong it is


def test_exact_cells_left_out_are_predicted():
    model = fit_cost(grid())
    assert len(model.left_out) == 9
    assert model.error("draft", 1) == pytest.approx(0, abs=1e-9)


def test_the_error_of_a_cell_left_out_is_that_of_a_line_through_the_others():
    """One batch, K = 1, 2, 4 take 50, 60, 70 ms: the line through the ends is at 56.67 for K = 2; the baseline 40."""
    times = {0: 40, 1: 50, 2: 60, 4: 70}
    model = fit_cost(
        [CostCell(drafter="draft" if k else None, k=k, batch=1, step_seconds=t / 1000) for k, t in times.items()]
    )
    [row] = model.left_out
    assert (row.cell.k, row.error) == (2, pytest.approx((50 + 20 / 3) / 60 - 1))
    assert model.error("draft", 1) == pytest.approx(abs(row.error))


def test_ends_are_left_out_where_another_lies_as_far_out():
    at_one = fit_cost(grid(ks=(1, 2, 3, 4), batches=(1,)))
    assert [row.cell.k for row in at_one.left_out] == [2, 3]
    at_two = fit_cost(grid(ks=(2, 4, 6), batches=(1, 8)))
    assert len(at_two.left_out) == 6


def test_two_k_at_two_batches_have_no_spare_degree_of_freedom():
    """Four cells for the four costs of the drafter."""
    assert fit_cost(grid(ks=(2, 4), batches=(1, 8))).left_out == ()


def test_a_repetition_does_not_speak_for_its_cell():
    cells = grid(ks=(2, 4), batches=(1,))
    again = [replace(cell, batch=1.1) for cell in cells]
    assert fit_cost(cells + again).error("draft", 1) is None


def test_the_baselines_of_others_are_no_spare_degree_of_freedom():
    """Many baselines, but three cells for the three costs of the drafter."""
    cells = [cell(None, 0, b) for b in (1, 2, 4, 6, 8)]
    own = [cell("draft", 1, 1), cell("draft", 2, 4), cell("draft", 4, 8)]
    model = fit_cost(cells + own)
    assert model.error("draft", 1) is None
    assert model.errors("draft", 1) == []


def test_errors_are_those_of_the_drafter_asked_for():
    model = fit_cost([*grid(), cell("ngram", 2, 1), cell("ngram", 4, 1)])
    assert model.error("draft", 1) is not None
    assert model.error("ngram", 1) is None


@pytest.mark.parametrize(
    ("ks", "batches", "k", "batch"),
    [((1, 4), (1,), 2, 1), ((1, 2), (1,), 3, 1), ((1, 4), (1, 8), 2, 1), ((4,), (1, 8), 3, 1), ((2,), (1,), 1, 1)],
    ids=["between", "beyond", "at this batch", "two are needed at a batch", "two are needed"],
)
def test_the_cell_to_measure_next_is_named(ks, batches, k, batch):
    cells = grid(ks=ks, batches=batches)
    wanted = fit_cost(cells).next_cell("draft", 1)
    assert (wanted.k, wanted.batch) == (k, pytest.approx(batch))
    then = fit_cost([*cells, cell("draft", wanted.k, wanted.batch)])
    assert (then.error("draft", 1) is not None) == (len(ks) > 1)


def test_an_error_counts_at_its_own_load():
    """Three K at a batch of 1, two at 8: nothing tells how wrong the fit is there, and a third K there would."""
    cells = [*grid(batches=(1,)), cell(None, 0, 8), cell("draft", 1, 8), cell("draft", 4, 8)]
    model = fit_cost(cells)
    assert model.error("draft", 1.1) is not None
    assert model.error("draft", 8) is None
    wanted = model.next_cell("draft", 7.9)
    assert (wanted.k, wanted.batch) == (2, 8)
    assert fit_cost([*cells, cell("draft", 2, 8)]).error("draft", 8) == pytest.approx(0, abs=1e-9)


def test_with_an_estimate_no_cell_is_wanted():
    assert fit_cost(grid()).next_cell("draft", 1) is None
    with pytest.raises(PredictionError, match="ngram was not measured"):
        fit_cost(grid()).next_cell("ngram", 1)


# --- what follows for a prediction


def test_golden_prediction():
    """56.325 ms a step where half of each request's steps are drafted (above), 42 without; 2 tokens a step."""
    found = predict(fit_cost(grid()), "draft", 2, 4, constant(2.0, 0.5))
    assert found.tpot.mid == pytest.approx(0.0281625)
    assert found.speedup.mid == pytest.approx(0.042 / 0.0281625)
    assert found.speedup.low == pytest.approx(found.speedup.mid) == pytest.approx(found.speedup.high)
    assert (found.caution, found.spared) == ("", 3), "the cells of that batch"


def test_a_drafter_that_never_drafts_gains_nothing():
    """Whatever its cells and the baseline's took beyond the fit."""
    uneven = [replace(c, step_seconds=c.step_seconds * (1 + 0.1 * (-1) ** i)) for i, c in enumerate(grid(share=0.3))]
    for k in (1, 2, 3, 4):
        found = predict(fit_cost(uneven), "draft", k, 4, constant(1.0, 0.0))
        assert found.speedup.mid == pytest.approx(1)


def test_without_a_decode_step_nothing_is_predicted():
    with pytest.raises(PredictionError, match="no decode step tells how often draft drafts; measure longer outputs"):
        predict(fit_cost(grid()), "draft", 2, 4, constant(math.nan, math.nan))


@pytest.mark.parametrize(("drafter", "k", "batch"), [("draft", 9, 1), ("draft", 2, 30), ("ngram", 2, 1)])
def test_a_prediction_is_refused_as_the_step_time_is(drafter, k, batch):
    with pytest.raises(PredictionError, match=f"measure {drafter} K={k}|measure the baseline at"):
        predict(fit_cost(grid()), drafter, k, batch, constant(2.0))


def width(interval):
    return interval.high - interval.low


def test_each_error_widens_the_interval():
    rng = np.random.default_rng(5)
    tokens, shares = 2 * np.exp(0.05 * rng.standard_normal(2000)), rng.uniform(0.4, 0.6, 2000)
    still = constant(2.0, 0.5, replicates=2000)
    wrong = grid()
    wrong[6] = replace(wrong[6], step_seconds=1.1 * wrong[6].step_seconds)
    sure, unsure = fit_cost(grid()), fit_cost(wrong)

    def found(model, **changes):
        return width(predict(model, "draft", 2, 4, replace(still, **changes)).speedup)

    by_tokens = found(sure, tokens_per_step_replicates=tokens)
    by_share = found(sure, drafted_share_replicates=shares)
    by_fit = found(unsure)
    everything = found(unsure, tokens_per_step_replicates=tokens, drafted_share_replicates=shares)
    assert found(sure) == pytest.approx(0, abs=1e-6)
    assert min(by_tokens, by_share, by_fit) > 0.01
    assert everything > max(by_tokens, by_share, by_fit)


def test_the_fits_error_enters_as_a_factor():
    """The factor is Student's t with as many degrees of freedom as there are errors, times their size."""
    wrong = grid()
    wrong[7] = replace(wrong[7], step_seconds=1.1 * wrong[7].step_seconds)
    model = fit_cost(wrong)
    found = predict(model, "draft", 2, 4, constant(2.0, replicates=20_000))
    assert found.fit_error == model.error("draft", 4) > 0.01
    quantile = stats.t.ppf(0.975, found.spared)
    assert quantile > 2
    assert math.log(found.tpot.high / found.tpot.mid) == pytest.approx(quantile * found.fit_error, rel=0.05)
    assert math.log(found.speedup.mid / found.speedup.low) == pytest.approx(quantile * found.fit_error, rel=0.05)


def test_few_errors_of_its_own_are_joined_by_the_other_drafters():
    """One cell of each can be spared: neither alone tells how wrong the fit is."""
    other = [replace(cell, drafter="other") for cell in grid(ks=(1, 2, 4), batches=(1,)) if cell.k]
    model = fit_cost([*grid(ks=(1, 2, 4), batches=(1,)), *other])
    assert len(model.errors("draft", 1)) == len(model.errors("other", 1)) == 2
    assert len(fit_cost(grid()).errors("draft", 1)) >= 3


def test_without_an_error_estimate_the_interval_is_the_samplings_and_says_so():
    tokens = np.linspace(1.5, 2.5, 1001)
    given = replace(constant(2.0), tokens_per_step_replicates=tokens, drafted_share_replicates=np.ones(1001))
    found = predict(fit_cost(grid(ks=(1, 4), batches=(1,))), "draft", 2, 1, given)
    assert (found.fit_error, found.spared) == (None, 0)
    assert found.caution == (
        "no error estimate: the interval holds the sampling error only; measure draft K=2 at a running batch of 1"
    )
    assert found.speedup.low == pytest.approx(found.speedup.mid * 1.525 / 2)


def test_an_error_estimate_from_one_cell_says_so():
    found = predict(fit_cost(grid(ks=(1, 2, 4), batches=(1,))), "draft", 3, 1, constant(2.0))
    assert (found.spared, found.caution) == (1, "the error estimate rests on a single cell")


def test_a_prediction_is_the_same_twice_and_another_with_another_seed():
    wrong = grid()
    wrong[6] = replace(wrong[6], step_seconds=1.1 * wrong[6].step_seconds)
    model = fit_cost(wrong)
    one, two, other = (predict(model, "draft", 2, 4, constant(2.0), seed=seed) for seed in (3, 3, 4))
    assert one == two != other


def test_few_prompts_give_no_interval():
    found = predict(fit_cost(grid()), "draft", 2, 4, constant(2.0, units=4))
    assert found.speedup.mid > 1
    assert math.isnan(found.speedup.low)


def test_replicates_are_drawn_together():
    with pytest.raises(ConfigError, match=r"every replicate needs .*\(400,\) and \(3,\)"):
        replace(constant(2.0), drafted_share_replicates=np.ones(3))
