"""Does labkit's client slow a server down?

    python benchmarks/client_overhead.py [--pairs 5] [--part vllm|limit]

``vllm``: output tokens per second of one real vLLM server (the demo target, 64 concurrent requests) as seen
by labkit's client over those of ``vllm bench serve``, interleaved pairs in one session; wanted: ≥ 0.98.

``limit``: a simulated server that sends one token a chunk at a set pace, read by labkit's client and by a
reader that only drains the sockets; the highest pace at which labkit keeps ≥ 98 % of the drain is what
``labkit.measure.flags.CLIENT_CHUNK_LIMIT`` may be. Wanted: ≥ 3,000 chunks/s on one core.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import aiohttp

from labkit.config import EngineConfig, Simulation, SpecConfig
from labkit.drafters.demo import locate
from labkit.engine import Engine, launch
from labkit.importers import Prompt
from labkit.measure.client import Client

USERS = 64
PROMPTS = [f"Write a short note about the number {i}." for i in range(USERS)]
BENCH = """
import argparse
from vllm.benchmarks.serve import add_cli_args, main
parser = argparse.ArgumentParser()
add_cli_args(parser)
main(parser.parse_args())
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--pairs", type=int, default=5)
    options.add_argument("--part", choices=["vllm", "limit"])
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if asked.part in (None, "limit"):
            limit(Path(folder), asked.pairs)
        if asked.part in (None, "vllm"):
            against_bench_serve(Path(folder), asked.pairs)


def against_bench_serve(folder: Path, pairs: int, *, tokens: int = 48) -> None:
    dataset = folder / "prompts.jsonl"
    dataset.write_text("".join(json.dumps({"prompt": text}) + "\n" for text in PROMPTS))
    config = EngineConfig(target="demo", max_num_seqs=USERS)
    with launch(config, SpecConfig(), log_path=folder / "vllm.log") as engine:
        labkit_rate(engine, tokens), bench_rate(engine, dataset, folder, tokens)  # warm both
        ratios = []
        for number in range(pairs):
            arms: list[Callable[[], float]] = [
                lambda: labkit_rate(engine, tokens),
                lambda: bench_rate(engine, dataset, folder, tokens),
            ]
            order = arms if number % 2 == 0 else arms[::-1]
            measured = [arm() for arm in order]
            ours, theirs = measured if number % 2 == 0 else measured[::-1]
            ratios.append(ours / theirs)
            rates = f"labkit {ours:.1f} tok/s, vllm bench serve {theirs:.1f} tok/s"
            print(f"pair {number + 1}: {rates}, ratio {ratios[-1]:.4f}", flush=True)
    spread = f"min {min(ratios):.4f}, max {max(ratios):.4f}"
    print(f"ratio: median {statistics.median(ratios):.4f}, {spread}, n = {pairs} pairs")


def labkit_rate(engine: Engine, tokens: int) -> float:
    """Output tokens per second over the whole batch, as ``vllm bench serve`` counts them: the client is
    made, and has sent a first request, before the clock starts."""

    async def batch() -> float:
        async with Client(engine.url, engine.info.model) as client:
            await ask(client, "hello", 2)
            start = time.perf_counter()
            records = await asyncio.gather(*(ask(client, text, tokens) for text in PROMPTS))
            seconds = time.perf_counter() - start
        assert {record.output_tokens for record in records} == {tokens}, records[0].error
        return sum(record.output_tokens for record in records) / seconds

    return asyncio.run(batch())


async def ask(client: Client, text: str, tokens: int):
    messages = [{"role": "user", "content": text}]
    prompt = Prompt(id=text, category="note", language="en", messages=tuple(messages))
    sampling = {"temperature": 0.0, "ignore_eos": True}
    return await client.ask(prompt, messages, sampling=sampling, max_tokens=tokens, cache_salt=str(time.time_ns()))


def bench_rate(engine: Engine, dataset: Path, folder: Path, tokens: int) -> float:
    argv = [
        sys.executable, "-c", BENCH, "--backend", "openai-chat", "--endpoint", "/v1/chat/completions",
        "--base-url", engine.url, "--model", engine.info.model, "--tokenizer", locate("demo"),
        "--dataset-name", "custom", "--dataset-path", str(dataset), "--skip-chat-template", "--disable-shuffle",
        "--custom-output-len", str(tokens), "--num-prompts", str(USERS), "--max-concurrency", str(USERS),
        "--ignore-eos", "--temperature", "0", "--disable-tqdm", "--save-result", "--result-dir", str(folder),
        "--result-filename", "bench.json",
    ]  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"vllm bench serve failed:\n{done.stderr[-2000:]}")
    result = json.loads((folder / "bench.json").read_text())
    assert result["total_output_tokens"] == USERS * tokens, result["total_output_tokens"]  # the same work as ours
    return result["output_throughput"]


def limit(folder: Path, pairs: int, *, seconds: float = 6.0) -> None:
    kept = 0
    for pace in (2000, 4000, 6000, 8000, 10_000, 12_000):
        tokens = int(pace * seconds / USERS)
        free = Simulation(base=USERS / pace, per_token=0.0, draft_base=0.0, draft_per_token=0.0)
        config = EngineConfig(target="markov", kind="simulated", simulation=free, max_num_seqs=USERS)
        with launch(config, SpecConfig(), log_path=folder / "simulated.log") as engine:
            drain_rate(engine, tokens), labkit_rate(engine, tokens)
            rates = [(labkit_rate(engine, tokens), drain_rate(engine, tokens)) for _ in range(pairs)]
        ratio = statistics.median(ours / drain for ours, drain in rates)
        drained = statistics.median(drain for _, drain in rates)
        print(f"pace {pace:6d}: drained {drained:8.0f} chunks/s, labkit {ratio:.3f} of it, n = {pairs} pairs")
        kept = max(kept, int(drained)) if ratio >= 0.98 else kept
    print(f"labkit keeps 98 % of a drain up to {kept} chunks/s")


def drain_rate(engine: Engine, tokens: int) -> float:
    """What the same requests give a reader that parses nothing; one token a chunk by construction."""

    async def drain(session: aiohttp.ClientSession, text: str) -> int:
        body = {"model": engine.info.model, "messages": [{"role": "user", "content": text}], "max_tokens": tokens}
        body |= {"stream": True, "temperature": 0.0, "ignore_eos": True, "return_token_ids": True}
        async with session.post(f"{engine.url}/v1/chat/completions", json=body) as response:
            response.raise_for_status()
            async for _ in response.content.iter_any():
                pass
        return tokens

    async def batch() -> float:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            await drain(session, "hello")
            start = time.perf_counter()
            total = sum(await asyncio.gather(*(drain(session, text) for text in PROMPTS)))
            return total / (time.perf_counter() - start)

    return asyncio.run(batch())


if __name__ == "__main__":
    main()
