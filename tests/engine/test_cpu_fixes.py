"""The two faults of vLLM on a CPU: shown without the repairs, gone with them. Real vLLM, each case in a
process of its own because the repairs change a loaded module."""

import subprocess
import sys

import httpx
import pytest

from labkit.config import EngineConfig
from labkit.engine import launch
from labkit.errors import EngineError
from labkit.measure.client import Client
from labkit.measure.loop import run_sync
from tests.conftest import SPECS, on_vllm

pytestmark = pytest.mark.engine

PROBE = """
import torch
from labkit.engine import cpu_fixes
print("before", cpu_fixes.expand_is_broken(), cpu_fixes.top_k_is_broken())
cpu_fixes.register()
print("after", cpu_fixes.expand_is_broken(), cpu_fixes.top_k_is_broken())
from vllm.utils import cpu_triton_utils
for dtype, values in ((torch.float32, [0.5, 0.0, 0.9]), (torch.int32, [5, 0, 9])):
    out = torch.full((6,), -7, dtype=dtype)
    cpu_triton_utils._expand_kernel_impl(out, torch.tensor(values, dtype=dtype), torch.tensor([1, 1, 6]), 0, 1)
    print(out.tolist())
"""


def probe(**env):
    import os

    done = subprocess.run(
        [sys.executable, "-c", PROBE], env={**os.environ, **env}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.split("\n"), done.stderr


def test_the_repairs_in_a_process():
    """The middle request has no tokens; 0 (greedy) becomes 1; integers stay integers."""
    lines, log = probe()
    assert lines[0] == "before True True", "vLLM has mended these faults: the repairs can go"
    assert lines[1] == "after False False"
    assert (
        lines[2]
        == "[0.5, 0.8999999761581421, 0.8999999761581421, 0.8999999761581421, 0.8999999761581421, 0.8999999761581421]"
    )
    assert lines[3] == "[5, 9, 9, 9, 9, 9]"
    assert "labkit cpu fixes: sampling parameters reach the rejection sampler; top_k" in log


def test_switched_off():
    lines, log = probe(LABKIT_CPU_FIXES="0")
    assert lines[1] == "after True True"
    assert "switched off by LABKIT_CPU_FIXES=0" in log


def complete(engine, **sampling):
    body = {"model": engine.info.model, "prompt": "Once upon a time there was", "max_tokens": 24, **sampling}
    return httpx.post(f"{engine.url}/v1/completions", json=body, timeout=60)


@on_vllm("ngram")
def test_top_k_with_the_repair(vllm):
    assert "top_k" in vllm.info.cpu_fixes
    answer = complete(vllm, temperature=0.8, top_k=20)
    assert answer.status_code == 200
    assert answer.json()["usage"]["completion_tokens"] == 24
    assert vllm.alive()


@on_vllm("draft_model")
def test_a_near_zero_temperature_reaches_the_sampler(vllm, workload):
    """At T = 0.001 sampling is greedy in all but name, so the text must be that of T = 0; with the
    parameter lost on the way, it is not."""
    assert texts(vllm, workload, 0.001) == texts(vllm, workload, 0.0)


def texts(engine, workload, temperature):
    async def go():
        async with Client(engine.url, engine.info.model, deadline=120) as client:
            sampling = {"temperature": temperature}
            return [
                (await client.ask(p, list(p.messages), sampling=sampling, max_tokens=24)).text for p in workload.prompts
            ]

    return run_sync(go())


def test_without_the_repairs_the_faults_show(tmp_path, workload):
    """Same engine, repairs off: T = 0.001 gives other text than T = 0, and top_k kills the engine."""
    config = EngineConfig(target="demo", env={"LABKIT_CPU_FIXES": "0"})
    with launch(config, SPECS["draft_model"], log_path=tmp_path / "log") as engine:
        assert "switched off" in engine.info.cpu_fixes
        assert texts(engine, workload, 0.001) != texts(engine, workload, 0.0)
    with launch(config, SPECS["ngram"], log_path=tmp_path / "log2") as engine:
        with pytest.raises((httpx.HTTPError, EngineError)):
            complete(engine, temperature=0.8, top_k=20).raise_for_status()
        assert "numel() == 0" in engine.last_words() or not engine.alive()
