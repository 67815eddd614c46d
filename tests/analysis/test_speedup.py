"""Speedup: golden ratios, pairing, what is left out, and whether the interval covers the truth."""

import numpy as np
import pytest

from labkit.analysis.speedup import cell_tpot, speedup
from labkit.records import RequestRecord

LOOP = tuple(range(8)) * 10


def record(prompt, seconds, tokens=20, *, turn=0, error=None, ids=(), **fields):
    """A request that took ``seconds`` for ``tokens`` output tokens after the first."""
    timed = {"t_first": 0.5, "t_last": 0.5 + seconds, "n_first": 1, "output_tokens": 1 + tokens} | fields
    return RequestRecord(
        prompt_id=prompt, category="c", language="en", turn=turn, error=error, output_token_ids=ids, **timed
    )  # fmt: skip


def arm(seconds, **options):
    return [record(f"p{i}", s, **options) for i, s in enumerate(seconds)]


# --- golden ratios


def test_tpot_counts_tokens_after_the_first_chunk():
    """F4: chunks (.200, 2) (.230, 3) (.260, 1) (.290, 4): 11.25 ms, not 10 (N − 1), not 30 (chunk gap)."""
    f4 = record("p", 0, t_first=0.200, t_last=0.290, n_first=2, output_tokens=10)
    assert cell_tpot([f4]) == pytest.approx(0.01125)


def test_the_tpot_of_a_cell_is_a_ratio_of_sums():
    assert cell_tpot([record("a", 1.0, 10), record("b", 1.0, 90)]) == pytest.approx(0.02)


@pytest.mark.parametrize(
    "useless",
    [
        record("x", 9.0, error="HTTP 400: no"),
        record("x", 9.0, output_tokens=None),
        record("x", 0.0, 0),
        record("x", 9.0, n_first=None),
        record("x", 0, t_first=None, t_last=None),
    ],
    ids=["failed", "no usage", "one chunk", "chunk sizes unknown", "no text"],
)
def test_requests_that_tell_no_tpot_are_left_out(useless):
    assert np.isnan(cell_tpot([useless]))
    assert cell_tpot([useless, record("a", 1.0, 10)]) == pytest.approx(0.1)
    found = speedup([([useless, *arm([2.0])], [record("x", 1.0), *arm([1.0])])])
    assert (found.prompts, found.interval.mid) == (1, pytest.approx(2))


@pytest.mark.parametrize(
    ("base", "own", "ratio"),
    [
        pytest.param(arm([2.0, 1.0]), arm([1.0, 0.8]), 3.0 / 1.8, id="ratio of sums, not mean of ratios"),
        pytest.param(
            [record("a", 2.0, 20), record("b", 1.0, 10)], [record("a", 1.0, 20), record("b", 1.5, 30)], 2.0,
            id="per token, whatever the lengths",
        ),
        pytest.param(arm([1.0, 2.0]), arm([1.0, 2.0]), 1.0, id="identical"),
    ],
)  # fmt: skip
def test_the_ratio_of_one_block(base, own, ratio):
    found = speedup([(base, own)])
    assert found.interval.mid == pytest.approx(ratio)
    assert found.with_looping == pytest.approx(ratio)


def test_blocks_are_averaged_geometrically():
    found = speedup([(arm([1.0]), arm([1.0])), (arm([4.0]), arm([1.0]))])
    assert found.interval.mid == pytest.approx(2.0)
    assert found.blocks == 2


# --- pairing, and what is left out


def test_only_prompts_in_both_arms_count():
    base = [record("a", 2.0), record("b", 2.0), record("only base", 99.0)]
    own = [record("b", 1.0), record("a", 1.0), record("only arm", 99.0)]
    found = speedup([(base, own)])
    assert (found.prompts, found.interval.mid) == (2, pytest.approx(2))


def test_a_prompt_must_be_in_every_block():
    whole, part = arm([1.0, 1.0]), arm([1.0])
    assert speedup([(whole, whole), (whole, part)]).prompts == 1


def test_turns_of_a_conversation_are_paired_apart():
    base = [record("a", 2.0, turn=0), record("a", 6.0, turn=1)]
    found = speedup([(base, [record("a", 1.0, turn=0), record("a", 1.0, turn=1)])])
    assert (found.prompts, found.interval.mid) == (1, pytest.approx(4)), "turns of one prompt are one unit"


@pytest.mark.parametrize("looping", ["base", "arm"])
def test_looping_outputs_leave_the_headline_and_are_counted(looping):
    loops = {name: {"ids": LOOP} if name == looping else {} for name in ("base", "arm")}
    base = [*arm([2.0, 2.0]), record("loop", 8.0, **loops["base"])]
    own = [*arm([1.0, 1.0]), record("loop", 1.0, **loops["arm"])]
    found = speedup([(base, own)])
    assert (found.prompts, found.left_out) == (2, 1)
    assert found.interval.mid == pytest.approx(2)
    assert found.with_looping == pytest.approx(4)


def test_a_loop_in_one_block_leaves_the_prompt_out_of_all():
    clean, looped = arm([1.0, 1.0]), [record("p0", 1.0), record("p1", 1.0, ids=LOOP)]
    found = speedup([(clean, clean), (clean, looped)])
    assert (found.prompts, found.left_out) == (1, 1)


def test_failed_requests_are_not_looping_ones():
    found = speedup([(arm([2.0, 2.0]), [record("p0", 1.0), record("p1", 1.0, error="boom", ids=LOOP)])])
    assert (found.prompts, found.left_out) == (1, 0)


@pytest.mark.parametrize(
    "blocks",
    [[], [([], [])], [(arm([1.0]), [])], [(arm([1.0]), [record("other", 1.0)])], [(arm([1.0], error="x"), arm([1.0]))]],
    ids=["no block", "empty arms", "empty arm", "disjoint", "all failed"],
)
def test_nothing_left_is_no_figure(blocks):
    found = speedup(blocks)
    assert np.isnan([found.interval.mid, found.interval.low, found.interval.high, found.with_looping]).all()
    assert (found.prompts, found.left_out, found.blocks) == (0, 0, len(blocks))


def test_all_looping_shows_only_the_figure_with_them():
    found = speedup([(arm([2.0] * 6, ids=LOOP), arm([1.0] * 6))])
    assert np.isnan([found.interval.mid, found.interval.low, found.interval.high]).all()
    assert found.with_looping == pytest.approx(2)
    assert (found.prompts, found.left_out) == (0, 6)


# --- intervals


@pytest.mark.parametrize(
    ("blocks", "label"), [(1, "this launch only"), (2, "this launch only"), (3, "resampled"), (4, "resampled")]
)
def test_launches_are_resampled_from_three_blocks_on(blocks, label):
    found = speedup([(arm([2.0] * 6), arm([1.0] * 6))] * blocks)
    assert (found.launches, found.blocks) == (label, blocks)
    assert (found.interval.low, found.interval.mid, found.interval.high) == pytest.approx((2, 2, 2))


@pytest.mark.parametrize(("prompts", "bounded"), [(4, False), (5, True)])
def test_few_prompts_have_no_interval(prompts, bounded):
    found = speedup([(arm([2.0] * prompts), arm([1.0] * prompts))])
    assert found.interval.mid == pytest.approx(2)
    assert np.isfinite([found.interval.low, found.interval.high]).tolist() == [bounded, bounded]


def noisy(rng, *, truth=1.25, prompts=40, noise=0.15):
    """A block whose arms share each prompt's difficulty and have noise of their own. The truth is a ratio
    of means, so both arms have the same noise."""
    hard, seconds = rng.lognormal(0, 0.3, prompts), rng.lognormal(0, noise, (2, prompts))
    return arm(hard * seconds[0] * truth), arm(hard * seconds[1])


def test_the_interval_covers_the_truth():
    """95 % nominal, 40 prompts, one block: at least 88 % of 200 runs, and as wide as the runs' spread asks."""
    rng = np.random.default_rng(7)
    runs = [speedup([noisy(rng)]).interval for _ in range(200)]
    assert sum(run.low <= 1.25 <= run.high for run in runs) >= 176
    spread = np.std([run.mid for run in runs])
    assert np.mean([run.high - run.low for run in runs]) == pytest.approx(2 * 1.96 * spread, rel=0.25)
    assert np.median([run.high - run.low for run in runs]) < 0.25


def test_pairing_takes_the_prompts_difficulty_out():
    """Unequal prompts, equal ratios: resampled jointly the interval stays a point."""
    hard = np.random.default_rng(1).lognormal(0, 1.0, 20)
    found = speedup([(arm(1.5 * hard), arm(hard))]).interval
    assert (found.low, found.high) == pytest.approx((1.5, 1.5))


def test_launches_that_differ_widen_the_interval():
    """Launches at 1.17, 1.22 and 1.27 with quiet prompts: one launch says too little about the next."""
    rng = np.random.default_rng(2)
    blocks = [noisy(rng, truth=t, noise=0.01) for t in (1.17, 1.22, 1.27)]
    alone = [speedup([block]).interval for block in blocks]
    assert all(found.high - found.low < 0.02 for found in alone)
    together = speedup(blocks).interval
    assert (together.low, together.high) == pytest.approx((1.17, 1.27), abs=0.015)
    assert together.low < together.mid < together.high


@pytest.mark.parametrize("blocks", [1, 3])
def test_swapping_the_arms_inverts(blocks):
    pairs = [noisy(np.random.default_rng(i)) for i in range(blocks)]
    there = speedup(pairs).interval
    back = speedup([(own, base) for base, own in pairs]).interval
    assert back.mid == pytest.approx(1 / there.mid)
    assert (back.low, back.high) == pytest.approx((1 / there.high, 1 / there.low), rel=1e-3)


def test_the_seed_and_the_confidence_decide():
    block = noisy(np.random.default_rng(3))
    assert speedup([block]) == speedup([block])
    assert speedup([block], seed=1).interval != speedup([block]).interval
    wide, narrow = speedup([block], confidence=0.99).interval, speedup([block], confidence=0.8).interval
    assert wide.low < narrow.low < narrow.high < wide.high
