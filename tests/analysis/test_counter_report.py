"""A counter delta as the fields of ``labkit metrics --json``."""

import json

import pytest

from labkit.analysis.counter_report import counter_report
from labkit.records import Counters, EngineCounters

COUNTS = {"drafts", "draft_tokens", "accepted_tokens", "generation_tokens"}
RATES = {"acceptance_rate", "accepted_per_draft", "mean_acceptance_length", "joint", "conditional", "censored"}
UNKNOWN = dict.fromkeys(RATES)


def engine(drafts, drafted, accepted, per_pos, generated=2500):
    return EngineCounters(
        drafts=drafts, draft_tokens=drafted, accepted_tokens=accepted, accepted_per_pos=per_pos,
        generation_tokens=generated,
    )  # fmt: skip


FIRST = engine(1000, 3000, 1500, (800, 450, 250))
SECOND = engine(500, 1500, 600, (350, 170, 80), 1100)


def report(*engines):
    return counter_report(Counters(model_name="m", per_engine={str(i): e for i, e in enumerate(engines)}))


def flags(found):
    return [flag["name"] for flag in found["flags"]]


def rates(fields):
    return {name: fields[name] for name in RATES}


def test_two_engines_are_summed_and_kept_apart():
    """F1."""
    found = report(FIRST, SECOND)
    assert set(found) == COUNTS | RATES | {"model", "per_engine", "state", "flags"}
    assert (found["model"], found["state"], found["flags"]) == ("m", "ok", [])
    assert {name: found[name] for name in COUNTS} == {
        "drafts": 1500, "draft_tokens": 4500, "accepted_tokens": 2100, "generation_tokens": 3600
    }  # fmt: skip
    assert found["acceptance_rate"] == pytest.approx(0.4667, abs=5e-5), "0.45 is the mean of engines"
    assert found["accepted_per_draft"] == pytest.approx(1.4)
    assert found["mean_acceptance_length"] == pytest.approx(2.4)
    assert found["joint"] == pytest.approx([0.767, 0.413, 0.220], abs=5e-4)
    assert found["conditional"] == pytest.approx([0.767, 0.539, 0.532], abs=5e-4)
    assert found["censored"] is False
    assert set(found["per_engine"]) == {"0", "1"}
    assert set(found["per_engine"]["0"]) == COUNTS | RATES
    assert found["per_engine"]["0"]["acceptance_rate"] == pytest.approx(0.5)
    assert found["per_engine"]["1"]["acceptance_rate"] == pytest.approx(0.4)


def test_short_proposals_censor_the_conditional_rates():
    assert report(engine(10, 25, 12, (8, 4, 0)))["censored"] is True


def test_no_speculation_is_unknown_and_not_zero():
    found = report(EngineCounters(generation_tokens=2500))
    assert found["state"] == "not_enabled"
    assert flags(found) == ["not_enabled"]
    assert found["generation_tokens"] == 2500
    assert {found[name] for name in ("drafts", "draft_tokens", "accepted_tokens")} == {None}
    assert rates(found) == UNKNOWN


@pytest.mark.parametrize(("generated", "state"), [(0, "enabled_idle"), (50, "enabled_no_drafts")])
def test_counters_that_stood_still_have_no_rates(generated, state):
    found = report(engine(0, 0, 0, (0, 0, 0), generated))
    assert found["state"] == state
    assert found["drafts"] == 0, "counted, and none"
    assert rates(found) == UNKNOWN


@pytest.mark.parametrize("lacking", ["drafts", "draft_tokens", "accepted_tokens", "accepted_per_pos"])
def test_a_series_missing_on_one_engine(lacking):
    whole = {"drafts": 10, "draft_tokens": 30, "accepted_tokens": 15, "accepted_per_pos": (8, 5, 2)}
    part = EngineCounters(**{name: value for name, value in whole.items() if name != lacking}, generation_tokens=25)
    found = report(FIRST, part)
    assert found["state"] == "absent"
    assert rates(found) == UNKNOWN
    assert rates(found["per_engine"]["1"]) == UNKNOWN
    assert found["per_engine"]["0"]["mean_acceptance_length"] == pytest.approx(2.5), "the other engine is known"


def test_a_restarted_engine_spoils_the_sum_and_not_the_other_engine():
    """Engine 1 restarts, its drafts go 500 → 120; the sum over engines stays positive and means nothing."""
    after = {"0": FIRST.combined(FIRST, +1), "1": engine(120, 360, 150, (90, 40, 20), 300)}
    before = Counters(model_name="m", per_engine={"0": FIRST, "1": SECOND})
    found = counter_report(Counters(model_name="m", per_engine=after).since(before))
    assert (found["state"], flags(found)) == ("reset", ["reset"])
    assert found["per_engine"]["1"]["drafts"] == -380
    assert rates(found["per_engine"]["1"]) == UNKNOWN
    assert found["per_engine"]["0"]["mean_acceptance_length"] == pytest.approx(2.5)
    assert rates(found) == UNKNOWN, "a sum with a negative part has no rates"


def test_an_idle_engine_is_named():
    found = report(FIRST, engine(0, 0, 0, (0, 0, 0), 0))
    assert found["mean_acceptance_length"] == pytest.approx(2.5)
    assert rates(found["per_engine"]["1"]) == UNKNOWN
    (flag,) = found["flags"]
    assert flag["name"] == "idle_engine"
    assert "engine 1" in flag["reason"]


def test_the_report_is_json():
    """No step got to position 2, so its conditional rate is unknown; NaN is no JSON."""
    found = report(engine(10, 30, 0, (0, 0, 0)))
    assert found["acceptance_rate"] == 0, "drafted and never accepted: this 0 is measured"
    assert found["conditional"] == [0, None, None]
    assert json.loads(json.dumps(found, allow_nan=False)) == found
