"""What an audit collects over HTTP from simulated engines, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest

from labkit.analysis.lossless import audit
from labkit.analysis.lossless_family import Family
from labkit.analysis.lossless_greedy import audit_greedy
from labkit.analysis.lossless_pit import tokens_of
from labkit.config import Sampling, Simulation
from labkit.engine.simulated.model import Model
from labkit.errors import ConfigError, MeasurementError
from labkit.importers import Prompt
from labkit.measure.audit import AuditPlan, Control, narrowed, sample, sample_all
from labkit.measure.audit_greedy import OTHER_BATCH, REPEAT, TESTED, first_difference, greedy_texts
from labkit.measure.audit_run import audit_blocks
from labkit.measure.audit_scores import Sampled, check_models, raw_logprobs, sampled, score
from tests.conftest import SPECS

FAMILY = Family(k=2, categories=("code", "sql"))


def plan(prompts=48, **changes):
    asked = [
        Prompt(
            id=f"p{i}",
            category=("code", "sql")[i % 2],
            language="en",
            messages=({"role": "user", "content": f"number {i * 7919}"},),
        )
        for i in range(prompts)
    ]
    fields = {"sampling": Sampling(temperature=0.8, top_k=20), "tokens": 2500, "max_tokens": 90}
    return AuditPlan(prompts=tuple(asked), **fields | changes)


def watched(simulate, faults=(), **changes):
    tested, control = (
        simulate(SPECS["draft_model"], faults=faults),
        Control(simulate(SPECS["baseline"]), plan(**changes)),
    )
    return audit(audit_blocks(tested, control, method="draft_model"), family=FAMILY, budget=2500)


def test_a_lossless_engine_passes(simulate):
    found = watched(simulate)
    assert found.verdict == "no fault found"
    assert 2500 <= found.tokens < 4200
    assert found.control_tokens == pytest.approx(found.tokens, rel=0.2)
    assert found.finding("bonus token").tokens > 100
    assert (found.top_k, found.temperature) == (20, 0.8)
    assert not any("rests on its name" in line for line in found.unavailable)


@pytest.mark.parametrize(
    ("fault", "origin"),
    [("recovered_from_p", "verification"), ("bonus_temperature", "bonus"), ("ignore_top_k", "top_k")],
)
def test_a_planted_fault_is_found(simulate, fault, origin):
    found = watched(simulate, (fault,))
    assert found.verdict == "fault"
    assert [one.name for one in found.origins] == [origin]
    assert found.stopped_early


def test_engines_with_different_models_are_refused(simulate):
    tested, control = simulate(SPECS["draft_model"], seed=1), Control(simulate(SPECS["baseline"]), plan(4))
    blocks = audit_blocks(tested, control, method=None)
    with pytest.raises(MeasurementError, match=r"do not run one model; .* differ by \d\.\d+ in the median"):
        next(blocks)


def test_scores_are_the_models_own(simulate):
    engine = simulate(SPECS["baseline"])
    records = sample(engine, plan(4, max_tokens=6), range(4))
    model = Model(Simulation())
    for record, text in zip(records, score(engine, records), strict=True):
        n, ids = len(record.prompt_token_ids), [*record.prompt_token_ids, *record.output_token_ids]
        rows = model.score(ids)[n - 1 :]
        assert text.token_ids.tolist() == list(record.output_token_ids)
        assert text.logprob == pytest.approx(rows[np.arange(len(rows)), text.token_ids])
        assert text.best_logprobs == pytest.approx(-np.sort(-rows, axis=1)[:, :20])
        assert text.best_ids == pytest.approx(np.argsort(-rows, axis=1, kind="stable")[:, :20])
        assert text.top_k == record.sampling["top_k"]
    assert [text.top_k for text in score(engine, records)] == [20, 20, 20, 5]
    assert tokens_of(score(engine, records)).inside.all()


def test_every_fourth_filter_is_narrow():
    assert [narrowed(20, i) for i in range(8)] == [20, 20, 20, 5, 20, 20, 20, 5]
    assert [narrowed(0, 3), narrowed(2, 3), narrowed(20, 4)] == [0, 2, 20]


def test_sampling_ends_with_the_block_that_reaches_the_tokens(simulate):
    engine = simulate(SPECS["draft_model"])
    records = sample_all(engine, plan(tokens=100, block=5))
    assert [record.prompt_id for record in records] == [f"p{i}" for i in range(len(records))]
    assert len(records) % 5 == 0
    assert sum(record.output_tokens for record in records[:-5]) < 100
    assert list(sampled(engine, records).thinks) == ["p0", "p1", "p2"]


def test_the_baseline_is_asked_and_scored_once(simulate):
    engine, blocks = simulate(SPECS["baseline"]), [range(0, 3), range(3, 6)]
    control = Control(engine, plan(6, max_tokens=6))
    texts = [control.texts(numbers) for numbers in blocks]
    scored = [control.scored(numbers) for numbers in blocks]
    again = control.texts(blocks[0], arm="again")
    engine.close()
    assert [control.texts(numbers) for numbers in blocks] == texts
    assert [control.scored(numbers) for numbers in blocks] == scored
    assert again is not texts[0]
    assert [text.prompt_id for block in scored for text in block] == [f"p{i}" for i in range(6)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sampling": Sampling(temperature=1, top_k=50)}, "top_k may be 1 to 20, or 0 for none; got 50"),
        ({"sampling": Sampling(temperature=1, top_p=0.9)}, "top_p = 0.9 can be audited with a top_k of at most 20"),
        ({"tokens": 0}, "tokens, max_tokens, concurrency and block of an audit must be ≥ 1"),
        ({"prompts": plan(1).prompts * 2}, "asks each prompt once, and some are there twice"),
    ],
)
def test_what_cannot_be_audited_is_refused_at_once(changes, message):
    with pytest.raises(ConfigError, match=message):
        AuditPlan(**dict(vars(plan())) | changes)


def test_a_server_that_sends_no_scores_is_refused(simulate, monkeypatch):
    engine = simulate(SPECS["baseline"])
    records = sample(engine, plan(2, max_tokens=4), range(2))
    monkeypatch.setattr("labkit.measure.audit_scores.WIDTH", 2)
    with pytest.raises(
        MeasurementError, match=r"[23] tokens a position, 20 are needed; start it with --max-logprobs 20"
    ):
        score(engine, records)
    with pytest.raises(MeasurementError, match=r"does not score: .*Token id 200 is out of vocabulary"):
        raw_logprobs(engine, [[200]], width=20)
    engine.close()
    with pytest.raises(MeasurementError, match="does not score: "):
        raw_logprobs(engine, [[1, 2]], width=20)


def answered(simulate, spec="draft_model", asked=4):
    """What an engine gave to the first prompts, and that engine."""
    engine = simulate(SPECS[spec])
    return engine, sampled(engine, sample(engine, plan(asked, max_tokens=6), range(asked)))


def test_names_and_prompts_must_be_the_same(simulate):
    _, tested = answered(simulate)
    _, baseline = answered(simulate, "baseline")
    assert check_models(tested, baseline) == ()
    renamed = replace(tested, engine=replace(tested.engine, model="n"))
    with pytest.raises(MeasurementError, match="the engine under test serves 'n', the baseline 'markov'; serve one"):
        check_models(renamed, baseline)
    other = replace(tested, records=(replace(tested.records[0], prompt_token_ids=(3, 5)),))
    with pytest.raises(MeasurementError, match="read prompt p0 as different token ids"):
        check_models(other, baseline)


def test_an_engine_that_does_not_score_is_compared_by_name_and_ids_and_that_is_said(simulate):
    """The engine under test is gone when it is asked what it thinks of the prompts."""
    engine, tested = answered(simulate)
    engine.close()
    deaf = sampled(engine, tested.records)
    assert deaf.thinks == {}
    control = Control(simulate(SPECS["baseline"]), plan(4, max_tokens=6))
    (said,) = check_models(deaf, control.opinion)
    assert "rests on its name and on the token ids of the prompts alone" in said
    (block,) = audit_blocks(deaf, control, method=None)
    assert block.notes == (said,)
    assert audit([block], family=FAMILY).unavailable[-1] == said
    greedy = Control(control.engine, plan(4, sampling=Sampling(temperature=0), max_tokens=6))
    assert audit_greedy(greedy_texts(deaf, greedy)).unavailable == (said,)


def test_prompts_that_failed_in_either_are_left_out_of_both(simulate):
    _, tested = answered(simulate)
    broken = replace(tested, records=(replace(tested.records[0], error="HTTP 500"), *tested.records[1:]))
    (block,) = audit_blocks(broken, Control(simulate(SPECS["baseline"]), plan(4, max_tokens=6)), method=None)
    assert [text.prompt_id for text in block.tested] == ["p1", "p2", "p3"]
    assert [text.prompt_id for text in block.control] == ["p1", "p2", "p3"]
    failed = replace(tested, records=tuple(replace(record, error="HTTP 500") for record in tested.records))
    with pytest.raises(MeasurementError, match="no prompt was answered by both engines"):
        next(audit_blocks(failed, Control(simulate(SPECS["baseline"]), plan(4, max_tokens=6)), method=None))


def test_an_engine_that_is_gone_is_said_to_be(simulate):
    engine = simulate(SPECS["baseline"])
    engine.close()
    with pytest.raises(MeasurementError, match="cannot audit: all 2 requests failed, the first with "):
        sample(engine, plan(2), range(2))


def test_greedy_texts_of_a_lossless_engine_do_not_part(simulate):
    asked = plan(12, sampling=Sampling(temperature=0), max_tokens=30)
    texts = greedy_texts(simulate(SPECS["draft_model"]), Control(simulate(SPECS["baseline"]), asked))
    assert texts.partings == {TESTED: (), REPEAT: (), OTHER_BATCH: ()}
    assert len(texts.prompts) == 12
    assert audit_greedy(texts).verdict == "no fault found"


def test_where_greedy_texts_part_the_gap_is_the_models(simulate):
    """The engine under test gives other texts from the fourth token on."""
    asked = plan(12, sampling=Sampling(temperature=0), max_tokens=30)
    baseline, model = simulate(SPECS["baseline"]), Model(Simulation())
    true = sample_all(baseline, asked)
    other = [(record.output_token_ids[3] + 1) % 95 for record in true]
    wrong = tuple(
        replace(r, output_token_ids=(*r.output_token_ids[:3], token, *r.output_token_ids[4:]))
        for r, token in zip(true, other, strict=True)
    )
    texts = greedy_texts(Sampled(engine=baseline.info, records=wrong), Control(baseline, asked))
    assert [parting.index for parting in texts.partings[TESTED]] == [3] * 12
    first, parting = true[0], texts.partings[TESTED][0]
    row = model.score([*first.prompt_token_ids, *first.output_token_ids])[len(first.prompt_token_ids) + 2]
    assert parting.gap == pytest.approx(row.max() - row[other[0]])
    assert audit_greedy(texts).verdict == "fault"


@pytest.mark.parametrize(
    ("a", "b", "index"),
    [((1, 2), (1, 2), None), ((1, 2), (1, 3), 1), ((1, 2), (1,), 1), ((), (), None), ((1,), (2,), 0)],
)
def test_first_difference(a, b, index):
    assert first_difference(a, b) == index
