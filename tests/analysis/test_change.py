"""Changes between launches: golden sums, what is pooled, t quantiles, Holm, and whether intervals cover."""

from math import isnan, nan

import numpy as np
import pytest

from labkit.analysis.change import (
    Change,
    LaunchNoise,
    change,
    holm,
    judged,
    launch_noise,
    noticed_from,
    ratio_of_sums,
)

PROMPTS = [f"p{i}" for i in range(6)]
THREE = ((0, 1, 2), (0, 1, 2))


def figure(*launches):
    """A figure whose launches have these values, whatever prompts are drawn."""
    return ratio_of_sums(np.outer(launches, np.ones(len(PROMPTS))), np.ones((len(launches), len(PROMPTS))))


def made(**changed):
    given = {"before": 1.0, "after": 1.0, "prompts": 64, "blocks": THREE, "prompt_variance": 0.0, "chance": 0.0}
    return Change(**given | {"deviations": (0.0,) * 6} | changed)


def one_off(scatter, run=0):
    """Deviations of two runs of three launches with that sum of squares, all of it in one run."""
    own, still = (np.sqrt(scatter / 2), -np.sqrt(scatter / 2), 0.0), (0.0,) * 3
    return (*own, *still) if run == 0 else (*still, *own)


def test_a_ratio_of_sums_is_no_mean_of_ratios():
    values = ratio_of_sums(np.array([[1.0, 1.0]]), np.array([[10.0, 90.0]]))(np.array([[1.0, 1.0], [2.0, 0.0]]))
    assert values.tolist() == [[0.02], [0.1]]


def test_a_ratio_over_nothing_is_unknown():
    assert isnan(ratio_of_sums(np.zeros((1, 2)), np.array([[0.0, 1.0]]))(np.array([[2.0, 0.0]]))[0, 0])


def test_the_change_and_the_scatter_of_launches():
    found = change(figure(1.0, 2.0, 3.0), figure(5.0, 7.0), PROMPTS, ((0, 1, 2), (0, 1)))
    assert (found.before, found.after, found.mid) == (2.0, 6.0, 4.0)
    assert (found.scatter, found.freedom, found.launches) == (pytest.approx(4.0), 3, (3, 2))
    assert (found.prompt_variance, found.chance) == (pytest.approx(0), pytest.approx(0))


def test_equal_figures_have_no_change_and_no_variance():
    rng = np.random.default_rng(0)
    same = ratio_of_sums(rng.random((3, 6)), rng.random((3, 6)) + 1)
    found = change(same, same, PROMPTS, THREE)
    assert (found.mid, found.prompt_variance) == (0, 0)
    assert found.chance > 0


def test_what_single_requests_explain_is_their_part_of_the_scatter():
    """Nothing but requests varies: the expected scatter is all theirs."""
    rng = np.random.default_rng(1)
    prompts = [f"p{i}" for i in range(200)]
    launches = ratio_of_sums(1 + 0.1 * rng.standard_normal((30, 200)), np.ones((30, 200)))
    found = change(launches, launches, prompts, (tuple(range(30)),) * 2)
    assert found.chance == pytest.approx(58 * 0.01 / 200, rel=0.1)
    assert found.scatter == pytest.approx(found.chance, rel=0.4)


def test_turns_of_a_conversation_are_drawn_together():
    apart = ratio_of_sums(np.array([[1.0, 3.0]]), np.ones((1, 2)))
    still = ratio_of_sums(np.ones((1, 2)), np.ones((1, 2)))
    assert change(still, apart, ["a", "b"], ((0,), (0,))).prompt_variance > 0.1
    together = change(still, apart, ["a", "a"], ((0,), (0,)))
    assert (together.prompt_variance, together.prompts) == (0, 1)


def test_launches_are_pooled_over_cells():
    cells = [made(deviations=one_off(0.02), chance=0.004), made(deviations=one_off(0.06, run=1), chance=0.004)]
    noise = launch_noise(cells, assumed=9.0)
    assert (noise.variance, noise.scatter) == pytest.approx((0.009, 0.01))
    assert launch_noise(cells, assumed=9.0, in_step=False).parts == ((1.0, 8),)
    assert noise.measured


def test_launches_in_step_tell_no_more_than_one_cell():
    alike = [made(deviations=one_off(0.02))] * 5
    assert np.ravel(launch_noise(alike, assumed=9.0).parts) == pytest.approx([1, 4, 0, 16])
    assert launch_noise(alike[:1], assumed=9.0).parts == ((1.0, 4),)


def test_launches_that_cancel_in_the_mean_are_of_their_own():
    cells = [made(deviations=tuple(sign * d for d in one_off(0.02))) for sign in (1, -1)]
    assert np.ravel(launch_noise(cells, assumed=9.0).parts) == pytest.approx([0, 4, 1, 4])


def test_launches_are_in_step_with_those_of_their_block():
    """Each cell lost another block: what they have in common is known from the four blocks of a run, not from each."""
    hours = np.array([0.1, -0.1, 0.02, -0.02])
    lost = [tuple(b for b in range(4) if b != missed) for missed in range(4)]
    cells = [made(blocks=(own, own), deviations=tuple(hours[list(own)] - hours[list(own)].mean()) * 2) for own in lost]
    (share, in_step), (rest, alone) = launch_noise(cells, assumed=9.0).parts
    assert (in_step, alone) == (6, 10)
    assert share > 0.85
    assert share + rest == pytest.approx(1)


def test_chance_alone_leaves_no_variance_between_launches():
    assert launch_noise([made(deviations=one_off(0.004), chance=0.02)], assumed=9.0).variance == 0


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param([], id="none"),
        pytest.param([made(blocks=((0,), (0,)), deviations=(0.0, 0.0))], id="single launches"),
        pytest.param(
            [made(blocks=((0, 1), (0,)), deviations=(0.01, -0.01, 0.0))] * 6, id="one block told by many cells"
        ),
        pytest.param([made(blocks=((0, 1, 2), (0, 1)), deviations=(0.01, 0.0, -0.01, 0.01, -0.01))], id="3 and 2"),
        pytest.param([made(blocks=((i,), (i,)), deviations=(0.0, 0.0)) for i in range(5)], id="a block for each cell"),
        pytest.param(
            [made(blocks=((i, i + 1), (i,)), deviations=(0.01, -0.01, 0.0)) for i in (0, 2, 4)],
            id="blocks of their own",
        ),
        pytest.param([made(deviations=(nan,) * 6)], id="unknown"),
    ],
)
def test_too_few_repeated_launches_are_replaced_by_what_is_known_elsewhere(changes):
    noise = launch_noise(changes, assumed=0.025)
    assert (noise.variance, noise.parts, noise.measured) == (0.025**2, (), False)


def test_few_launches_that_scatter_more_are_believed():
    far = [made(blocks=((0, 1), (0,)), deviations=(0.1, -0.1, 0.0))] * 6
    noise = launch_noise(far, assumed=0.025)
    assert (noise.variance, noise.parts) == (pytest.approx(0.02), ((1.0, 1),))
    assert launch_noise(far, assumed=0.0, in_step=False).parts == ((1.0, 6),)
    assert launch_noise(far[:1], assumed=0.0, in_step=False).variance == 0, "acceptance does not vary by launch"


def test_blocks_are_told_apart_by_cells_that_have_both():
    def freedom(*blocks):
        cells = [made(blocks=(own, (0,)), deviations=(0.1,) * len(own) + (0.0,)) for own in blocks]
        return launch_noise(cells, assumed=0.0).parts[0][1]

    assert freedom((0, 1), (1, 2), (2, 3)) == 3
    assert freedom((0, 1), (2, 3)) == 2
    assert freedom((0, 1), (2,)) == 1
    assert freedom((0, 1, 2, 3), (0, 1, 2, 3)) == 3


def test_the_interval_has_the_quantile_of_its_launches():
    """Four degrees of freedom: 2.776 standard errors; the error of two means of three launches."""
    noise = LaunchNoise(variance=0.03, scatter=0.03, parts=((1.0, 4),))
    interval, p = judged(made(after=1.5), noise, confidence=0.95)
    reach = 2.776445 * np.sqrt(0.03 * 2 / 3)
    assert (interval.low, interval.mid, interval.high) == pytest.approx((0.5 - reach, 0.5, 0.5 + reach), abs=1e-6)
    assert p == pytest.approx(0.024110, abs=1e-5)


def test_prompts_and_launches_add_up():
    noise = LaunchNoise(variance=0.03, scatter=0.03)
    narrow, _ = judged(made(prompts=10**6), noise, confidence=0.95)
    wide, _ = judged(made(prompts=10**6, prompt_variance=0.06), noise, confidence=0.95)
    assert wide.high / narrow.high == pytest.approx(2, rel=1e-3)


def test_each_part_of_the_variance_has_its_quantile():
    """Half of it known from 4 degrees of freedom, half from 20: the mean of 2.776 and 2.086."""
    noise = LaunchNoise(variance=0.03, scatter=0.03, parts=((0.5, 4), (0.5, 20)))
    interval, _ = judged(made(after=1.5), noise, confidence=0.95)
    reach = (2.776445 + 2.085963) / 2 * np.sqrt(0.03 * 2 / 3)
    assert interval.high - 0.5 == pytest.approx(reach, abs=1e-6)
    assert judged(made(after=1 + reach), noise, confidence=0.95)[1] == pytest.approx(0.05, abs=1e-6)


def test_a_change_is_noticed_from_where_its_p_is_the_level():
    noise = LaunchNoise(variance=0.03, scatter=0.04, parts=((0.5, 4), (0.5, 20)))
    least = noticed_from(made(prompt_variance=0.01), noise, level=0.001)
    assert judged(made(prompt_variance=0.01, after=1 + least), noise, confidence=0.9)[1] == pytest.approx(0.002)
    assert noticed_from(made(), LaunchNoise(variance=0.0, scatter=0.0), level=0.001) == 0
    assert isnan(noticed_from(made(prompts=4), noise, level=0.001))


def test_the_farthest_change_has_the_smallest_p_there_is():
    noise = LaunchNoise(variance=1e-20, scatter=1e-20, parts=((1.0, 400),))
    assert judged(made(after=1e9), noise, confidence=0.95)[1] == 1e-100


def test_where_nothing_varies_the_change_is_what_it_is():
    still = LaunchNoise(variance=0.0, scatter=0.0, parts=((1.0, 8),))
    assert judged(made(), still, confidence=0.95)[1] == 1
    interval, p = judged(made(after=1.2), still, confidence=0.95)
    assert (interval.low, interval.high, p) == (pytest.approx(0.2), pytest.approx(0.2), 0)


def test_runs_that_share_their_chance_have_the_freedom_of_their_launches():
    """A run against itself: nothing but what launches do remains, far less than their scatter with chance in it."""
    noise = LaunchNoise(variance=1e-6, scatter=1e-4, parts=((1.0, 12),))
    interval, p = judged(made(), noise, confidence=0.95)
    assert interval.high == pytest.approx(2.178813 * np.sqrt(1e-6 * 2 / 3), rel=1e-5)
    assert p == 1


@pytest.mark.parametrize("useless", [{"prompts": 4}, {"after": nan}, {"prompt_variance": nan}])
def test_too_few_prompts_have_no_interval(useless):
    interval, p = judged(made(**useless), LaunchNoise(variance=1.0, scatter=1.0, parts=((1.0, 4),)), confidence=0.95)
    assert isnan(interval.low)
    assert isnan(p)


@pytest.mark.parametrize(
    ("ps", "weights", "adjusted"),
    [
        pytest.param([], [], [], id="nothing"),
        pytest.param([0.01, 0.04, 0.03], [1, 1, 1], [0.03, 0.06, 0.06], id="Holm 1979"),
        pytest.param([0.5, 0.9], [1, 1], [1.0, 1.0], id="never above 1"),
        pytest.param([0.01, nan, 0.04], [1, 1, 1], [0.02, nan, 0.04], id="unknown does not count"),
        pytest.param([0.01, 0.01], [3, 1], [4 / 300, 4 / 300], id="weight divides, order is kept"),
        pytest.param([0.02, 0.01], [3, 1], [0.08 / 3, 0.08 / 3], id="the weighty one first"),
    ],
)
def test_holm(ps, weights, adjusted):
    assert holm(ps, weights) == pytest.approx(adjusted, nan_ok=True)


def test_intervals_of_equal_runs_cover_nought():
    """Three launches a run, six cells in the pool, chance of request and of launch alike."""
    covered = [i.low <= 0 <= i.high for i, _ in equal_runs(40, block=0.0)]
    assert 0.86 <= np.mean(covered) <= 0.96


def test_launches_in_step_give_no_alarm_more_often():
    """Most of a launch's chance is its block's. With all launches taken for independent 13 of 600 are below .001."""
    assert np.mean([p < 0.001 for _, p in equal_runs(100, block=0.04)]) <= 0.004


def equal_runs(pairs, *, block):
    rng = np.random.default_rng(7)
    prompts = [f"p{i}" for i in range(48)]

    def run():
        shared = block * rng.standard_normal((3, 1))
        return [one(shared + 0.02 * rng.standard_normal((3, 1))) for _ in range(6)]

    def one(pace):
        return ratio_of_sums(1 + pace + 0.1 * rng.standard_normal((3, 48)), np.ones((3, 48)))

    for _ in range(pairs):
        cells = [change(before, after, prompts, THREE) for before, after in zip(run(), run(), strict=True)]
        noise = launch_noise(cells, assumed=1.0)
        yield from (judged(cell, noise, confidence=0.9) for cell in cells)
