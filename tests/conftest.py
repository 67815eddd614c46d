"""Shared fixtures: simulated engines on demand, one real engine per configuration for the session."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from labkit.config import Drafter, EngineConfig, Simulation, SpecConfig
from labkit.drafters.demo import locate
from labkit.engine import Engine, launch
from labkit.errors import ConfigError
from labkit.importers import Prompt
from labkit.workloads import Workload

NGRAM = Drafter(method="ngram", options={"prompt_lookup_max": 4, "prompt_lookup_min": 2})
DRAFT = Drafter(method="draft_model", model="demo/draft-2l")
SPECS = {
    "baseline": SpecConfig(),
    "ngram": SpecConfig(drafter=NGRAM, k=4),
    "draft_model": SpecConfig(drafter=DRAFT, k=2),
    "eagle3": SpecConfig(drafter=Drafter(method="eagle3", model="demo/eagle3"), k=3),
}


@pytest.hookimpl(trylast=True)  # after pytest has grouped the tests by engine
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say why engine and browser tests are left out where they cannot run; CI has both. Tests that start engines
    of their own come before those that share one: two engines on the same cores stall each other."""
    items.sort(key=lambda item: "vllm" in getattr(item, "fixturenames", ()))
    for item in items:
        if item.get_closest_marker("engine") and (reason := _no_engine()):
            item.add_marker(pytest.mark.skip(reason=reason))
        if item.get_closest_marker("browser") and not shutil.which("chromium"):
            item.add_marker(pytest.mark.skip(reason="no chromium on the PATH; Debian's package has it"))


def _no_engine() -> str | None:
    if importlib.util.find_spec("vllm") is None:
        return "vLLM is not installed here"
    return _no_demo()


def _no_demo() -> str | None:
    try:
        locate("demo")
    except ConfigError as error:
        return str(error)
    return None


@pytest.fixture
def demo_folder() -> Callable[[str], Path]:
    """``demo_folder(name)``: where a demo model lies; skips where none was made, which 'make test' does."""

    def folder(name: str) -> Path:
        if reason := _no_demo():
            pytest.skip(reason)
        return Path(locate(name))  # another one that is missing is a fault

    return folder


@pytest.fixture
def simulate(tmp_path: Path) -> Iterator[Callable[..., Engine]]:
    """Start simulated engines: ``simulate(spec, faults=("keepalive",), …)``; stopped after the test."""
    with ExitStack() as stack:

        def start(spec: SpecConfig = SPECS["ngram"], **settings: Any) -> Engine:
            cheap = {"base": 0.0, "per_token": 0.0, "draft_base": 0.0, "draft_per_token": 0.0}
            config = EngineConfig(target="markov", kind="simulated", simulation=Simulation(**cheap | settings))
            return stack.enter_context(launch(config, spec, log_path=tmp_path / f"engine-{spec.name}.log"))

        yield start


@pytest.fixture(scope="session")
def vllm(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A real engine, one per name of SPECS for the whole session: pytest groups the tests by this parameter,
    so that each starts once and no two run at a time."""
    log = tmp_path_factory.mktemp("logs") / f"{request.param}.log"
    with launch(EngineConfig(target="demo"), SPECS[request.param], log_path=log) as engine:
        yield engine


def on_vllm(*names: str) -> pytest.MarkDecorator:
    """Parametrise a test over real engines."""
    return pytest.mark.parametrize("vllm", [pytest.param(n, marks=pytest.mark.engine) for n in names], indirect=True)


@pytest.fixture
def workload() -> Workload:
    """Six short prompts of two categories."""
    texts = ["add two numbers", "reverse a list", "list open orders", "sum by day", "count users", "swap keys"]
    prompts = [
        Prompt(
            id=f"p{i}",
            category="code" if i % 2 else "text_to_sql",
            language="en",
            messages=({"role": "user", "content": text},),
        )
        for i, text in enumerate(texts)
    ]
    return Workload(name="six", prompts=tuple(prompts), max_tokens=32)
