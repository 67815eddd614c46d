"""A plan carried out on simulated engines: order, resume, death, a full disk. Nothing finished is lost."""

import dataclasses
import subprocess

import psutil
import pytest

from labkit.config import Drafter, EngineConfig, Simulation
from labkit.errors import ConfigError, IncompatibleError, MeasurementError, StoreError
from labkit.measure.sweep import dry_run, open_or_sweep, sweep
from labkit.plan import Extra, Plan, WorkloadSpec
from labkit.preflight.plan_check import PlanCheck
from labkit.store import Run


def plan(faults=(), *, start_timeout=30.0, **changes):
    free = Simulation(base=0.0, per_token=0.0, draft_base=0.0, draft_per_token=0.0, faults=faults)
    asked = {
        "engine": EngineConfig(target="markov", kind="simulated", simulation=free, start_timeout=start_timeout),
        "drafters": (Drafter(method="ngram"), Drafter(method="draft_model", model="q")),
        "k": (3,),
        "temperatures": (0.0, 0.8),
        "concurrencies": (2,),
        "workload": WorkloadSpec(categories=("code",), per_category=3, max_tokens=24),
        "blocks": 1,
    }
    return Plan(**asked | changes)


def children():
    """Processes below this one that run; other tests' engines may be among them."""
    return {c for c in psutil.Process().children(recursive=True) if c.status() != psutil.STATUS_ZOMBIE}


def essence(run):
    """What must not depend on interruptions: tokens, per-step arrays and counters of every cell."""
    return {
        m.id: ([(r.prompt_id, r.output_token_ids, r.per_step_accepted) for r in m.records], m.counters.total)
        for m in run.measurements()
    }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The essence of one whole run of :func:`plan`."""
    return essence(sweep(plan(), root=tmp_path_factory.mktemp("undisturbed")))


def test_every_cell_is_measured_and_stored(tmp_path):
    seen = []
    run = sweep(plan(blocks=2, drafters=(Drafter(method="ngram"),)), root=tmp_path, progress=seen.append)
    assert len(run.measurements()) == 8
    assert run.missing() == []
    assert run.failures() == {}
    assert [p.done for p in seen] == list(range(1, 9))
    assert seen[-1].eta == 0
    run.check()


def test_the_same_seed_gives_the_same_tokens(tmp_path, undisturbed):
    assert essence(sweep(plan(), root=tmp_path)) == undisturbed


@pytest.mark.parametrize("kill_after", [1, 3])
def test_a_killed_engine_loses_only_its_cell_and_resume_completes_the_plan(tmp_path, undisturbed, kill_after):
    """SIGKILL in the middle of a sweep: what was finished stays, the cell carries the cause, resuming gives
    the tokens and counters of an undisturbed run, and no process is left."""
    before = children()

    def kill_engine(progress):
        if progress.done == kill_after and not progress.failure:
            for child in children() - before:
                if "labkit.engine.simulated" in " ".join(child.cmdline()) and "guard.py" not in " ".join(
                    child.cmdline()
                ):
                    child.kill()

    run = sweep(plan(), out=tmp_path / "run", progress=kill_engine)
    assert len(run.measurements()) == 5
    (cause,) = run.failures().values()
    assert "died" in cause or "gone" in cause
    with pytest.raises(
        MeasurementError, match=r"1 of 6 cells .* not measured; the others are kept; go on with --resume"
    ):
        run.check()
    resumed = sweep(plan(), out=tmp_path / "run", resume=True)
    assert essence(resumed) == undisturbed
    assert resumed.failures() == {}
    assert children() <= before


def test_an_engine_that_dies_by_itself_is_started_again_for_the_rest(tmp_path):
    run = sweep(plan(("die_after:20",), drafters=(), k=(), temperatures=(0.0, 0.2, 0.4, 0.6)), out=tmp_path / "run")
    assert run.measurements()
    assert run.failures()
    assert len(run.measurements()) + len(run.failures()) == 4


def test_an_engine_that_does_not_start_fails_its_cells_with_the_cause(tmp_path):
    run = sweep(plan(("refuse_start",)), out=tmp_path / "run")
    assert run.measurements() == []
    assert len(run.failures()) == 6
    assert all("ended before it was ready" in cause for cause in run.failures().values())


def test_run_folders_are_not_mixed_up(tmp_path):
    small = plan(drafters=(), k=(), temperatures=(0.0,))
    run = sweep(small, out=tmp_path / "run")
    with pytest.raises(StoreError, match="already holds a run of this plan; add --resume"):
        sweep(small, out=tmp_path / "run")
    with pytest.raises(StoreError, match="holds a run of another plan"):
        sweep(plan(), out=tmp_path / "run", resume=True)
    before = [p.stat().st_mtime_ns for p in run.folder.rglob("*.json")]
    sweep(small, out=tmp_path / "run", resume=True)
    assert [p.stat().st_mtime_ns for p in run.folder.rglob("*.json")] == before, (
        "a finished cell is never written again"
    )


def test_resume_finds_the_newest_run_of_the_plan(tmp_path):
    small = plan(drafters=(), k=(), temperatures=(0.0,))
    first = sweep(small, root=tmp_path)
    assert sweep(small, root=tmp_path, resume=True).folder == first.folder


def test_a_bad_request_starts_nothing(tmp_path):
    real = plan(engine=EngineConfig(target="/no/such/model"), drafters=(), k=())
    with pytest.raises(ConfigError, match=r"no target at '/no/such/model'|vLLM is not installed"):
        sweep(real, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_incompatible_engine_is_refused_unless_forced_and_its_cells_say_so(tmp_path, monkeypatch):
    """The engine is simulated, so what preflight would say of it is given."""
    refused = {"ngram K=3": ("tokenizer: 2 ids differ",)}
    monkeypatch.setattr(PlanCheck, "all_refused", lambda self: refused)
    with pytest.raises(IncompatibleError, match=r"1 of the plan's engines.*\n  ngram K=3: tokenizer: 2 ids differ"):
        sweep(plan(), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    run = sweep(plan(), out=tmp_path / "run", force=True)
    said = {m.cell.spec.label: m.flag("incompatible") for m in run.measurements()}
    assert {label for label, flag in said.items() if flag} == {"ngram K=3"}
    assert said["ngram K=3"].reason == "tokenizer: 2 ids differ"
    again = open_or_sweep(str(run.folder), plan())
    assert again.measurements()[0].flags == run.measurements()[0].flags


def test_a_full_disk_stops_the_sweep_and_leaves_nothing_half_written(tmp_path):
    """A real tmpfs with room for the first cells only."""
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)], capture_output=True).returncode:
        pytest.skip("mounting a tmpfs needs root")
    try:
        many = plan(temperatures=tuple(i / 10 for i in range(10)))
        with pytest.raises(MeasurementError, match="No space left on device; cells stored before are whole"):
            sweep(many, out=small / "run")
        run = Run.open(small / "run")
        stored = list((small / "run" / "cells").iterdir())
        assert len(run.measurements()) == len(stored) > 0
        assert all(path.suffix == ".json" for path in stored)
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_dry_run_lists_and_starts_nothing(tmp_path):
    todo = dry_run(plan(blocks=2))
    assert (len(todo["cells"]), todo["engine_starts"]) == (12, 6)
    assert {cell["prompts"] for cell in todo["cells"]} == {3}
    assert todo["max_tokens"] == 12 * 3 * 24
    assert list(tmp_path.iterdir()) == []


def test_extra_cells_send_their_own_prompts(tmp_path):
    few = Extra(k={"ngram": (2,)}, temperatures=(0.0,), per_category=1)
    run = sweep(plan(drafters=(Drafter(method="ngram"),), temperatures=(0.0,), also=(few,)), root=tmp_path)
    assert {m.cell.spec.label: len(m.records) for m in run.measurements()} == {
        "baseline": 3, "ngram K=3": 3, "ngram K=2": 1,
    }  # fmt: skip


def test_what_a_notebook_opens(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_RUNS", str(tmp_path))
    small = plan(drafters=(), k=(), temperatures=(0.0,))
    measured = open_or_sweep("latest", small)
    assert open_or_sweep("latest", small).folder == measured.folder
    assert open_or_sweep(str(measured.folder), small).folder == measured.folder
    with pytest.raises(StoreError, match="no run at"):
        open_or_sweep(str(tmp_path / "none"), small)


def test_seed_changes_the_order_and_not_the_cells():
    a, b = plan(blocks=3), dataclasses.replace(plan(blocks=3), seed=1)
    assert [c.label for c in a.cells()] != [c.label for c in b.cells()]
    assert sorted(c.label for c in a.cells()) == sorted(c.label for c in b.cells())


@pytest.mark.engine
def test_a_real_engine_killed_while_it_measures(tmp_path):
    """SIGKILL to vLLM's engine process alone; its front process would go on answering for a while."""
    engine = EngineConfig(target="demo", max_num_seqs=8)
    asked = plan(engine=engine, drafters=(), k=(), temperatures=(0.0, 0.8), warmup="engine")
    before = children()

    def kill_engine(progress):
        if progress.done == 1 and not progress.failure:
            (core,) = [c for c in children() - before if "EngineCore" in c.name() + " ".join(c.cmdline())]
            core.kill()

    run = sweep(asked, out=tmp_path / "run", progress=kill_engine)
    assert (len(run.measurements()), len(run.failures())) == (1, 1)
    resumed = sweep(asked, out=tmp_path / "run", resume=True)
    assert len(resumed.measurements()) == 2
    assert resumed.failures() == {}
    assert children() <= before
