"""Cells of several engines measured at once, their prompts in turn."""

import asyncio
import time
from itertools import pairwise

import pytest

from labkit.config import Drafter
from labkit.errors import EngineError
from labkit.measure import sweep as sweep_module
from labkit.measure import turns
from labkit.measure.client import Client
from labkit.measure.sweep import sweep
from labkit.measure.turns import Turns
from labkit.plan import Extra
from tests.measure.test_sweep import children, essence, plan

TOGETHER = {"together": True, "concurrencies": (1,)}


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Simulated engines have no threads that spin."""
    monkeypatch.setattr(turns, "SETTLE", 0.0)


@pytest.fixture
def asked(monkeypatch):
    """Which server each request went to, in order; one at a time."""
    order, running = [], []
    ask = Client.ask

    async def noted(self, *args, **options):
        assert not running, "two requests at once"
        running.append(self)
        order.append(self)
        try:
            return await ask(self, *args, **options)
        finally:
            running.remove(self)

    monkeypatch.setattr(Client, "ask", noted)
    return order


def test_who_waits_longest_has_the_next_turn():
    order = []

    async def engine(name, requests):
        for _ in range(requests):
            async with turn.mine():
                order.append(name)
                await asyncio.sleep(0)

    async def all_of_them():
        await asyncio.gather(engine("a", 3), engine("b", 4), engine("c", 3))

    turn = Turns([])
    asyncio.run(all_of_them())
    assert "".join(order) == "abcabcabcb"


def test_the_tokens_are_those_of_engines_that_run_alone(tmp_path, asked):
    together = sweep(plan(**TOGETHER), root=tmp_path / "together")
    assert len({id(client) for client in asked}) == 2 * 3, "of each engine one a temperature"
    measured = [client for i, client in enumerate(asked) if asked[i:].count(client) <= 3]
    assert len(measured) == 6 * 3, "after the warm-up"
    assert all(one is not other for one, other in pairwise(measured)), "nobody twice in a row"
    alone = sweep(plan(concurrencies=(1,)), root=tmp_path / "alone")
    assert essence(together) == essence(alone)
    assert not [flag.name for m in together.measurements() for flag in m.flags if flag.name == "contaminated"]


def test_the_time_of_others_is_not_the_time_of_a_cell(tmp_path):
    begun = time.monotonic()
    measured = sweep(plan(**TOGETHER), root=tmp_path).measurements()
    assert all(m.wall_seconds > sum(r.decode_seconds for r in m.records) > 0 for m in measured)
    assert sum(m.wall_seconds for m in measured) < time.monotonic() - begun


def test_an_engine_that_does_not_start_fails_alone_and_resume_measures_it(tmp_path, monkeypatch):
    launch, before = sweep_module.launch, children()

    def not_ngram(config, spec, **options):
        if spec.method == "ngram":
            raise EngineError("no ngram today")
        return launch(config, spec, **options)

    monkeypatch.setattr(sweep_module, "launch", not_ngram)
    run = sweep(plan(**TOGETHER), out=tmp_path / "run")
    assert len(run.measurements()) == 4
    assert set(run.failures().values()) == {"no ngram today"}
    monkeypatch.setattr(sweep_module, "launch", launch)
    resumed = sweep(plan(**TOGETHER), out=tmp_path / "run", resume=True)
    assert (len(resumed.measurements()), resumed.failures()) == (6, {})
    assert children() <= before


def test_an_engine_that_dies_leaves_the_others_alone(tmp_path):
    """Every engine dies at its third request: all cells fail, each with its own cause, and the sweep ends."""
    before = children()
    run = sweep(plan(faults=("die_after:2",), **TOGETHER), root=tmp_path)
    assert run.measurements() == []
    assert len(run.failures()) == 6
    assert all("died" in cause for cause in run.failures().values())
    assert children() <= before


def test_fewer_prompts_take_part_as_long_as_they_last(tmp_path, asked):
    run = sweep(
        plan(
            **TOGETHER, drafters=(Drafter(method="ngram"),), temperatures=(0.0,), also=(Extra(k=(1,), per_category=1),)
        ),
        root=tmp_path,
    )
    assert sorted(len(m.records) for m in run.measurements()) == [1, 3, 3]
