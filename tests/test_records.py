"""What was observed: counters add and subtract, invariants, the time per output token, storage."""

import dataclasses
import json

import pytest
from pydantic import TypeAdapter

from labkit.config import Drafter, Sampling, SpecConfig
from labkit.plan import Cell, WorkloadSpec
from labkit.records import FLAGS, Counters, EngineCounters, Flag, Measurement, Provenance, RequestRecord

# FIELD_NOTES F1: two engines at K = 3
ENGINE_0 = EngineCounters(
    drafts=1000, draft_tokens=3000, accepted_tokens=1500, accepted_per_pos=(800, 450, 250), generation_tokens=2500
)
ENGINE_1 = EngineCounters(
    drafts=500, draft_tokens=1500, accepted_tokens=600, accepted_per_pos=(350, 170, 80), generation_tokens=1100
)


def counters(**per_engine):
    return Counters(model_name="m", per_engine=per_engine)


def request(**fields):
    return RequestRecord(**{"prompt_id": "p", "category": "code", "language": "en"} | fields)


# --- counters -------------------------------------------------------------------------------------------


def test_the_total_is_a_sum_over_engines():
    total = counters(a=ENGINE_0, b=ENGINE_1).total
    assert (total.drafts, total.draft_tokens, total.accepted_tokens) == (1500, 4500, 2100)
    assert total.accepted_per_pos == (1150, 620, 330)
    assert total.accepted_tokens / total.draft_tokens == pytest.approx(0.4667, abs=5e-5)  # 0.45 is the mean of rates
    assert 1 + total.accepted_tokens / total.drafts == pytest.approx(2.4)


def test_the_total_of_one_engine_is_that_engine():
    assert counters(a=ENGINE_0).total == ENGINE_0


@pytest.mark.parametrize("field", [f.name for f in dataclasses.fields(EngineCounters)])
def test_a_missing_count_stays_missing(field):
    """Unknown on one engine is unknown in the sum and the difference, never 0."""
    full = EngineCounters(**{f.name: 5 for f in dataclasses.fields(EngineCounters)} | {"accepted_per_pos": (3, 2)})
    lacking = dataclasses.replace(full, **{field: None})
    for one, other in ((full, lacking), (lacking, full), (lacking, lacking)):
        for sign in (+1, -1):
            combined = one.combined(other, sign)
            assert getattr(combined, field) is None
            others = [f.name for f in dataclasses.fields(combined) if f.name != field]
            assert None not in [getattr(combined, name) for name in others]


@pytest.mark.parametrize(
    ("one", "other", "sign", "combined"),
    [
        ((5, 3), (1, 1), +1, (6, 4)),
        ((5, 3), (1, 1), -1, (4, 2)),
        ((5, 3, 1), (1,), +1, (6, 3, 1)),
        ((1,), (5, 3, 1), -1, (-4, -3, -1)),
        ((), (2,), +1, (2,)),
    ],
)
def test_positions_combine_also_at_different_k(one, other, sign, combined):
    found = EngineCounters(accepted_per_pos=one).combined(EngineCounters(accepted_per_pos=other), sign)
    assert found.accepted_per_pos == combined


def test_a_difference_is_per_engine_with_the_later_gauges():
    later = Counters(model_name="m", per_engine={"0": ENGINE_0, "1": ENGINE_1}, running=2, waiting=1)
    delta = later.since(counters(**{"0": ENGINE_1, "1": ENGINE_1}))
    assert delta.per_engine["0"].drafts == 500
    assert delta.per_engine["0"].accepted_per_pos == (450, 280, 170)
    assert delta.per_engine["1"].drafts == 0
    assert (delta.model_name, delta.running, delta.waiting) == ("m", 2, 1)


def test_an_engine_missing_earlier_started_at_zero():
    delta = counters(old=ENGINE_0, new=ENGINE_1).since(counters(old=ENGINE_0))
    assert delta.per_engine["new"] == dataclasses.replace(ENGINE_1)
    assert delta.per_engine["old"].drafts == 0
    assert delta.total.drafts == 500


def test_a_reset_shows_as_a_negative_count_beside_a_whole_engine():
    """FIELD_NOTES: engine 1 drafts 500 → 120 between the snapshots; engine 0 is still to be shown."""
    after = dataclasses.replace(ENGINE_1, drafts=120)
    grown = dataclasses.replace(ENGINE_0, drafts=1400)
    delta = counters(a=grown, b=after).since(counters(a=ENGINE_0, b=ENGINE_1))
    assert (delta.per_engine["a"].drafts, delta.per_engine["b"].drafts) == (400, -380)
    assert delta.per_engine["b"].broken_invariant() == "a count is negative"
    assert delta.per_engine["a"].broken_invariant() is None


@pytest.mark.parametrize(
    ("engines", "width"),
    [
        ({"a": ENGINE_0, "b": ENGINE_1}, 3),
        ({"a": EngineCounters()}, None),
        ({"a": ENGINE_0, "b": EngineCounters()}, None),
    ],
)
def test_k_is_read_from_the_positions_counted(engines, width):
    assert counters(**engines).max_position == width


@pytest.mark.parametrize(
    ("change", "k", "said"),
    [
        ({}, None, None),
        ({}, 3, None),
        ({}, 2, "drafted 3000 > K·steps = 2000"),
        ({"drafts": -1}, None, "a count is negative"),
        ({"accepted_per_pos": (1501, 0, -1)}, None, "a count is negative"),
        ({"accepted_per_pos": (800, 450, 251)}, None, "accepted per position sums to 1501, accepted tokens are 1500"),
        ({"accepted_per_pos": (700, 750, 50)}, None, "accepted per position increases: [700, 750, 50]"),
        ({"draft_tokens": 1499}, None, "accepted 1500 > drafted 1499"),
        ({"accepted_tokens": None, "accepted_per_pos": None}, 3, None),
        ({"drafts": None}, 2, None),
    ],
)
def test_broken_invariants_are_named(change, k, said):
    assert dataclasses.replace(ENGINE_0, **change).broken_invariant(k) == said


def test_nothing_happened_breaks_nothing():
    assert ENGINE_0.combined(ENGINE_0, -1).broken_invariant(3) is None
    assert EngineCounters().broken_invariant(3) is None


# --- requests -------------------------------------------------------------------------------------------


def test_tpot_counts_tokens_and_not_chunks():
    """FIELD_NOTES F4: chunks (.200, 2) (.230, 3) (.260, 1) (.290, 4)."""
    record = request(
        output_tokens=10,
        t_first=0.200,
        t_last=0.290,
        n_first=2,
        chunk_times=(0.200, 0.230, 0.260, 0.290),
        chunk_tokens=(2, 3, 1, 4),
    )
    assert record.tpot == pytest.approx(0.01125)
    assert record.decode_tokens == 8
    assert record.decode_seconds == pytest.approx(0.090)


TIMES = {"t_first": 0.2, "t_last": 0.5}


@pytest.mark.parametrize(
    ("fields", "tokens"),
    [
        ({"output_tokens": 2, "n_first": 2, **TIMES}, 0),
        ({"output_tokens": 1, "n_first": 1, "t_first": 0.2, "t_last": 0.2}, 0),
        ({"output_tokens": None, "n_first": 2, **TIMES}, None),
        ({"output_tokens": 9, "n_first": None, **TIMES}, None),
        ({"output_tokens": None, "n_first": None}, None),
    ],
    ids=["all in the first chunk", "one token", "no usage", "first chunk uncounted", "nothing came"],
)
def test_without_tokens_after_the_first_chunk_there_is_no_tpot(fields, tokens):
    record = request(**fields)
    assert record.tpot is None
    assert record.decode_seconds is None
    assert record.decode_tokens == tokens


# --- flags and measurements -----------------------------------------------------------------------------


def test_a_flag_has_a_known_name():
    assert Flag(name="reset", reason="because").reason == "because"
    with pytest.raises(ValueError, match="unknown flag 'rest'; known: reset, absent"):
        Flag(name="rest", reason="because")


def test_every_flag_of_the_design_is_known():
    design = (
        "reset absent not_enabled enabled_idle enabled_no_drafts contaminated not_quiescent cache_mismatch "
        "client_bound drift synthetic partial degenerate censored machine_busy"
    )
    assert set(design.split()) <= set(FLAGS)
    assert all(FLAGS.values())


@pytest.fixture
def measurement():
    drafter = Drafter(method="ngram", options={"prompt_lookup_max": 4, "nested": {"a": [1, None]}})
    cell = Cell(
        target="t",
        spec=SpecConfig(drafter=drafter, k=3),
        sampling=Sampling(temperature=0.8),
        concurrency=2,
        workload=WorkloadSpec(categories=("code",)),
    )
    records = (
        request(
            sampling={"temperature": 0.8, "top_k": 0},
            prompt_tokens=5,
            output_tokens=3,
            t_first=0.1,
            t_last=0.30000000000000004,
            n_first=1,
            chunk_times=(0.1, 0.3),
            chunk_tokens=(1, None),
            text="a\u2028b 你好 \x00 \\",
            output_token_ids=(1, 2, 3),
            per_step_accepted=(1,),
            per_step_drafted=(3,),
        ),
        request(per_step_accepted=(), error="400: no"),
    )
    provenance = Provenance(
        labkit_version="0",
        engine_kind="simulated",
        model="m",
        engine_version=None,
        device="cpu",
        method_effective="ngram",
        k_effective=3,
        speculative_config={"method": "ngram"},
        argv=("--x", "1"),
        workload_hash="h",
        started_at=1.76e9,
        engine_uptime=None,
    )
    return Measurement(
        cell=cell,
        records=records,
        counters=Counters(model_name="m", per_engine={"0": ENGINE_0, "1": EngineCounters()}, running=0),
        provenance=provenance,
        wall_seconds=1.5,
        flags=(Flag(name="partial", reason="1 of 2"),),
    )


def test_a_measurement_survives_json(measurement):
    stored = json.dumps(dataclasses.asdict(measurement), ensure_ascii=False)
    back = TypeAdapter(Measurement).validate_json(stored)
    assert back == measurement
    assert back.id == measurement.id == measurement.cell.id


def test_a_measurement_without_counters_survives_json(measurement):
    bare = dataclasses.replace(measurement, counters=None, records=(), flags=())
    assert TypeAdapter(Measurement).validate_json(json.dumps(dataclasses.asdict(bare))) == bare


def test_flags_are_found_by_name(measurement):
    assert measurement.flag("partial").reason == "1 of 2"
    assert measurement.flag("reset") is None


@pytest.mark.parametrize(
    ("names", "discarded"),
    [((), False), (("partial", "degenerate"), False), (("reset",), True), (("partial", "method_mismatch"), True)],
)
def test_what_makes_a_cell_useless(measurement, names, discarded):
    flags = tuple(Flag(name=name, reason="") for name in names)
    assert dataclasses.replace(measurement, flags=flags).discarded is discarded
