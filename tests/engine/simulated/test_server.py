"""The simulated server as clients see it: a process of its own, asked through ``openai`` and ``httpx``."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import openai
import pytest

from labkit.config import Drafter, EngineConfig, Simulation, SpecConfig
from labkit.engine.metrics_page import fetch_counters, fetch_page
from labkit.engine.process import free_port
from labkit.engine.simulated import start_simulated
from labkit.engine.simulated.batching import step_seconds
from labkit.engine.simulated.cache import PrefixCache
from labkit.engine.simulated.model import FAULTS as MODEL_FAULTS
from labkit.engine.simulated.model import Model, decode, encode
from labkit.engine.simulated.requests import Refused, read_call
from labkit.engine.simulated.server import FAULTS, main, read_faults
from labkit.engine.simulated.wire import spec_metrics
from labkit.errors import ConfigError
from labkit.records import Counters, EngineCounters

BASELINE = SpecConfig()
DRAFT = SpecConfig(drafter=Drafter(method="draft_model", model="d"), k=3)
FREE = {"base": 0.0, "per_token": 0.0, "draft_base": 0.0, "draft_per_token": 0.0}
STREAM = {"stream": True, "stream_options": {"include_usage": True, "continuous_usage_stats": True}}
IDS = {"return_token_ids": True}
MIN_P = "The min_p and logit_bias sampling parameters are not yet supported with speculative decoding."


@dataclass(frozen=True)
class Running:
    url: str
    process: subprocess.Popen[str]

    @property
    def http(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=20)

    def counters(self) -> Counters:
        return fetch_counters(self.url, "sim")

    def complete(self, **body: Any) -> httpx.Response:
        with self.http as http:
            return http.post("/v1/completions", json={"model": "sim", "prompt": "a prompt", "max_tokens": 20} | body)

    def chunks(self, *, route: str = "chat/completions", **body: Any) -> list[dict[str, Any]]:
        """The decoded events of one stream."""
        asked = {"model": "sim", "max_tokens": 24, "temperature": 0.8, **STREAM, **IDS} | body
        if route.startswith("chat"):
            asked |= {"messages": [{"role": "user", "content": "hello"}]}
        with self.http as http, http.stream("POST", f"/v1/{route}", json=asked) as response:
            lines = [line for line in response.iter_lines() if line.startswith("data: ")]
        assert lines.pop() == "data: [DONE]"
        return [json.loads(line[6:]) for line in lines]


@contextmanager
def serving(
    spec: SpecConfig = BASELINE, *, max_num_seqs: int = 64, faults: Sequence[str] = (), **simulation: Any
) -> Iterator[Running]:
    port = free_port()
    config = {
        "model": "sim",
        "simulation": asdict(Simulation(faults=tuple(faults), **FREE | simulation)),
        "spec": spec.for_vllm(),
        "max_num_seqs": max_num_seqs,
    }
    argv = [sys.executable, "-m", "labkit.engine.simulated.server", "--port", str(port), "--config", json.dumps(config)]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, text=True) as process:
        running = Running(f"http://127.0.0.1:{port}", process)
        try:
            wait_for(lambda: answers(running.url))
            yield running
        finally:
            process.terminate()


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health").is_success
    except httpx.ConnectError:
        return False


def wait_for(condition, *, seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture(scope="module")
def fast() -> Iterator[Running]:
    """Speculating, no time for a step."""
    with serving(DRAFT) as running:
        yield running


@pytest.fixture(scope="module")
def slow() -> Iterator[Running]:
    """The baseline, two places, 5 ms a step and 1 ms a token."""
    with serving(max_num_seqs=2, base=0.005, per_token=0.001) as running:
        yield running


# what a server tells about itself


def test_starts_as_an_engine_and_names_its_method(tmp_path: Path):
    config = EngineConfig(target="sim", kind="simulated", simulation=Simulation(**FREE))
    ngram = SpecConfig(drafter=Drafter(method="ngram"), k=4)
    with start_simulated(config, ngram, log_path=tmp_path / "log") as engine:
        assert (engine.info.model, engine.info.method, engine.info.k) == ("sim", "ngram", 4)
        expected = "speculative_config=SpeculativeConfig(method='ngram', model=None, num_spec_tokens=4)"
        assert expected in (tmp_path / "log").read_text()
    assert not answers(engine.url)


def test_facts(slow):
    with slow.http as http:
        assert http.get("/version").json()["version"].startswith("0.32")
        (card,) = http.get("/v1/models").json()["data"]
    assert {"id": "sim", "root": "sim", "max_model_len": 32768}.items() <= card.items()
    assert time.time() - 100 < card["created"] <= time.time()


def test_the_metrics_page_has_speculative_series_only_with_speculation(fast, slow):
    total = slow.counters().total
    assert (total.drafts, total.accepted_per_pos) == (None, None)
    assert "spec_decode" not in fetch_page(slow.url)
    assert fast.counters().max_position == 3
    page = fetch_page(fast.url)
    for name in ("num_drafts", "num_draft_tokens", "num_accepted_tokens"):
        assert f'vllm:spec_decode_{name}_total{{engine="0",model_name="sim"}}' in page
        assert f'vllm:spec_decode_{name}_created{{engine="0",model_name="sim"}}' in page


# answers


def test_openai_client_reads_a_chat(fast):
    with openai.OpenAI(base_url=f"{fast.url}/v1", api_key="none", max_retries=0) as client:
        answer = client.chat.completions.create(
            model="sim", messages=[{"role": "user", "content": "hello"}], max_tokens=24, temperature=0.8, extra_body=IDS
        )
        (choice,) = answer.choices
        assert answer.usage.completion_tokens == len(choice.model_extra["token_ids"])
        assert choice.message.content == decode(choice.model_extra["token_ids"])
        assert decode(answer.model_extra["prompt_token_ids"]) == "<user>\nhello\n<assistant>\n"
        assert choice.finish_reason in ("stop", "length")
        assert answer.model_extra["metrics"]["speculative_decoding"]["num_spec_tokens"] == 3


def test_openai_client_reads_a_stream(fast):
    async def read() -> list[Any]:
        async with openai.AsyncOpenAI(base_url=f"{fast.url}/v1", api_key="none", max_retries=0) as client:
            asked = {"model": "sim", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 24}
            stream = await client.chat.completions.create(**asked, temperature=0.8, **STREAM, extra_body=IDS)
            return [chunk async for chunk in stream]

    opening, *middle, closing = asyncio.run(read())
    assert (opening.choices[0].delta.role, opening.choices[0].delta.content) == ("assistant", "")
    assert opening.usage.completion_tokens == 0
    assert decode(opening.model_extra["prompt_token_ids"]) == "<user>\nhello\n<assistant>\n"
    ids = [chunk.choices[0].model_extra["token_ids"] for chunk in middle]
    assert [chunk.choices[0].delta.content for chunk in middle] == [decode(few) for few in ids]
    assert [chunk.usage.completion_tokens for chunk in middle] == np.cumsum([len(few) for few in ids]).tolist()
    assert len(ids[0]) == 1  # the prefill's
    assert any(len(few) > 1 for few in ids)
    assert [chunk.choices[0].finish_reason for chunk in middle[:-1]] == [None] * (len(middle) - 1)
    assert middle[-1].choices[0].finish_reason in ("stop", "length")
    assert closing.choices == []
    assert closing.usage.completion_tokens == sum(len(few) for few in ids)


def test_streaming_changes_nothing_in_the_text(fast):
    (whole,) = fast.complete(temperature=0.8, seed=5, **IDS).json()["choices"]
    chunks = fast.chunks(route="completions", prompt="a prompt", max_tokens=20, seed=5)
    assert chunks[0]["choices"][0]["prompt_token_ids"] == whole["prompt_token_ids"] == encode("a prompt")
    choices = [chunk["choices"][0] for chunk in chunks[:-1]]
    assert [token for choice in choices for token in choice["token_ids"]] == whole["token_ids"]
    assert "".join(choice["text"] for choice in choices) == whole["text"]
    assert choices[-1]["finish_reason"] == whole["finish_reason"]
    assert choices[1]["prompt_token_ids"] is None


def test_a_stream_without_options_has_no_usage_and_no_ids(fast):
    chunks = fast.chunks(stream_options=None, return_token_ids=False)
    assert not any("usage" in chunk for chunk in chunks)
    assert chunks[1]["choices"][0]["token_ids"] is None
    assert chunks[-1]["choices"][0]["finish_reason"]


def test_text_survives_the_json_that_is_put_together_by_hand(fast):
    asked = {"max_tokens": 800, "temperature": 2, "ignore_eos": True}
    (choice,) = fast.complete(**asked, **IDS).json()["choices"]
    assert choice["text"] == decode(choice["token_ids"])
    chunks = fast.chunks(route="completions", prompt="a prompt", **asked)
    assert "".join(chunk["choices"][0]["text"] for chunk in chunks[:-1]) == choice["text"]
    assert set('"\\\n') <= set(choice["text"])


def test_token_ids_of_a_text_are_the_same_prompt(fast):
    text, ids = (fast.complete(prompt=prompt, temperature=0.5) for prompt in ("SELECT", encode("SELECT")))
    assert text.json()["choices"] == ids.json()["choices"]


def test_prompt_logprobs_are_the_models(fast):
    prompt = encode("score this")
    (choice,) = fast.complete(prompt=prompt, max_tokens=1, prompt_logprobs=4).json()["choices"]
    first, *rest = choice["prompt_logprobs"]
    assert first is None
    for entry, row, actual in zip(rest, Model(Simulation()).score(prompt), prompt[1:], strict=True):
        best = row.argsort()[::-1]
        assert {int(token) for token in entry} == {actual, *best[:4].tolist()}
        for token, told in entry.items():
            assert told["logprob"] == pytest.approx(row[int(token)])
            assert best[told["rank"] - 1] == int(token)
            assert told["decoded_token"] == decode([int(token)]) or int(token) == 96


# speculation


def test_per_request_metrics_sum_to_the_counters(fast):
    before = fast.counters()
    streams = [fast.chunks(seed=seed, max_tokens=60)[-1]["metrics"]["speculative_decoding"] for seed in range(6)]
    total = fast.counters().since(before).total
    for told in streams:
        accepted, drafted = told["per_step_accepted"], told["per_step_drafted"]
        assert told == spec_metrics(drafted, accepted, 3)
    assert total.drafts == sum(told["num_spec_steps"] for told in streams)
    assert total.draft_tokens == 3 * total.drafts
    assert total.accepted_tokens == sum(sum(told["per_step_accepted"]) for told in streams) > 0
    at_least = [sum(a > i for told in streams for a in told["per_step_accepted"]) for i in range(3)]
    assert list(total.accepted_per_pos) == at_least
    assert total.broken_invariant(3) is None


def test_per_request_metrics_are_vllms():
    told = spec_metrics([3] * 10, [0] * 4 + [1] * 3 + [2] * 2 + [3], 3)
    assert told["acceptance_histogram"] == [4, 3, 2, 1]
    assert told["draft_acceptance_rate"] == pytest.approx(1 / 3)
    assert told["mean_acceptance_length"] == 2.0
    assert (told["num_spec_steps"], told["num_accepted_draft_tokens"], told["num_draft_tokens"]) == (10, 10, 30)
    nothing = spec_metrics([], [], 2)
    assert nothing["acceptance_histogram"] == [0, 0, 0]
    assert (nothing["mean_acceptance_length"], nothing["num_spec_steps"]) == (1.0, 0)
    assert "per_step_accepted" not in nothing


def test_the_baseline_has_no_per_request_metrics(slow):
    assert slow.complete(max_tokens=2).json()["metrics"] is None
    assert "metrics" not in slow.chunks(max_tokens=2)[-1]


# the engine


def test_texts_do_not_depend_on_batching_order_or_salt(fast):
    prompts = [f"prompt number {i}" for i in range(8)]
    alone = [fast.complete(prompt=prompt, temperature=0.8).json()["choices"][0]["text"] for prompt in prompts]

    async def together() -> list[str]:
        async with httpx.AsyncClient(base_url=fast.url) as http:
            asked = [{"prompt": p, "max_tokens": 20, "temperature": 0.8, "cache_salt": f"salt-{p}"} for p in prompts]
            got = await asyncio.gather(*(http.post("/v1/completions", json=one) for one in reversed(asked)))
        return [response.json()["choices"][0]["text"] for response in reversed(got)]

    assert asyncio.run(together()) == alone


def test_requests_beyond_the_places_wait_until_their_clients_leave(slow):
    def queue() -> tuple[int | None, int | None]:
        counters = slow.counters()
        return counters.running, counters.waiting

    async def crowd() -> None:
        async with httpx.AsyncClient(base_url=slow.url) as http:
            asked = {"prompt": "x", "max_tokens": 9999, "ignore_eos": True}
            requests = [asyncio.create_task(http.post("/v1/completions", json=asked)) for _ in range(5)]
            await asyncio.to_thread(wait_for, lambda: queue() == (2, 3))
            for request in requests:
                request.cancel()
            await asyncio.wait(requests)

    asyncio.run(crowd())
    wait_for(lambda: queue() == (0, 0))


def test_a_step_takes_its_time(slow):
    def seconds_per_step() -> float:
        asked = {"prompt": "x", "max_tokens": 31, "stream": True, "ignore_eos": True}
        with slow.http as http, http.stream("POST", "/v1/completions", json=asked) as response:
            times = [time.perf_counter() for line in response.iter_lines() if line.startswith("data: {")]
        return (times[-1] - times[0]) / 30

    # the best of some: a busy machine makes steps longer, nothing makes them shorter
    assert 0.9 * 0.006 < min(seconds_per_step() for _ in range(4)) < 1.5 * 0.006


@pytest.mark.parametrize(
    ("drafted", "seconds"),
    [
        ([0], 10 + 1),
        ([0, 0], 10 + 2),
        ([4, 4, 4], 10 + 3 * 5 + 7 + 0.5 * 4),  # base + per_token·B·(K+1) + draft_base + draft_per_token·K
        ([0, 2], 10 + 4 + 7 + 0.5 * 2),
    ],
)
def test_step_costs(drafted, seconds):
    costs = Simulation(base=10, per_token=1, draft_base=7, draft_per_token=0.5)
    assert step_seconds(costs, drafted) == pytest.approx(seconds)


def test_a_client_that_leaves_a_stream_frees_its_place(slow):
    asked = {"prompt": "x", "max_tokens": 9999, "ignore_eos": True, "stream": True}
    with slow.http as http, http.stream("POST", "/v1/completions", json=asked) as response:
        lines = response.iter_lines()
        next(lines)
        assert slow.counters().running == 1
    wait_for(lambda: slow.counters().running == 0)


def test_the_prefix_cache_counts_repeated_prompts(slow):
    prompt = "p" * 40

    def hits(**body: Any) -> tuple[int, int]:
        before = slow.counters()
        slow.complete(prompt=prompt, max_tokens=1, **body)
        total: EngineCounters = slow.counters().since(before).total
        return total.prefix_cache_queries, total.prefix_cache_hits

    assert [hits(), hits(), hits(cache_salt="a"), hits(cache_salt="b"), hits(cache_salt="a")] == [
        (40, 0), (40, 32), (40, 0), (40, 0), (40, 32)
    ]  # fmt: skip
    assert hits(prompt_logprobs=1) == (0, 0)


def test_prefix_cache():
    cache = PrefixCache(capacity=3)
    cache.store(range(40), None)
    assert cache.hits(range(40), None) == 32
    assert cache.hits(range(33), None) == 32
    assert cache.hits(range(32), None) == 16  # the last token is always computed
    assert cache.hits([*range(16), *range(20, 60)], None) == 16
    assert cache.hits(range(1, 40), None) == cache.hits(range(40), "salt") == 0
    cache.store(range(50, 90), None)  # four blocks for three places: the oldest goes
    assert cache.hits(range(50, 90), None) == 32
    assert cache.hits(range(40), None) < 32


# refusals


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"model": "other"}, 404, "The model `other` does not exist."),
        ({"min_p": 0.1}, 400, MIN_P),
        ({"logit_bias": {"5": 1}}, 400, MIN_P),
        ({"repetition_penalty": 1.05}, 400, "does not model repetition_penalty; got 1.05: leave it at 1"),
        ({"n": 2}, 400, "does not model n; got 2"),
        ({"stop": ["x"]}, 400, "does not model stop"),
        ({"temperature": -1}, 400, "temperature: Input should be greater than or equal to 0; got -1"),
        ({"top_p": 0}, 400, "top_p: Input should be greater than 0; got 0"),
        ({"max_tokens": 0}, 400, "max_tokens: Input should be greater than or equal to 1; got 0"),
        ({"prompt": ""}, 400, "Either prompt or prompt_embeds must be provided and non-empty."),
        ({"prompt": [5, 97]}, 400, "Token id 97 is out of vocabulary"),
        ({"prompt": "x" * 32768}, 400, "This model's maximum context length is 32768 tokens."),
        ({"prompt_logprobs": 21}, 400, "prompt_logprobs: Input should be less than or equal to 20; got 21"),
        ({"prompt_logprobs": 2, "stream": True}, 400, "`prompt_logprobs` are not available when `stream=True`."),
        ({"stream_options": {"include_usage": True}}, 400, "Stream options can only be defined when `stream=True`."),
        ({"cache_salt": "a/b"}, 400, "cache_salt: String should match pattern"),
    ],
)
def test_refusals(change, status, words):
    with pytest.raises(Refused) as refused:
        read_call({"model": "sim", "prompt": "x"} | change, chat=False, served="sim", speculating=True)
    assert refused.value.status == refused.value.body["error"]["code"] == status
    assert words in refused.value.body["error"]["message"]


def test_neutral_values_are_not_refused():
    body = {"model": "sim", "prompt": "x", "min_p": 0.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}
    body |= {"repetition_penalty": 1.0, "n": 1, "stop": None, "top_k": -1, "top_p": 1, "user": "anyone"}
    call = read_call(body, chat=False, served="sim", speculating=True)
    assert (call.request.temperature, call.request.top_k, call.request.max_tokens) == (1.0, 0, 16)


def test_what_is_asked_reaches_the_model():
    sampling = {"temperature": 0.3, "top_p": 0.9, "top_k": 7, "seed": 11, "ignore_eos": True}
    body = {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}], "cache_salt": "s", **sampling}
    call = read_call(body | {"max_tokens": 5, "max_completion_tokens": 6}, chat=True, served="sim", speculating=True)
    assert {name: getattr(call.request, name) for name in sampling} == sampling
    assert decode(call.request.prompt) == "<user>\nhi\n<assistant>\n"
    assert (call.request.max_tokens, call.cache_salt, call.stream) == (6, "s", False)
    open_ended = read_call(body, chat=True, served="sim", speculating=True).request
    assert open_ended.max_tokens + len(open_ended.prompt) == 32768


def test_refusals_reach_the_client(fast):
    with openai.OpenAI(base_url=f"{fast.url}/v1", api_key="none", max_retries=0) as client:
        with pytest.raises(openai.NotFoundError, match="The model `other` does not exist"):
            client.completions.create(model="other", prompt="x")
        with pytest.raises(openai.BadRequestError, match="not yet supported with speculative decoding"):
            client.completions.create(model="sim", prompt="x", extra_body={"min_p": 0.2})
    with fast.http as http:
        assert http.post("/v1/completions", content=b"{").status_code == 400
        assert "expected a JSON object" in http.post("/v1/completions", json=[1]).json()["error"]["message"]
        assert http.post("/v1/chat/completions", json={"messages": []}).status_code == 400


# faults


def test_dies_after_n_requests():
    with serving(faults=["die_after:2"]) as running:
        assert [running.complete().status_code for _ in range(2)] == [200, 200]
        assert running.process.wait(timeout=5) == -signal.SIGKILL
        with pytest.raises(httpx.TransportError):
            running.complete()


def test_faults_of_streams():
    with serving(faults=["error_mid_stream", "no_usage", "keepalive"]) as running:
        streams = [running.chunks(ignore_eos=True) for _ in range(5)]
        for whole in streams[:4]:
            assert whole[-1]["choices"][0]["finish_reason"] == "length"
            assert not any("usage" in chunk for chunk in whole)
        *before, error = streams[4]
        assert len(before) == 1 + 3  # the role and three tokens
        assert error["error"]["code"] == 500
        assert "planted" in error["error"]["message"]
        assert running.counters().running == 0
        with running.http as http:
            text = http.post("/v1/completions", json={"prompt": "x", "max_tokens": 3, "stream": True}).text
        assert text.count(": ping\n\n") == 3


def test_faults_of_counts_and_reasoning():
    with serving(DRAFT, faults=["extra_load", "stuck_running", "no_spec_metrics", "reasoning"]) as running:
        assert running.counters().running == 0
        deltas = [chunk["choices"][0] for chunk in running.chunks(max_tokens=60, ignore_eos=True)[1:-1]]
        thought = [len(one["token_ids"]) for one in deltas if "reasoning" in one["delta"]]
        assert 20 <= sum(thought) < 24
        assert "content" in deltas[-1]["delta"]
        counters = running.counters()
        assert counters.total.generation_tokens == 66
        assert counters.running == 1
        assert counters.max_position is None


def test_model_faults_pass_through(fast):
    asked = {"max_tokens": 200, "temperature": 1.0, "ignore_eos": True}
    with serving(DRAFT, faults=["acceptance"]) as running:
        assert running.complete(**asked).json()["choices"] != fast.complete(**asked).json()["choices"]


def test_slow_start():
    started = time.monotonic()
    with serving(faults=["slow_start:0.6"]):
        assert time.monotonic() - started > 0.6


def started_in_process(*faults: str, **config: Any) -> int:
    simulation = asdict(Simulation(faults=faults))
    return main(["--port", "0", "--config", json.dumps({"model": "sim", "simulation": simulation} | config)])


def test_refuse_start():
    with pytest.raises(RuntimeError, match="Engine core initialization failed"):
        started_in_process("refuse_start")


@pytest.mark.parametrize(
    ("faults", "config", "words"),
    [
        (("keepalives",), {}, "unknown fault 'keepalives'; known: temperature, .*did you mean 'keepalive'?"),
        (("die_after",), {}, "die_after takes a number"),
        (("die_after:x",), {}, "'x' is no number"),
        (("reasoning:2",), {}, "reasoning takes no number"),
        ((), {"spec": {"method": "suffix", "num_speculative_tokens": 2}}, "does not model method 'suffix'"),
        ((), {"models": "x"}, "unknown key 'models'"),
    ],
)
def test_a_config_that_is_not_right_ends_the_start(faults, config, words, capsys):
    assert started_in_process(*faults, **config) == 1
    with pytest.raises(ConfigError, match=words):
        raise ConfigError(capsys.readouterr().out)


def test_every_fault_has_a_name_and_a_meaning():
    assert not FAULTS.keys() & MODEL_FAULTS.keys()
    assert read_faults(["die_after:3", "temperature"]) == {"die_after": 3.0, "temperature": None}
