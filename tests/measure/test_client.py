"""The stream reader on recorded streams, the client on the simulated server."""

import asyncio
import json

import pytest

from labkit.importers import Prompt
from labkit.measure.client import Client, StreamReader
from labkit.measure.loop import run_sync

PROMPT = Prompt(id="p", category="c", language="en", messages=({"role": "user", "content": "hi"},))
SAMPLING = {"temperature": 0.0}


def read(lines, times=None):
    """The record of a stream of lines; ``times`` are the clock's answers, one per data chunk."""
    ticks = iter(times or [i / 100 for i in range(1, 10_000)])
    reader = StreamReader(start=0.0, clock=lambda: next(ticks))

    async def feed():
        for line in lines:
            yield line

    asyncio.run(reader.read(feed()))
    return reader.record(PROMPT, turn=0, sampling=SAMPLING, sent=0.0)


def data(**chunk):
    return "data: " + json.dumps(chunk)


def delta(content, *, ids=None, finish=None, **more):
    choice = {"index": 0, "delta": {"content": content, **more}, "finish_reason": finish}
    return data(choices=[choice | ({"token_ids": ids} if ids is not None else {})])


def usage(prompt, completion):
    return data(choices=[], usage={"prompt_tokens": prompt, "completion_tokens": completion})


def test_chunks_are_not_tokens():
    """F4: TPOT is (t_last − t_first) / (N − n_first) = 11.25 ms; not 10 ms (N − 1), not 30 ms (chunk gap)."""
    chunks = [delta("a", ids=[1, 2]), delta("b", ids=[3, 4, 5]), delta("c", ids=[6]), delta("d", ids=[7, 8, 9, 10])]
    record = read([*chunks, usage(7, 10), "data: [DONE]"], times=[0.200, 0.230, 0.260, 0.290, 0.291])
    assert record.n_first == 2
    assert record.tpot == pytest.approx(0.01125)
    assert record.output_tokens / record.t_last == pytest.approx(34.48, abs=0.01)


def test_a_plain_stream():
    """F5: role-only chunk, usage null, a usage chunk without choices."""
    role = data(choices=[{"index": 0, "delta": {"role": "assistant", "content": ""}}], usage=None)
    record = read(
        [role, ": keep-alive", delta("Hel"), "", delta("lo"), delta("", finish="stop"), usage(7, 9), "data: [DONE]"]
    )
    assert record.error is None
    assert (record.prompt_tokens, record.output_tokens, record.text) == (7, 9, "Hello")
    assert record.t_first == pytest.approx(0.02)
    assert record.finish_reason == "stop"
    assert record.n_first is None, "this server does not say how many tokens a chunk holds"


def test_running_usage_tells_the_tokens_of_a_chunk():
    def chunk(text, n):
        return data(choices=[{"delta": {"content": text}}], usage={"prompt_tokens": 3, "completion_tokens": n})

    record = read([chunk("ab", 2), chunk("c", 3), usage(3, 3), "data: [DONE]"])
    assert record.chunk_tokens == (2, 1)
    assert record.n_first == 2


def test_text_without_usage_has_unknown_tokens():
    record = read([delta("x"), delta("y", finish="stop"), "data: [DONE]"])
    assert record.output_tokens is None
    assert record.tpot is None


def test_an_error_in_the_middle():
    record = read([delta("x", ids=[1]), data(error={"message": "engine dead", "code": 500}), delta("y", ids=[2])])
    assert record.error == "the server broke the stream off: engine dead"
    assert record.text == "x"


def test_a_stream_that_just_ends():
    assert read([delta("x", ids=[1])]).error == "the stream ended before the answer did"


def test_reasoning_comes_before_the_answer():
    record = read([delta(None, reasoning="hm", ids=[1]), delta("yes", ids=[2], finish="stop"), "data: [DONE]"])
    assert (record.t_first, record.t_answer) == (pytest.approx(0.01), pytest.approx(0.02))


def test_per_step_arrays_and_their_absence():
    def end(**spec):
        return data(
            choices=[], usage={"prompt_tokens": 1, "completion_tokens": 3}, metrics={"speculative_decoding": spec}
        )

    some = read(
        [delta("x", ids=[1]), end(num_spec_steps=1, per_step_accepted=[2], per_step_drafted=[4]), "data: [DONE]"]
    )
    assert (some.per_step_accepted, some.per_step_drafted) == ((2,), (4,))
    none_drafted = read([delta("x", ids=[1]), end(num_spec_steps=0), "data: [DONE]"])
    assert none_drafted.per_step_accepted == ()
    summary_only = read([delta("x", ids=[1]), end(num_spec_steps=5), "data: [DONE]"])
    assert summary_only.per_step_accepted is None
    assert read([delta("x", ids=[1]), usage(1, 1), "data: [DONE]"]).per_step_accepted is None


def ask(engine, *, model=None, max_tokens=12, sampling=SAMPLING):
    async def go():
        async with Client(engine.url, model or engine.info.model, deadline=20) as client:
            return await client.ask(PROMPT, list(PROMPT.messages), sampling=sampling, max_tokens=max_tokens)

    return run_sync(go())


@pytest.mark.parametrize("faults", [(), ("keepalive",), ("reasoning",)])
def test_a_request_to_a_server(simulate, faults):
    record = ask(simulate(faults=faults))
    assert record.error is None
    assert record.output_tokens == len(record.output_token_ids) == sum(record.chunk_tokens)
    assert record.per_step_drafted is not None


def test_an_error_of_the_server_keeps_its_words(simulate):
    engine = simulate()
    assert ask(engine, model="nobody").error.startswith("HTTP 404: ")
    refused = ask(engine, sampling={"temperature": 0.0, "min_p": 0.5})
    assert refused.error.startswith("HTTP 400: ")
    assert "min_p" in refused.error


def test_a_server_that_is_not_there_is_an_error_record():
    class Gone:
        url = "http://127.0.0.1:9"

        class info:
            model = "m"

    record = ask(Gone)
    assert record.error
    assert record.output_tokens is None
