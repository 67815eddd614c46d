"""The panel without a kernel or a page: controls set, state read back; bursts, languages, measuring here."""

import itertools
import json
import time
import types
from dataclasses import replace

import psutil
import pytest

import labkit
from labkit.config import Drafter
from labkit.errors import ConfigError, StoreError
from labkit.preflight.plan_check import PlanCheck
from labkit.records import Flag
from labkit.view import last_wins
from labkit.view.frames import HERE
from labkit.view.lab import Lab
from labkit.view.last_wins import LastWins
from labkit.view.measuring import cells_of
from labkit.view.panel import Panel, panel
from labkit.view.selection import Selection
from labkit.view.static_board import BOARD_MIME

RUN = labkit.recorded("drafters")


@pytest.fixture(scope="module")
def lab():
    return Lab(RUN)


@pytest.fixture
def shown(lab):
    return Panel(lab)


def titles(shown):
    return [chart["title"] for chart in shown._board.state["charts"]]


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
    assert "个提示" in shown._board.state["card"]


def test_a_panel_opened_in_chinese_stays_so(lab):
    opened = Panel(lab, language="zh")
    opened._controls["k"].value = 2
    assert titles(opened)[0].startswith("加速比")
    assert opened._measure._go.description == "在本机测量"


def test_a_language_that_labkit_does_not_speak():
    with pytest.raises(ConfigError, match="no language 'cn'; there are en, zh"):
        panel(RUN, language="cn")


def test_text_from_outside_is_escaped(sweep, store):
    evil = Drafter(method="ngram", name="<img src=x onerror=alert(1)>")
    card = Panel(Lab(store(sweep(drafters=(evil,)), drafters=(evil,))))._board.state["card"]
    assert "<img" not in card
    assert "&lt;img" in card


def test_a_name_from_outside_is_no_markup_for_plotly(sweep, store):
    evil = Drafter(method="ngram", name='<a href="//x">%{x}</a>')
    state = Panel(Lab(store(sweep(drafters=(evil,)), drafters=(evil,))))._board.state
    assert "<a href" not in json.dumps(state["charts"])
    assert "%{x}" not in json.dumps([chart for chart in state["charts"] if "data" in chart])


def test_what_is_wrong_with_a_cell_stands_on_the_card(sweep, store):
    def flagged(m):
        return replace(m, flags=(Flag(name="contaminated", reason="seen"), Flag(name="degenerate", reason="seen")))

    card = Panel(Lab(store([flagged(m) if m.cell.spec.k else m for m in sweep()])))._board.state["card"]
    assert "contaminated: the server generated more tokens than this client received" in card
    assert "outputs loop" not in card


def test_n_is_how_many_prompts_the_figure_rests_on(sweep, store):
    """One of six prompts failed in the drafted arm."""

    def one_failed(m):
        first, *others = m.records
        return replace(m, records=(replace(first, error="HTTP 500"), *others))

    card = Panel(Lab(store([one_failed(m) if m.cell.spec.k else m for m in sweep()])))._board.state["card"]
    assert "n = 5 prompts" in card


def test_no_prompt_of_a_workload_in_a_language_is_said(sweep, store):
    def spoken(m):
        known = {"code": "en", "sql": "zh"}
        return replace(m, records=tuple(replace(r, language=known[r.category]) for r in m.records))

    opened = Panel(Lab(store([spoken(m) for m in sweep()])))
    opened._controls["category"].value, opened._controls["language"].value = "code", "zh"
    assert "No prompt is of workload code in language zh; choose another." in opened._board.state["card"]


def test_a_baseline_that_is_missing_is_named(sweep, store):
    kept = [m for m in sweep() if m.cell.spec.k or m.cell.sampling.temperature == 0]
    opened = Panel(Lab(store(kept)))
    opened._controls["temperature"].value = 0.8
    assert "The baseline was not measured at T = 0.8, concurrency 1" in opened._board.state["card"]
    assert titles(opened)[3] == "time for 5 tokens (ms): –"


def test_a_drafter_that_failed_is_named_with_the_reason(sweep, store):
    run = store([m for m in sweep() if m.cell.spec.name != "draft"])
    failed = next(cell for cell in run.plan.cells() if cell.spec.name == "draft")
    run.save_failure(failed, "its tokenizer differs from the target's\nlog: …")
    opened = Panel(Lab(run))
    assert [label for label, _ in opened._controls["drafter"].options] == ["ngram (ngram)"]
    assert any("draft: its tokenizer differs" in getattr(child, "value", "") for child in opened.box.children)


def test_a_prediction_without_an_error_estimate_is_not_called_faster(sweep, store):
    opened = Panel(Lab(store(sweep(gains={("ngram", 2): 2.0, ("ngram", 4): 2.0}))))
    opened._controls["drafter"].value, opened._controls["k"].value = "ngram", 3
    assert "not proven (predicted" in opened._board.state["card"]


def test_an_error_of_any_kind_is_shown(shown, monkeypatch):
    monkeypatch.setattr(shown.lab, "answer", lambda at: {}["gone"])
    shown._controls["k"].value = 2
    assert "KeyError" in shown._board.state["card"]


def test_a_notebook_that_runs_headless_shows_the_board_that_needs_no_kernel(shown, monkeypatch):
    monkeypatch.setenv("LABKIT_HEADLESS", "1")
    shown._controls["k"].value = 2
    bundle = shown._repr_mimebundle_()
    stands = {
        a["name"]: a["values"][i] for a, i in zip(bundle[BOARD_MIME]["axes"], bundle[BOARD_MIME]["start"], strict=True)
    }
    assert (stands["drafter"], stands["k"]) == (shown.selection.drafter, 2)
    assert "application/vnd.jupyter.widget-view+json" not in bundle


# --- temperatures


def test_a_temperature_snaps_to_a_measured_one_unless_interpolation_is_on(sweep, store):
    lab = Lab(store(sweep()))
    at = Selection(drafter="ngram", k=2, temperature=0.3, concurrency=1)
    snapped = lab.answer(at)
    assert snapped.selection.temperature == 0
    between = lab.answer(replace(at, interpolate=True))
    assert between.selection.temperature == 0.3
    assert between.chosen["kind"] == "interpolated"
    cold, hot = (lab.answer(replace(at, temperature=t)).chosen["speedup"] for t in (0, 0.8))
    assert between.chosen["speedup"] == pytest.approx(cold + (hot - cold) * 0.375)
    assert any("Acceptance by position" in line for line in between.missing)


# --- bursts


class Loop:
    """An event loop whose clock stands still but for ``wait``: no busy machine stretches it."""

    def __init__(self):
        self.now, self._calls = 0.0, []

    def time(self):
        return self.now

    def call_at(self, when, work):
        handle = types.SimpleNamespace(when=when, work=work, cancel=lambda: self._calls.remove(handle))
        self._calls.append(handle)
        return handle

    def wait(self, seconds):
        end = self.now + seconds
        while due := [call for call in self._calls if call.when <= end]:
            first = min(due, key=lambda call: call.when)
            self._calls.remove(first)
            self.now = max(self.now, first.when)
            first.work()
        self.now = end


@pytest.fixture
def loop(monkeypatch):
    made = Loop()
    monkeypatch.setattr(last_wins.asyncio, "get_running_loop", lambda: made)
    return made


def test_a_burst_is_answered_twice_and_the_last_value_wins(loop):
    answers, at = [], {}
    soon = LastWins(lambda: answers.append(at["value"]))
    for at["value"] in range(1, 51):
        soon()
        loop.wait(0.004)
    loop.wait(last_wins.CALM + last_wins.LONGEST)
    assert len(answers) <= 2
    assert answers[-1] == 50


def test_a_long_burst_is_answered_now_and_then(loop):
    answers = []
    soon = LastWins(lambda: answers.append(loop.now))
    for _ in range(100):
        soon()
        loop.wait(0.02)
    gaps = [after - before for before, after in itertools.pairwise(answers)]
    assert max(gaps) <= last_wins.LONGEST + last_wins.CALM + 1e-9


def test_single_moves_are_answered_at_once(loop):
    answers = []
    soon = LastWins(lambda: answers.append(loop.now))
    for _ in range(3):
        soon()
        loop.wait(last_wins.CALM + 0.05)
    assert len(answers) == 3
    assert answers[0] == pytest.approx(last_wins.SOON)


# --- what preflight refuses


@pytest.fixture
def refusing(monkeypatch):
    """A panel on a recorded run whose draft would be refused."""
    said = ("tokenizer: 9 ids mean <other> tokens",)
    monkeypatch.setattr(PlanCheck, "refused", lambda self, spec: said if spec.name == "draft-2l" else ())
    return Panel(Lab(RUN))


def test_an_incompatible_drafter_is_marked_in_the_list_and_its_reason_stands_in_the_card(refusing):
    labels = {name: label for label, name in refusing._controls["drafter"].options}
    assert labels["draft-2l"].endswith("incompatible)")
    assert not [label for name, label in labels.items() if name != "draft-2l" and "incompatible" in label]
    assert "Incompatible" not in refusing._board.state["card"]
    refusing._controls["drafter"].value = "draft-2l"
    assert (
        "Incompatible, so it is not measured here. tokenizer: 9 ids mean &lt;other&gt;" in refusing._board.state["card"]
    )


def test_an_incompatible_drafter_is_not_measured_here(refusing):
    refusing._controls["drafter"].value = "draft-2l"
    refusing._measure.start()
    assert refusing._measure.job is None
    assert "preflight refuses this setting" in refusing._measure._said.value
    assert "--force" in refusing._measure._said.value


def test_an_incompatible_drafter_that_was_not_measured_is_named_with_the_reason(sweep, store, monkeypatch):
    monkeypatch.setattr(PlanCheck, "refused", lambda self, spec: ("tokenizer: 9",) if spec.name == "draft" else ())
    opened = Panel(Lab(store([m for m in sweep() if m.cell.spec.name != "draft"])))
    assert any("draft: tokenizer: 9" in getattr(child, "value", "") for child in opened.box.children)


def test_models_that_are_not_here_refuse_nothing(monkeypatch):
    def absent(self, spec):
        raise ConfigError("'demo' is not there yet")

    monkeypatch.setattr(PlanCheck, "refused", absent)
    shown = Panel(Lab(RUN))
    assert not any("incompatible" in label for label, _ in shown._controls["drafter"].options)


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


def begun(panel, stage):
    """The job of ``panel`` once it has come to ``stage``."""
    panel._measure.start()
    job, deadline = panel._measure.job, time.monotonic() + 60
    while not job.stage.startswith(stage):
        assert time.monotonic() < deadline
        assert not job.finished.wait(0.02)
    return job


def slow(panel):
    engine = panel.lab.plan.engine
    crawling = replace(engine, simulation=replace(engine.simulation, base=0.5))
    panel.lab.plan = replace(panel.lab.plan, engine=crawling)


@pytest.mark.parametrize("stage", ["starting", "measuring"])
def test_cancelling_keeps_nothing_and_leaves_no_engine(small, stage):
    before = {p.pid for p in psutil.Process().children(recursive=True)}
    slow(small)
    job = begun(small, stage)
    small._measure._stop.click()
    assert job.stage == "cancelling"
    assert job.wait(15), "a measurement would take a minute"
    assert small._measure.update()
    assert "cancelled; nothing was kept" in small._measure._said.value
    assert HERE not in {row["kind"] for row in small.lab.answer(small.selection).rows}
    assert {p.pid for p in psutil.Process().children(recursive=True)} <= before


def test_an_engine_that_dies_while_it_is_measured_is_a_sentence(small):
    before = {p.pid for p in psutil.Process().children(recursive=True)}
    slow(small)
    job = begun(small, "measuring")
    for child in psutil.Process().children(recursive=True):
        if child.pid not in before:
            child.kill()
    assert job.wait(60)
    assert small._measure.update()
    assert "the engine died" in small._measure._said.value
    assert not small._measure._go.disabled


def test_one_thing_is_measured_at_a_time_whatever_panel_asked(small):
    slow(small)
    job, again = begun(small, "starting"), Panel(small.lab)
    again._measure.start()
    assert "an earlier measurement is being cancelled" in again._measure._said.value
    assert job.wait(30)
    assert job.cancelled


def test_measured_is_what_is_shown_and_not_where_the_slider_stands(sweep, store):
    lab = Lab(store(sweep()))
    opened = Panel(lab)
    opened._controls["temperature"].value = 0.3
    cells = cells_of(lab, lab.snapped(opened.selection), block=lab.blocks)
    assert {cell.sampling.temperature for cell in cells} == {0.0}


def test_what_was_measured_on_some_prompts_is_shown_for_these(sweep, store):
    """And with the baseline it was measured with: another machine than the run's."""
    lab = Lab(store(sweep()))
    everywhere = lab.default()
    at = replace(everywhere, category="code")

    def here(m):
        times = 2 if not m.cell.spec.k else 1
        records = [replace(r, t_last=r.t_first + times * r.decode_seconds) for r in m.records if r.category == "code"]
        return replace(m, cell=replace(m.cell, block=9), records=tuple(records))

    spec = lab.spec(everywhere).label
    lab.add([here(m) for m in lab._measurements if m.cell.spec.label in ("baseline", spec)], at)
    everything, code = lab.answer(everywhere), lab.answer(at)
    assert (everything.chosen["kind"], code.chosen["kind"]) == ("measured", HERE)
    assert code.tpot_ms == pytest.approx(2 * everything.tpot_ms)
    assert code.chosen["speedup"] == pytest.approx(2 * everything.chosen["speedup"])
    assert code.positions[0]["kind"] == HERE


def test_measured_between_the_runs_temperatures_leaves_the_others_there(sweep, store):
    lab = Lab(store(sweep()))
    at = Selection(drafter="ngram", k=2, temperature=0.3, concurrency=1, interpolate=True)
    before = len(lab.answer(at).rows)
    warm = [
        replace(m, cell=replace(m.cell, block=9, sampling=replace(m.cell.sampling, temperature=0.3)))
        for m in lab._measurements
        if m.cell.spec.label in ("baseline", "ngram K=2") and m.cell.sampling.temperature == 0
    ]
    lab.add(warm, at)
    answer = lab.answer(at)
    assert answer.chosen["kind"] == HERE
    assert len(answer.rows) == before + 1


def test_an_engine_that_does_not_start_is_a_sentence(small):
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
