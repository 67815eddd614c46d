"""Every state and flag of a counter delta, with the values of the field notes."""

import pytest

from labkit.measure import flags
from labkit.records import Counters, EngineCounters, RequestRecord


def engine(drafts=1000, drafted=3000, accepted=1500, per_pos=(800, 450, 250), generated=2500):
    return EngineCounters(
        drafts=drafts,
        draft_tokens=drafted,
        accepted_tokens=accepted,
        accepted_per_pos=per_pos,
        generation_tokens=generated,
    )


SECOND = engine(500, 1500, 600, (350, 170, 80), 1100)


def counters(*engines, **gauges):
    return Counters(model_name="m", per_engine={str(i): e for i, e in enumerate(engines)}, **gauges)


def names(delta, **options):
    return [flag.name for flag in flags.counter_flags(delta, **options)]


def test_a_clean_delta_has_no_flags():
    assert flags.counter_state(counters(engine(), SECOND)) == "ok"
    assert names(counters(engine(), SECOND), k=3) == []


def test_a_restart_between_snapshots_is_a_reset():
    """Engine 1's drafts go from 500 to 120; engine 0 is still shown."""
    later = counters(engine(2000, 6000, 3000, (1600, 900, 500), 5000), engine(120, 360, 150, (90, 40, 20), 300))
    delta = later.since(counters(engine(), SECOND))
    assert flags.counter_state(delta) == "reset"
    (flag,) = flags.counter_flags(delta)
    assert "engine 1 went backwards" in flag.reason
    assert delta.per_engine["0"].drafts == 1000


def test_no_speculative_series_at_all():
    plain = EngineCounters(generation_tokens=10)
    assert flags.counter_state(counters(plain)) == "not_enabled"
    assert names(counters(plain), k=4) == ["not_enabled"]
    assert names(counters(plain), k=0) == [], "a baseline is meant not to speculate"


def test_some_series_missing():
    part = EngineCounters(drafts=3, generation_tokens=10)
    (flag,) = flags.counter_flags(counters(part))
    assert flag.name == "absent"
    assert "draft_tokens, accepted_tokens, accepted_per_pos" in flag.reason


@pytest.mark.parametrize(("generated", "state"), [(0, "enabled_idle"), (50, "enabled_no_drafts")])
def test_speculation_that_did_nothing(generated, state):
    idle = engine(0, 0, 0, (0, 0, 0), generated)
    assert flags.counter_state(counters(idle)) == state
    assert names(counters(idle), k=3) == [state]


def test_one_of_two_engines_idle():
    assert names(counters(engine(), engine(0, 0, 0, (0, 0, 0), 0)), k=3) == ["idle_engine"]


def test_counts_that_contradict_each_other():
    assert names(counters(engine(per_pos=(800, 450, 249))), k=3) == ["invariant"]
    assert names(counters(engine()), k=2) == ["invariant"]


def test_requests_running_at_the_snapshot():
    assert names(counters(engine(), running=3, waiting=0), k=3) == ["not_quiescent"]


def records(*tokens, **more):
    return [
        RequestRecord(prompt_id=str(i), category="c", language="en", output_tokens=n, **more)
        for i, n in enumerate(tokens)
    ]


def test_conditional_rates_of_counters_where_steps_drafted_less_than_k():
    """A lookup that finds nothing to the end of K; with arrays of each step nothing is lost."""
    short = counters(engine(drafted=2400))
    assert flags.censored(short, []).reason == "1000 steps drafted 2400 tokens of 3000, and the server sends no steps"
    assert flags.censored(short, records(4, per_step_accepted=(3,), per_step_drafted=(3,))) is None
    assert flags.censored(counters(engine()), []) is None
    assert flags.censored(counters(engine(drafts=0, drafted=0, accepted=0, per_pos=(0, 0, 0))), []) is None


def test_contamination_beyond_two_percent():
    assert flags.contamination(counters(engine(generated=1019)), records(500, 500)) is None
    flag = flags.contamination(counters(engine(generated=1021)), records(500, 500))
    assert flag.name == "contaminated"
    assert "1021" in flag.reason
    assert "1000" in flag.reason


def test_contamination_is_unknown_without_usage():
    assert flags.contamination(counters(engine()), records(500, None)) is None


def test_partial_names_the_first_error():
    some = [*records(5), *records(5, error="HTTP 400: no")]
    assert "1 of 2 requests failed; first: HTTP 400: no" in flags.partial(some).reason
    assert flags.partial(records(5)) is None


def test_looping_outputs_are_counted():
    loop = records(40, output_token_ids=tuple([1, 2, 3, 4] * 10))
    plain = records(40, output_token_ids=tuple(range(40)))
    assert "1 of 2 outputs" in flags.degeneration(loop + plain).reason
    assert flags.degeneration(plain) is None


def test_a_client_that_cannot_keep_up():
    fast = records(10, chunk_times=tuple(range(int(flags.CLIENT_CHUNK_LIMIT) + 10)))
    assert flags.pace(fast, wall_seconds=1.0).name == "client_bound"
    assert flags.pace(fast, wall_seconds=2.0) is None
