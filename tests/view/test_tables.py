"""Tables of a sweep whose every number is known (see conftest)."""

import re
from dataclasses import replace

import pandas as pd
import pytest

from labkit.records import Counters, EngineCounters, Flag
from labkit.view import tables

TABLES = [tables.cells, tables.speedups, tables.acceptances, tables.positions, tables.steps]
OF_DRAFTERS = [tables.speedups, tables.acceptances, tables.positions]
NAN = float("nan")


def documented(table):
    """Column names that the docstring lists after CELL_KEYS."""
    listed = re.sub(r"\([^)]*\)|\[by\]", "", table.__doc__.split("CELL_KEYS,")[1]).split(".")[0]
    return [*tables.CELL_KEYS, *(name.strip() for name in listed.split(",") if name.strip())]


def row(table, drafter, k, temperature=0.0, **more):
    """The only row of ``table`` with these keys, as a dictionary."""
    chosen = table
    for name, value in {"drafter": drafter, "k": k, "temperature": temperature, **more}.items():
        chosen = chosen[chosen[name] == value]
    assert len(chosen) == 1
    return chosen.iloc[0].to_dict()


def flagged(measurement, name):
    return replace(measurement, flags=(Flag(name=name, reason="why"),))


def change(measurement, **fields):
    """``measurement`` with ``fields`` of every record replaced."""
    return replace(measurement, records=tuple(replace(r, **fields) for r in measurement.records))


def slower(record, factor):
    return replace(record, t_last=record.t_first + factor * (record.t_last - record.t_first))


# --- shape


@pytest.mark.parametrize("table", TABLES, ids=lambda t: t.__name__)
def test_columns_are_the_documented_ones(sweep, table):
    assert list(table(sweep(blocks=3)).columns) == documented(table)


@pytest.mark.parametrize("drafters", [None, ()], ids=["nothing measured", "baseline only"])
@pytest.mark.parametrize("table", TABLES, ids=lambda t: t.__name__)
def test_without_drafters_the_columns_stay(sweep, table, drafters):
    measured = [] if drafters is None else sweep(drafters=drafters)
    found = table(measured)
    assert len(found) == (2 if measured and table not in OF_DRAFTERS else 0)
    assert list(found.columns) == documented(table)


def test_grouping_adds_a_column_even_to_an_empty_table(sweep):
    expected = [*tables.CELL_KEYS, "category", *documented(tables.speedups)[len(tables.CELL_KEYS) :]]
    assert list(tables.speedups(sweep(), by="category").columns) == expected
    assert list(tables.speedups([], by="category").columns) == expected


@pytest.mark.parametrize(
    ("table", "rows"), [("cells", 3 * 5 * 2), ("speedups", 8), ("acceptances", 8), ("positions", 24), ("steps", 10)]
)
def test_one_row_per_what_the_table_is_about(sweep, table, rows):
    found = getattr(tables, table)(sweep(blocks=3))
    assert len(found) == rows
    keys = [c for c in (*tables.CELL_KEYS, "block", "position") if c in found and c != "method"]
    assert not found.duplicated(keys).any()
    assert found[keys].equals(found[keys].sort_values(keys, kind="stable").reset_index(drop=True)), "sorted"


@pytest.mark.parametrize("table", TABLES, ids=lambda t: t.__name__)
def test_the_order_of_measuring_does_not_matter(sweep, table):
    """But for the bounds of intervals, whose blocks are drawn by number: 2 %."""
    measured = sweep(blocks=3, jitter=0.1)
    there, back = table(measured), table(measured[::-1])
    pd.testing.assert_frame_equal(there, back, rtol=0.02)
    exact = [column for column in there if column not in ("low", "high")]
    pd.testing.assert_frame_equal(there[exact], back[exact])


# --- numbers, by hand


def test_cells_by_hand(sweep):
    """246 tokens in 10 s; first tokens after 100, 110 … 150 ms; 13 steps accept 28 of 52 drafts."""
    found = tables.cells(sweep())
    own = row(found, "draft", 4)
    assert (own["method"], own["block"], own["requests"], own["output_tokens"]) == ("draft_model", 0, 6, 246)
    assert own["tokens_per_second"] == pytest.approx(24.6)
    assert own["ttft_ms"] == pytest.approx(125)
    assert own["tpot_ms"] == pytest.approx(50), "0.8 of the baseline's speed"
    assert own["acceptance_rate"] == pytest.approx(28 / 52)
    assert own["mean_acceptance_length"] == pytest.approx(1 + 28 / 13)
    assert own["tokens_per_step"] == pytest.approx(40 / 13)
    base = row(found, "baseline", 0)
    assert base["tpot_ms"] == pytest.approx(40)
    assert pd.isna([base[c] for c in ("method", "acceptance_rate", "mean_acceptance_length", "tokens_per_step")]).all()


def test_cells_without_arrays_take_acceptance_from_counters(sweep):
    measured = [change(m, per_step_accepted=None, per_step_drafted=None) for m in sweep()]
    own = row(tables.cells(measured), "draft", 4)
    assert own["acceptance_rate"] == pytest.approx(28 / 52)
    assert pd.isna(own["tokens_per_step"]), "counters do not tell it"


def test_cells_without_arrays_and_counters_are_unknown(sweep):
    measured = [replace(change(m, per_step_accepted=None), counters=None) for m in sweep()]
    assert pd.isna(row(tables.cells(measured), "draft", 4)["acceptance_rate"])


def test_cells_without_usage_have_unknown_tokens_and_not_zero(sweep):
    found = tables.cells([change(m, output_tokens=None) for m in sweep(drafters=())])
    assert found[["output_tokens", "tokens_per_second", "tpot_ms"]].isna().all(axis=None)


def test_flags_are_shown_with_their_reasons(sweep):
    measured = sweep(drafters=(), temperatures=(0.0,))
    flags = (Flag(name="partial", reason="2 of 6 requests failed"), Flag(name="machine_busy", reason="others"))
    found = tables.cells([replace(measured[0], flags=flags)])
    assert found["flags"].tolist() == ["partial: 2 of 6 requests failed; machine_busy: others"]
    assert tables.cells(measured)["flags"].tolist() == [""]


@pytest.mark.parametrize("blocks", [1, 3])
def test_speedups_by_hand(sweep, blocks):
    found = tables.speedups(sweep(blocks=blocks))
    for (drafter, k), gain in {("ngram", 2): 1.2, ("ngram", 4): 1.4, ("draft", 2): 1.1, ("draft", 4): 0.8}.items():
        own = row(found, drafter, k, 0.8)
        assert [own[c] for c in ("speedup", "low", "high", "with_looping")] == pytest.approx([gain] * 4)
        assert (own["prompts"], own["left_out"], own["blocks"]) == (6, 0, blocks)
        assert own["launches"] == ("resampled" if blocks == 3 else "this launch only")


def test_speedups_pair_cells_of_the_same_temperature_and_concurrency(sweep):
    """The baseline is twice as slow at T = 0.8 and three times at 2 users; a pair that is mixed up shows."""
    slow = {(0.0, 1): 1, (0.8, 1): 2, (0.0, 2): 3, (0.8, 2): 4}

    def slowed(m):
        factor = slow[m.cell.sampling.temperature, m.cell.concurrency]
        return replace(m, records=tuple(slower(r, factor) for r in m.records))

    found = tables.speedups([slowed(m) for m in sweep(concurrencies=(1, 2))])
    assert len(found) == 16
    assert found.loc[found["k"].eq(4) & found["drafter"].eq("ngram"), "speedup"].tolist() == pytest.approx([1.4] * 4)


def test_wider_confidence_wider_interval(sweep):
    measured = sweep(jitter=0.2)
    wide, narrow = tables.speedups(measured, confidence=0.99), tables.speedups(measured, confidence=0.8)
    assert (wide["low"] < narrow["low"]).all()
    assert (wide["high"] > narrow["high"]).all()
    assert wide["speedup"].equals(narrow["speedup"])


def test_looping_outputs_are_left_out_and_counted(sweep):
    loop = tuple(range(8)) * 5 + (0,)

    def looped(m):
        first, *rest = m.records
        return replace(m, records=(replace(first, output_token_ids=loop, t_last=first.t_first + 1), *rest))

    own = row(tables.speedups([looped(m) for m in sweep()]), "ngram", 4)
    assert (own["prompts"], own["left_out"]) == (5, 1)
    assert own["speedup"] == pytest.approx(1.4)
    assert own["with_looping"] == pytest.approx((1 + 5 * 1.6) / (1 + 5 * 1.6 / 1.4))


def test_acceptances_by_hand(sweep):
    """``ngram`` K = 4: 7 drafted steps accept 16 of 28 and yield 23 tokens; 17 further steps yield one each."""
    own = row(tables.acceptances(sweep(blocks=3)), "ngram", 4)
    assert own["acceptance_rate"] == pytest.approx(16 / 28)
    assert [own[c] for c in ("mean_acceptance_length", "low", "high", "request_weighted_length")] == pytest.approx(
        [1 + 16 / 7] * 4
    )
    assert own["tokens_per_step"] == pytest.approx(40 / 24)
    assert (own["steps"], own["prompts"]) == (3 * 6 * 7, 6)


def test_positions_by_hand(sweep):
    """``draft`` K = 4 accepts 4, 2, 0 in turn, 13 steps: 5 of 4, 4 of 2, 4 of 0."""
    found = tables.positions(sweep())
    rows = [row(found, "draft", 4, position=i) for i in (1, 2, 3, 4)]
    assert [r["joint"] for r in rows] == pytest.approx([9 / 13, 9 / 13, 5 / 13, 5 / 13])
    assert [r["conditional"] for r in rows] == pytest.approx([9 / 13, 1, 5 / 9, 1])
    assert [r["low"] for r in rows] == pytest.approx([r["high"] for r in rows]), "identical requests"
    assert {r["steps"] for r in rows} == {6 * 13}


def test_steps_by_hand(sweep):
    found = tables.steps(sweep())
    base, own = row(found, "baseline", 0), row(found, "draft", 4)
    assert [base[c] for c in ("step_ms", "tokens_per_step", "tpot_ms")] == pytest.approx([40, 1, 40])
    assert [own[c] for c in ("step_ms", "tokens_per_step", "tpot_ms")] == pytest.approx([50 * 40 / 13, 40 / 13, 50])


# --- groups


def test_by_category(sweep):
    """Halve the speed of "sql" in every arm but the baseline."""

    def slowed(m):
        factors = {"code": 1, "sql": 2 if m.cell.spec.k else 1}
        return replace(m, records=tuple(slower(r, factors[r.category]) for r in m.records))

    found = tables.speedups([slowed(m) for m in sweep()], by="category")
    assert len(found) == 16
    code, sql = (row(found, "ngram", 4, category=c) for c in ("code", "sql"))
    assert (code["speedup"], sql["speedup"]) == pytest.approx((1.4, 0.7))
    assert (code["prompts"], sql["prompts"]) == (3, 3)
    assert pd.isna([code["low"], sql["high"]]).all(), "three prompts are too few for an interval"


def test_by_language(sweep):
    found = tables.speedups(sweep(), by="language")
    assert found["language"].unique().tolist() == ["en"]
    assert found["speedup"].tolist() == pytest.approx(tables.speedups(sweep())["speedup"].tolist())


def test_a_category_that_failed_in_one_arm_is_shown_without_a_figure(sweep):
    def failing(m):
        errors = {"code": None, "sql": "boom" if m.cell.spec.k else None}
        return replace(m, records=tuple(replace(r, error=errors[r.category]) for r in m.records))

    own = row(tables.speedups([failing(m) for m in sweep()], by="category"), "draft", 2, category="sql")
    assert pd.isna(own["speedup"])
    assert own["prompts"] == 0


# --- what does not count


@pytest.mark.parametrize("flag", ["reset", "method_mismatch"])
def test_discarded_cells_do_not_count(sweep, flag):
    """The ngram cells of block 0 are discarded and wild: only the cells of blocks 1 and 2 are in the figures."""

    def spoilt(m):
        if m.cell.spec.name != "ngram" or m.cell.block:
            return m
        return flagged(change(m, t_last=99.0, per_step_accepted=(4,), per_step_drafted=(4,)), flag)

    measured = [spoilt(m) for m in sweep(blocks=3)]
    own = row(tables.speedups(measured), "ngram", 4)
    assert (own["speedup"], own["blocks"], own["launches"]) == (pytest.approx(1.4), 2, "this launch only")
    assert row(tables.acceptances(measured), "ngram", 4)["steps"] == 2 * 6 * 7
    assert row(tables.positions(measured), "ngram", 4, position=1)["steps"] == 2 * 6 * 7
    assert row(tables.steps(measured), "ngram", 4)["tpot_ms"] == pytest.approx(40 / 1.4)
    assert row(tables.speedups(measured), "draft", 2)["blocks"] == 3, "other cells keep all blocks"
    assert tables.cells(measured)["flags"].str.startswith(flag).sum() == 4, "shown with their flag"


def test_all_discarded_is_an_empty_table(sweep):
    assert all(table([flagged(m, "reset") for m in sweep()]).empty for table in (*OF_DRAFTERS, tables.steps))


def test_negative_counters_give_no_acceptance(sweep):
    """Without per-step arrays the counters speak, and after a restart they do not."""
    back = EngineCounters(
        drafts=-380, draft_tokens=-1140, accepted_tokens=-450, accepted_per_pos=(-260, -130, -60)
    )  # fmt: skip
    counters = Counters(model_name="m", per_engine={"0": back})
    measured = [
        flagged(replace(change(m, per_step_accepted=None), counters=counters), "reset")
        for m in sweep(temperatures=(0,))
    ]
    assert tables.cells(measured)[["acceptance_rate", "mean_acceptance_length"]].isna().all(axis=None)


@pytest.mark.parametrize("why", ["not measured", "discarded"])
def test_a_block_without_its_baseline_does_not_count(sweep, why):
    measured = []
    for m in sweep(blocks=3):
        if m.cell.spec.k or m.cell.block != 1 or m.cell.sampling.temperature:
            measured.append(m)
        elif why == "discarded":
            measured.append(flagged(m, "reset"))
    found = tables.speedups(measured)
    assert row(found, "ngram", 4, 0.0)["blocks"] == 2
    assert row(found, "ngram", 4, 0.8)["blocks"] == 3, "the other temperature has its baseline"
    assert row(tables.acceptances(measured), "ngram", 4)["steps"] == 3 * 6 * 7, "acceptance needs no baseline"


def test_without_any_baseline_there_is_no_speedup(sweep):
    assert tables.speedups([m for m in sweep() if m.cell.spec.k]).empty


def test_failed_requests_do_not_count(sweep):
    def failing(m):
        first, *rest = m.records
        return replace(m, records=(replace(first, error="boom", output_tokens=None, t_last=99.0), *rest))

    measured = [failing(m) for m in sweep()]
    assert row(tables.speedups(measured), "ngram", 4)["prompts"] == 5
    assert row(tables.acceptances(measured), "ngram", 4)["prompts"] == 5
    own = row(tables.cells(measured), "ngram", 4)
    assert (own["requests"], own["output_tokens"]) == (6, 205)
    assert own["tpot_ms"] == pytest.approx(40 / 1.4)


def test_a_drafter_that_never_drafted_has_unknown_acceptance(sweep):
    """Empty arrays: every step yields one token, and no rate is known. It is in no position's row."""
    silent = [change(m, per_step_accepted=(), per_step_drafted=()) if m.cell.spec.k else m for m in sweep()]
    own = row(tables.acceptances(silent), "ngram", 4)
    rates = ("acceptance_rate", "mean_acceptance_length", "low", "high", "request_weighted_length")
    assert pd.isna([own[c] for c in rates]).all()
    assert (own["tokens_per_step"], own["steps"]) == (1.0, 0)
    assert tables.positions(silent).empty


def test_steps_that_drafted_nothing_are_in_no_position(sweep):
    silent = [change(m, per_step_accepted=(0, 0), per_step_drafted=(0, 0)) if m.cell.spec.k else m for m in sweep()]
    assert tables.positions(silent).empty


def test_a_gain_above_the_tokens_per_step_is_doubted(sweep):
    """``ngram`` yields 40 / 24 tokens a step: a baseline made twice as slow lifts its speedup above that."""

    def slowed(m):
        return m if m.cell.spec.k else replace(m, records=tuple(replace(r, t_last=2 * r.t_last) for r in m.records))

    plain, doubted = sweep(), [slowed(m) for m in sweep()]
    assert set(tables.speedups(plain)["cautions"]) == {""}
    assert row(tables.speedups(doubted), "ngram", 4)["cautions"] == "above its 1.67 tokens per step"
    (busy, *rest) = plain
    named = tables.speedups([flagged(busy, "machine_busy"), *rest])["cautions"]
    assert "machine_busy" in set(named)
