"""Scores of a run: kept beside its cells; on a real engine they replay into the very steps it took."""

import numpy as np
import pytest

from labkit.analysis.acceptance import decode_steps
from labkit.analysis.bootstrap import draw_weights
from labkit.analysis.every_k import every_k
from labkit.analysis.pairs import by_cell
from labkit.analysis.replay_report import replay_traces
from labkit.config import Drafter, EngineConfig, SpecConfig, digest
from labkit.engine import launch
from labkit.errors import ConfigError
from labkit.measure.score import score_with_lookup, score_with_server
from labkit.measure.scored import can_be_scored, read_scores, score_run
from labkit.measure.sweep import sweep
from labkit.measure.traces import Trace, write_traces
from labkit.plan import Extra, Plan, WorkloadSpec
from tests.conftest import DRAFT, NGRAM

KS = (1, 2, 4, 8)


@pytest.mark.parametrize(("method", "can"), [("ngram", True), ("draft_model", True), ("eagle3", False)])
def test_which_drafters_an_output_is_enough_for(method, can):
    model = None if method == "ngram" else "a/b"
    assert can_be_scored(Drafter(method=method, model=model)) is can


def test_scores_lie_beside_the_cells(tmp_path):
    drafter = Drafter(method="ngram", name="look up/2")
    plan = Plan(engine=EngineConfig(target="t", kind="simulated"), drafters=(drafter,), k=(2,), temperatures=(0.0, 0.8))
    from labkit.store import Run

    run = Run.create(tmp_path / "run", plan, "feed")
    assert read_scores(run) == {}
    name = f"look-up-2-{digest('look up/2')}"  # another drafter's name may become the same text
    write_traces(run.folder / "scores" / f"{name}-T0.8.jsonl", [Trace(where="x", run_lengths=(1,), drafted=(2,))])
    ((key, traces),) = read_scores(run).items()
    assert key == ("look up/2", 0.8)
    assert traces[0].run_lengths == (1,)
    with pytest.raises(ConfigError, match="was simulated: its drafters are no models that could score"):
        score_run(run)


# --- on a real engine


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Two drafters at four K, at two of them sampled too, scored."""
    plan = Plan(
        engine=EngineConfig(target="demo"), drafters=(DRAFT, NGRAM), k=KS, temperatures=(0.0,),
        also=(Extra(k=(2, 8), temperatures=(0.8,)),), blocks=1, warmup="engine",
        workload=WorkloadSpec(per_category=2, max_tokens=28),
    )  # fmt: skip
    run = sweep(plan, root=tmp_path_factory.mktemp("runs"))
    run.check()
    score_run(run)
    return run


def records(run, drafter, k, temperature):
    cells = by_cell(run.measurements(), baseline=True)
    return next(own[0].records for key, own in cells.items() if (key[0], key[2], key[3]) == (drafter, k, temperature))


@pytest.mark.engine
def test_the_steps_of_every_k_are_the_engines(run, tmp_path):
    """On each arm's own outputs at T = 0; the end of an output cuts what its last step yields, not how many steps
    there are."""
    with launch(EngineConfig(target=DRAFT.model), SpecConfig(), log_path=tmp_path / "draft.log") as engine:
        for k in KS:
            own = records(run, "draft-2l", k, 0.0)
            found = replay_traces(score_with_server(engine, own), [k])
            served = sum(len(r.per_step_accepted) for r in own)
            assert found.steps.sum() == pytest.approx(served, rel=0.005), f"K = {k}"


@pytest.mark.engine
@pytest.mark.parametrize("k", KS)
def test_looked_up_drafts_are_the_engines(run, k):
    own = records(run, "ngram", k, 0.0)
    found = replay_traces(score_with_lookup(own, shortest=2, longest=4, max_model_len=2048), [k])
    assert found.draft_tokens.sum() == pytest.approx(sum(sum(r.per_step_drafted) for r in own), rel=0.005)
    assert found.steps.sum() == pytest.approx(sum(map(decode_steps, own)), rel=0.005)
    assert found.drafted_steps.sum() == pytest.approx(sum(len(r.per_step_drafted) for r in own), rel=0.005)


@pytest.mark.engine
@pytest.mark.parametrize("k", [2, 8])
def test_at_a_temperature_replay_and_engine_agree_within_both_errors(run, k):
    """Other texts in each arm: the 99.9 % interval of the difference in tokens per step holds 0."""
    own = records(run, "draft-2l", k, 0.8)
    replayed = next(
        e for e in every_k(run.measurements(), read_scores(run)) if (e.drafter, e.temperature) == ("draft-2l", 0.8)
    )
    assert replayed.source == "scored"
    positions, steps = (
        np.array(c, float) for c in zip(*((r.output_tokens - 1, decode_steps(r)) for r in own), strict=True)
    )
    served = (w := draw_weights(len(own), seed=1)) @ positions / (w @ steps)
    again = replayed.replay.tokens_per_step(draw_weights(len(replayed.prompts), seed=2))[:, k - 1]
    low, high = np.quantile(served - again, [0.0005, 0.9995])
    assert low <= 0 <= high


@pytest.mark.engine
def test_scoring_again_keeps_what_is_there(run, capsys):
    before = {path: path.stat().st_mtime_ns for path in score_run(run)}
    assert {path: path.stat().st_mtime_ns for path in score_run(run)} == before
    assert len(before) == 4
    assert "scoring" not in capsys.readouterr().out
