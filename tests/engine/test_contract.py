"""What every engine does, on the simulated twin and on vLLM: the same tests."""

import httpx
import pytest

from labkit.config import EngineConfig, SpecConfig
from labkit.engine import check, launch
from labkit.engine.metrics_page import fetch_counters
from labkit.engine.remote import RemoteEngine
from labkit.errors import ConfigError, EngineError
from labkit.measure.client import Client
from labkit.measure.loop import run_sync
from tests.conftest import DRAFT, NGRAM, SPECS, on_vllm


def ask(engine, workload, count=3, **sampling):
    async def go():
        async with Client(engine.url, engine.info.model, deadline=120) as client:
            return [
                await client.ask(p, list(p.messages), sampling={"temperature": 0.0, **sampling}, max_tokens=16)
                for p in workload.prompts[:count]
            ]

    return run_sync(go())


def check_engine(engine, spec, workload):
    """The contract: facts, streaming with token ids and usage, per-step arrays that equal the counters."""
    assert engine.alive()
    assert (engine.info.method, engine.info.k) == (spec.method, spec.k)
    before = fetch_counters(engine.url, engine.info.model)
    records = ask(engine, workload)
    for record in records:
        assert record.error is None
        assert record.output_tokens == len(record.output_token_ids) == sum(record.chunk_tokens) <= 16
        assert record.prompt_tokens == len(record.prompt_token_ids)
        assert 0 < record.t_first <= record.t_last
    delta = fetch_counters(engine.url, engine.info.model).since(before).total
    assert delta.generation_tokens == sum(r.output_tokens for r in records)
    if spec.k:
        assert delta.accepted_tokens == sum(sum(r.per_step_accepted) for r in records)
        assert delta.draft_tokens == sum(sum(r.per_step_drafted) for r in records)
        assert delta.drafts == sum(len(r.per_step_accepted) for r in records)
        assert delta.broken_invariant(spec.k) is None
    else:
        assert delta.drafts is None
        assert all(r.per_step_accepted is None for r in records)


def score(engine):
    """``prompt_logprobs`` on token ids: a distribution per position, the token itself always in it."""
    body = {"model": engine.info.model, "prompt": [40, 41, 42, 43], "max_tokens": 1, "prompt_logprobs": 2}
    scores = httpx.post(f"{engine.url}/v1/completions", json=body, timeout=60).json()["choices"][0]["prompt_logprobs"]
    assert scores[0] is None
    for token, entry in zip((41, 42, 43), scores[1:], strict=True):
        assert str(token) in entry
        assert {"logprob", "rank"} <= entry[str(token)].keys()
        assert any(value["rank"] == 1 for value in entry.values())


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_simulated(simulate, workload, spec):
    engine = simulate(spec)
    check_engine(engine, spec, workload)
    score(engine)


@on_vllm("baseline", "ngram", "draft_model")
def test_vllm(vllm, workload):
    check_engine(vllm, vllm.info.requested, workload)
    score(vllm)


def attach(engine):
    remote = RemoteEngine(engine.url + "/v1/")
    assert remote.url == engine.url
    assert remote.info.k == engine.info.k
    assert remote.info.method == ("unknown" if engine.info.k else None)
    assert remote.info.model == engine.info.model
    with pytest.raises(ConfigError, match=f"it runs K = {engine.info.k}; the cell asks for ngram K=9"):
        RemoteEngine(engine.url, SpecConfig(drafter=NGRAM, k=9))
    remote.close()
    assert engine.alive(), "an attached server is never stopped"


def test_attach_to_simulated(simulate):
    attach(simulate())


@on_vllm("ngram")
def test_attach_to_vllm(vllm):
    attach(vllm)


def test_an_engine_that_fails_to_start_says_why(simulate):
    with pytest.raises(EngineError, match="ended before it was ready"):
        simulate(faults=("refuse_start",))


def test_an_engine_that_does_not_speculate_although_asked_is_refused(simulate):
    with pytest.raises(EngineError, match=r"the engine for ngram K=4 counts 0 positions, so it runs K = 0, not 4"):
        simulate(faults=("no_spec_metrics",))


@pytest.mark.engine
def test_vllm_that_fails_to_start_says_why(tmp_path):
    config = EngineConfig(target="demo", args=("--max-num-batched-tokens", "1"))
    with pytest.raises(EngineError, match=r"(?s)ended before it was ready.*max_num_batched_tokens"):
        launch(config, SpecConfig(), log_path=tmp_path / "log")


def test_what_is_wrong_with_a_request_is_found_before_anything_starts(tmp_path):
    with pytest.raises(ConfigError, match="no URL for 'ngram K=4' under 'urls'; given: baseline"):
        check(EngineConfig(target="x", kind="remote", urls={"baseline": "http://h"}), [SPECS["ngram"]])
    with pytest.raises(ConfigError, match="is no URL; expected http://host:port"):
        RemoteEngine("localhost:8000")
    with pytest.raises(EngineError, match="does not answer as a vLLM server"):
        RemoteEngine("http://127.0.0.1:9")


@pytest.mark.engine
@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("./nowhere", "no target at './nowhere'; give a local folder, a hub id 'owner/name', or 'demo'"),
        (
            "demo/draft-9l",
            "no target 'demo/draft-9l'; the demo has demo, demo/draft-2l, demo/eagle3, demo/wrong-tokenizer",
        ),
    ],
)
def test_a_missing_model(target, message):
    with pytest.raises(ConfigError, match=message):
        check(EngineConfig(target=target), [SpecConfig()])
    with pytest.raises(ConfigError, match="no draft at '/no/such'"):
        check(
            EngineConfig(target="demo"), [SpecConfig(drafter=type(DRAFT)(method="draft_model", model="/no/such"), k=1)]
        )


def test_a_folder_without_a_model(tmp_path):
    from labkit.drafters.demo import locate

    with pytest.raises(ConfigError, match=r"has no config\.json"):
        locate(str(tmp_path), role="target")


def test_a_stale_server_on_the_port_is_not_taken_for_ours(simulate, tmp_path, monkeypatch):
    """The port is free when it is asked for and taken when the engine binds it."""
    stale = simulate()
    port = int(stale.url.rsplit(":", 1)[1])
    monkeypatch.setattr("labkit.engine.simulated.free_port", lambda wanted: port)
    with pytest.raises(EngineError, match=r"another server answers on port|ended before it was ready"):
        launch(EngineConfig(target="markov", kind="simulated"), SPECS["ngram"], log_path=tmp_path / "second.log")
    assert stale.alive()
