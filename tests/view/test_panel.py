"""The panel without a kernel or a page: controls set, state read back; bursts, languages, measuring here."""

import asyncio
import json

import pytest

import labkit
from labkit.errors import ConfigError, StoreError
from labkit.view import last_wins
from labkit.view.lab import HERE, Lab
from labkit.view.last_wins import LastWins
from labkit.view.panel import Panel, panel
from labkit.view.selection import Selection

RUN = labkit.recorded("drafters")


@pytest.fixture(scope="module")
def lab():
    return Lab(RUN)


@pytest.fixture
def shown(lab):
    return Panel(lab)


def titles(shown):
    return [chart["layout"]["title"]["text"] for chart in shown._board.state["charts"]]


# --- what cannot be opened


def test_a_run_with_a_baseline_only_says_so(sweep, store):
    alone = store(sweep(drafters=()), drafters=())
    with pytest.raises(ConfigError, match="holds the baseline only; add drafters and K to its plan"):
        panel(alone)


def test_an_empty_run_says_so(store):
    with pytest.raises(ConfigError, match=r"holds no measured cell yet; 'labkit sweep PLAN.yaml' measures some"):
        panel(store([]))


def test_no_run_of_that_name(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_RUNS", str(tmp_path))
    with pytest.raises(StoreError, match="no run at nowhere"):
        panel("nowhere")


# --- the controls


def test_it_begins_with_what_is_recommended(shown):
    best = labkit.tables.speedups(RUN.measurements()).sort_values("low").iloc[-1]
    assert (shown.selection.drafter, shown.selection.k) == (best["drafter"], best["k"])
    assert f"{best['speedup']:.2f}× [{best['low']:.2f}, {best['high']:.2f}]" in titles(shown)[0]


def test_a_move_redraws_everything_with_one_message(shown):
    seen = []
    shown._board.observe(seen.append, "state")
    for drafter in ("ngram", "eagle3"):
        shown._controls["drafter"].value = drafter
    shown._controls["k"].value = 2
    assert len(seen) == 3
    row = labkit.tables.speedups(RUN.measurements()).query("drafter == 'eagle3' and k == 2").iloc[0]
    assert f"{row['speedup']:.2f}×" in titles(shown)[0]
    assert f"{row['speedup']:.2f}× [{row['low']:.2f}, {row['high']:.2f}], faster" in shown._board.state["card"]


def test_the_state_is_plain_json_and_small(shown):
    text = json.dumps(shown._board.state, allow_nan=False)
    assert len(text) < 40_000


def test_a_filter_leaves_other_prompts_out(shown):
    shown._controls["category"].value = "code"
    own = labkit.tables.speedups(RUN.measurements(), by="category")
    best = shown.selection
    row = own[(own["category"] == "code") & (own["drafter"] == best.drafter) & (own["k"] == best.k)].iloc[0]
    assert f"{row['speedup']:.2f}×" in titles(shown)[0]


def test_what_is_not_known_is_said_and_nothing_is_drawn_for_it(shown):
    shown._controls["drafter"].value = "draft-2l"
    shown._controls["k"].value = 7
    assert titles(shown)[0] == "speedup: –"
    assert "not known" in shown._board.state["card"]
    assert "measure draft-2l K=7" in shown._board.state["card"]


def test_labels_in_chinese(shown):
    shown._controls["words"].value = "zh"
    assert shown._controls["drafter"].description == "草稿模型"
    assert titles(shown)[0].startswith("加速比")


def test_text_from_outside_is_escaped(sweep, store):
    from labkit.config import Drafter

    evil = Drafter(method="ngram", name="<img src=x onerror=alert(1)>")
    card = Panel(Lab(store(sweep(drafters=(evil,)), drafters=(evil,))))._board.state["card"]
    assert "<img" not in card
    assert "&lt;img" in card


def test_a_notebook_that_runs_headless_shows_a_sentence(shown, monkeypatch):
    monkeypatch.setenv("LABKIT_HEADLESS", "1")
    assert "open this notebook in JupyterLab" in shown._repr_mimebundle_()["text/plain"]


# --- temperatures


def test_a_temperature_snaps_to_a_measured_one_unless_interpolation_is_on(sweep, store):
    lab = Lab(store(sweep()))
    at = Selection(drafter="ngram", k=2, temperature=0.3, concurrency=1)
    snapped = lab.answer(at)
    assert snapped.selection.temperature == 0
    from dataclasses import replace

    between = lab.answer(replace(at, interpolate=True))
    assert between.selection.temperature == 0.3
    assert between.chosen["kind"] == "interpolated"
    cold, hot = (lab.answer(replace(at, temperature=t)).chosen["speedup"] for t in (0, 0.8))
    assert between.chosen["speedup"] == pytest.approx(cold + (hot - cold) * 0.375)
    assert any("Acceptance by position" in line for line in between.missing)


# --- bursts


def test_a_burst_is_answered_twice_and_the_last_value_wins():
    answers, at = [], {}

    async def burst():
        soon = LastWins(lambda: answers.append(at["value"]))
        for at["value"] in range(1, 51):
            soon()
            await asyncio.sleep(0.004)
        await asyncio.sleep(last_wins.CALM + last_wins.LONGEST + 0.1)

    asyncio.run(burst())
    assert len(answers) <= 2
    assert answers[-1] == 50


def test_single_moves_are_answered_at_once():
    answers = []

    async def moves():
        soon = LastWins(lambda: answers.append(1))
        for _ in range(3):
            soon()
            await asyncio.sleep(last_wins.CALM + 0.05)

    asyncio.run(moves())
    assert len(answers) == 3


# --- measuring here


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A panel on a run of the simulated engine."""
    from labkit.config import read
    from labkit.measure.sweep import sweep
    from labkit.plan import Plan

    monkeypatch.setenv("LABKIT_RUNS", str(tmp_path / "runs"))
    plan = {
        "engine": {"target": "markov", "kind": "simulated", "simulation": {"base": 0.001}},
        "drafters": [{"method": "ngram"}],
        "k": [3],
        "workload": {"categories": ["code"], "per_category": 5, "max_tokens": 16},
        "blocks": 1,
        "warmup": "engine",
    }
    return Panel(Lab(sweep(read(Plan, plan, where="test"))))


def test_measured_here_is_a_new_point_beside_the_run(small):
    small._measure.start()
    assert small._measure.job.wait(60)
    assert small._measure.update()
    assert "measured here in" in small._measure._said.value
    kinds = {row["kind"] for row in small.lab.answer(small.selection).rows}
    assert {HERE, "measured"} <= kinds
    assert small.lab.answer(small.selection).chosen["kind"] == HERE
    assert any(trace.get("marker", {}).get("symbol") == "star" for trace in small._board.state["charts"][0]["data"])


def test_cancelling_keeps_nothing_and_leaves_no_engine(small):
    import psutil

    before = {p.pid for p in psutil.Process().children(recursive=True)}
    small._measure.start()
    small._measure.job.cancel()
    assert small._measure.job.wait(60)
    assert small._measure.update()
    assert "cancelled; nothing was kept" in small._measure._said.value
    assert HERE not in {row["kind"] for row in small.lab.answer(small.selection).rows}
    assert {p.pid for p in psutil.Process().children(recursive=True)} <= before


def test_an_engine_that_does_not_start_is_a_sentence(small):
    from dataclasses import replace

    engine = small.lab.plan.engine
    broken = replace(engine, simulation=replace(engine.simulation, faults=("refuse_start",)))
    small.lab.plan = replace(small.lab.plan, engine=broken)
    small._measure.start()
    small._measure.job.wait(60)
    small._measure.update()
    assert "ended before it was ready" in small._measure._said.value
    assert not small._measure._go.disabled


def test_urls_come_in_pairs(small):
    small._measure._urls.value = "http://127.0.0.1:1"
    small._measure.start()
    assert "give two URLs, of baseline and ngram K=3; got 1" in small._measure._said.value
    assert small._measure.job is None
