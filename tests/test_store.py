"""Run folders: who may go on in one, what is named when a file is damaged, and that nothing finished is lost."""

import dataclasses
import errno
import gzip
import json
import os
from pathlib import Path

import pytest

from labkit.audited import Audited
from labkit.config import Drafter, EngineConfig
from labkit.errors import ConfigError, MeasurementError, StoreError
from labkit.plan import Plan
from labkit.records import Measurement, Provenance, RequestRecord
from labkit.store import Run, dump_measurement, latest_run, open_run, recorded

PLAN = Plan(
    engine=EngineConfig(target="t", kind="simulated"),
    drafters=(Drafter(method="ngram"),),
    k=(2, 3),
    temperatures=(0.0, 0.8),
    blocks=1,
)
CELLS = PLAN.cells()


def measured(cell, text="fine"):
    provenance = Provenance(
        labkit_version="0",
        engine_kind="simulated",
        model="m",
        engine_version=None,
        device="cpu",
        method_effective=None,
        k_effective=0,
        speculative_config=None,
        argv=(),
        workload_hash="h",
        started_at=0.0,
        engine_uptime=None,
    )
    record = RequestRecord(prompt_id="p", category="code", language="en", text=text)
    return Measurement(cell=cell, records=(record,), counters=None, provenance=provenance, wall_seconds=1.0)


@pytest.fixture
def run(tmp_path):
    return Run.create(tmp_path / "runs" / "one", PLAN, "hash")


def words(call, kind=StoreError):
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


# --- make, open, go on ----------------------------------------------------------------------------------


def test_a_new_run_holds_its_plan_and_opens_again(run):
    again = Run.open(run.folder)
    assert files(run.folder) == ["plan.json"]
    assert (again.plan, again.workload_hash, again.id) == (PLAN, "hash", "one")
    assert [cell.id for cell in again.plan.cells()] == [cell.id for cell in CELLS]


def test_an_empty_folder_may_become_a_run(tmp_path):
    assert Run.create(tmp_path, PLAN, "hash").missing() == CELLS


def test_going_on_keeps_what_is_there(run):
    run.save(measured(CELLS[0]))
    again = Run.create(run.folder, PLAN, "hash", resume=True)
    assert again.measurements() == [measured(CELLS[0])]
    assert again.missing() == CELLS[1:]


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize(
    ("plan", "workload_hash", "said"),
    [
        (PLAN.with_(blocks=2), "hash", ["a run of another plan", PLAN.id, PLAN.with_(blocks=2).id, "another --out"]),
        (PLAN, "other", ["the prompts have changed since", "another --out"]),
    ],
)
def test_another_plan_or_other_prompts_are_refused(run, plan, workload_hash, said, resume):
    message = words(lambda: Run.create(run.folder, plan, workload_hash, resume=resume))
    for part in (str(run.folder), *said):
        assert part in message
    assert Run.open(run.folder).plan == PLAN


def test_a_run_is_gone_on_with_only_when_asked(run):
    message = words(lambda: Run.create(run.folder, PLAN, "hash"))
    for part in (str(run.folder), "already holds a run of this plan", "--resume", "--out"):
        assert part in message


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    message = words(lambda: Run.create(tmp_path, PLAN, "hash", resume=True))
    for part in (str(tmp_path), "is not empty and holds no run", "--out"):
        assert part in message
    assert files(tmp_path) == ["thesis.tex"]


def test_a_missing_run_says_how_to_make_one(tmp_path):
    message = words(lambda: Run.open(tmp_path / "no"))
    for part in (str(tmp_path / "no"), "no plan.json", "labkit sweep PLAN.yaml"):
        assert part in message


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"plan": {"engine"',
        b"[]",
        b"null",
        b"{}",
        b'{"plan": {}, "workload_hash": "h"}',
        b'{"plan": {"engine": {"target": "t"}}}',
        b'{"plan": {"engine": {"target": "t"}, "from_the_future": 1}, "workload_hash": "h"}',
        b"\xff\xfe\x00",
    ],
)
def test_a_damaged_plan_is_named(run, content):
    (run.folder / "plan.json").write_bytes(content)
    assert str(run.folder / "plan.json") in words(lambda: Run.open(run.folder))


def test_a_damaged_plan_leaves_the_cells(run):
    run.save(measured(CELLS[0]))
    (run.folder / "plan.json").write_text("{")
    assert "the cells beside it are untouched" in words(lambda: Run.create(run.folder, PLAN, "hash", resume=True))
    assert f"cells/{CELLS[0].id}.json" in files(run.folder)


def test_a_file_is_no_run_folder(tmp_path):
    path = tmp_path / "file"
    path.write_text("x")
    assert str(path) in words(lambda: Run.open(path))


def test_a_plan_made_with_whole_numbers_keeps_its_cells_when_opened_again(tmp_path):
    """``temperatures=(0, 1)`` in Python comes back from JSON as (0.0, 1.0)."""
    plan = dataclasses.replace(PLAN, temperatures=(0, 1))
    run = Run.create(tmp_path / "r", plan, "hash")
    run.save(measured(plan.cells()[0]))
    assert len(Run.open(run.folder).measurements()) == 1
    assert len(Run.create(run.folder, plan, "hash", resume=True).missing()) == len(plan.cells()) - 1


# --- cells ----------------------------------------------------------------------------------------------


def test_cells_come_back_in_the_plans_order(run):
    for cell in reversed(CELLS):
        run.save(measured(cell))
    assert [m.cell for m in run.measurements()] == CELLS
    assert run.missing() == []


def test_what_is_missing(run):
    run.save(measured(CELLS[1]))
    assert run.missing() == [CELLS[0], *CELLS[2:]]
    assert run.has(CELLS[1])
    assert not run.has(CELLS[0])


def test_text_of_any_kind_survives(run):
    awkward = measured(CELLS[0], text='"\\ \u2028 \x00 你好 🙂')
    run.save(awkward)
    assert run.measurements() == [awkward]


@pytest.mark.parametrize("content", [b"", b"{}", b'{"cell": ', b"\xff", b"null"])
def test_a_damaged_cell_is_named_and_how_to_go_on(run, content):
    run.save(measured(CELLS[0]))
    path = run.folder / "cells" / f"{CELLS[0].id}.json"
    path.write_bytes(content)
    message = words(run.measurements)
    for part in (str(path), "is damaged", "remove it", "--resume"):
        assert part in message


def test_a_leftover_of_a_killed_process_is_no_cell(run):
    path = run.folder / "cells" / f"{CELLS[0].id}.tmp"
    path.parent.mkdir()
    path.write_text('{"cell": ')
    assert run.measurements() == []
    assert run.missing() == CELLS
    run.save(measured(CELLS[0]))
    assert run.measurements() == [measured(CELLS[0])]


def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture(params=["fsync", "rename"])
def full_disk(request, monkeypatch):
    """Switch on a disk that is full from now on, noticed when data is synced or when the file is renamed."""

    def fill():
        monkeypatch.setattr(*{"fsync": (os, "fsync"), "rename": (Path, "rename")}[request.param], full)

    return fill


def test_a_full_disk_leaves_nothing_half_written(run, full_disk):
    run.save(measured(CELLS[0]))
    before = files(run.folder)
    full_disk()
    message = words(lambda: run.save(measured(CELLS[1])), MeasurementError)
    for part in (f"{CELLS[1].id}.json", "No space left on device", "cells stored before are whole"):
        assert part in message
    assert files(run.folder) == before
    assert run.measurements() == [measured(CELLS[0])]


def test_a_full_disk_keeps_the_cell_that_would_be_replaced(run, full_disk):
    run.save(measured(CELLS[0], text="first"))
    full_disk()
    words(lambda: run.save(measured(CELLS[0], text="second")), MeasurementError)
    assert run.measurements() == [measured(CELLS[0], text="first")]


def test_a_cell_is_synced_before_it_has_its_name(run, monkeypatch):
    seen, sync = [], os.fsync

    def watched(number):
        seen.append((run.has(CELLS[0]), files(run.folder / "cells")))
        sync(number)

    monkeypatch.setattr(os, "fsync", watched)
    run.save(measured(CELLS[0]))
    assert seen[0] == (False, [f"{CELLS[0].id}.tmp"])


def test_no_run_without_a_folder_to_write_to(tmp_path):
    (tmp_path / "file").write_text("x")
    message = words(lambda: Run.create(tmp_path / "file" / "run", PLAN, "hash"), MeasurementError)
    assert "cannot write" in message


def test_a_measurement_can_be_written_anywhere(tmp_path):
    path = tmp_path / "new" / "out.json"
    dump_measurement(path, measured(CELLS[0]))
    assert json.loads(path.read_text())["cell"]["target"] == "t"
    assert files(tmp_path) == ["new/out.json"]


# --- failures -------------------------------------------------------------------------------------------


def test_a_failure_is_kept_until_the_cell_is_measured(run):
    run.save_failure(CELLS[0], "the engine died: “out of memory”")
    run.save_failure(CELLS[1], "no request succeeded")
    assert run.failures() == {
        CELLS[0].label: "the engine died: “out of memory”",
        CELLS[1].label: "no request succeeded",
    }
    assert run.missing() == CELLS
    run.save(measured(CELLS[0]))
    assert run.failures() == {CELLS[1].label: "no request succeeded"}


def test_a_second_failure_replaces_the_first(run):
    run.save_failure(CELLS[0], "first")
    run.save_failure(CELLS[0], "second")
    assert run.failures() == {CELLS[0].label: "second"}


def test_a_damaged_failure_is_named(run):
    run.save_failure(CELLS[0], "cause")
    path = run.folder / "failed" / f"{CELLS[0].id}.json"
    path.write_text("{")
    assert str(path) in words(run.failures)


def test_a_whole_run_passes_the_check(run):
    for cell in CELLS:
        run.save(measured(cell))
    run.check()


def test_the_check_names_every_missing_cell_with_its_cause(run):
    for cell in CELLS[2:]:
        run.save(measured(cell))
    run.save_failure(CELLS[0], "the engine died")
    message = words(run.check, MeasurementError)
    first, *lines = message.splitlines()
    assert f"2 of {len(CELLS)} cells of {run.folder} are not measured" in first
    assert "the others are kept" in first
    assert "--resume" in first
    assert lines == [f"  {CELLS[0].label}: the engine died", f"  {CELLS[1].label}: not measured yet"]


# --- the newest run -------------------------------------------------------------------------------------

OTHER = PLAN.with_(blocks=2)


def at(folder, when):
    os.utime(folder / "plan.json", (when, when))


@pytest.fixture
def root(tmp_path):
    for when, (name, plan) in enumerate([("b", PLAN), ("a", PLAN), ("c", OTHER)], start=1):
        at(Run.create(tmp_path / name, plan, "hash").folder, when)
    return tmp_path


@pytest.mark.parametrize(("plan", "name"), [(None, "c"), (PLAN, "a"), (OTHER, "c")])
def test_the_newest_run_of_a_plan(root, plan, name):
    assert latest_run(root, plan=plan).id == name


def test_no_run_is_none(root, tmp_path):
    assert latest_run(root, plan=PLAN.with_(blocks=9)) is None
    assert latest_run(tmp_path / "nowhere") is None


def test_a_damaged_run_does_not_hide_those_of_a_plan(root):
    (root / "c" / "plan.json").write_text("{")
    at(root / "c", 9)
    assert latest_run(root, plan=PLAN).id == "a"


def test_open_run_latest_and_by_name(root, monkeypatch):
    monkeypatch.setenv("LABKIT_RUNS", str(root))
    assert open_run().id == open_run("latest").id == "c"
    assert open_run(root / "b").id == "b"


def test_open_run_without_any_says_how_to_make_one(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_RUNS", str(tmp_path))
    message = words(open_run)
    for part in (str(tmp_path), "no run", "labkit sweep PLAN.yaml"):
        assert part in message


def test_logs_of_one_engine_do_not_collide_and_stay_in_the_run(run):
    path = run.log_path("owner/draft K=4")
    assert path.parent == run.folder / "logs"
    assert path.name.startswith("owner-draft-K=4-")


def compressed(run, cell):
    path = run.folder / "cells" / f"{cell.id}.json"
    packed = path.with_suffix(".json.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    return packed


def test_a_recorded_run_is_the_same_run_compressed(run):
    for cell in CELLS:
        run.save(measured(cell))
        compressed(run, cell)
    assert run.measurements() == [measured(cell) for cell in CELLS]
    assert run.missing() == []


def test_a_damaged_compressed_cell_is_named(run):
    run.save(measured(CELLS[0]))
    path = compressed(run, CELLS[0])
    for content in (b"", b"no gzip", path.read_bytes()[:-9], gzip.compress(b"{}")):
        path.write_bytes(content)
        assert f"{path} is damaged" in words(run.measurements)


def test_a_recorded_run_has_a_name():
    assert recorded("drafters").measurements()
    assert "did you mean 'drafters'?" in words(lambda: recorded("drafter"), ConfigError)


def audited(drafter="ngram", temperature=0.8, verdict="no fault found"):
    found = {"verdict": verdict, "why": ["because"], "tokens": 2013}
    return Audited(drafter=drafter, k=2, temperature=temperature, engine="simulated 1 on cpu", at=1.8e9, found=found)


def test_audits_are_kept_beside_the_cells(run):
    assert run.audits() == []
    for one in (audited("owner/draft"), audited(), audited(temperature=0.0)):
        run.save_audit(one)
    assert run.audits() == [audited(temperature=0.0), audited(), audited("owner/draft")]
    assert sorted(path.name for path in (run.folder / "audits").iterdir()) == [
        "ngram-K2-T0.8.json", "ngram-K2-T0.json", "owner-draft-K2-T0.8.json",
    ]  # fmt: skip
    assert (run.audits()[0].verdict, run.audits()[0].why, run.audits()[0].tokens) == (
        "no fault found", ["because"], 2013,
    )  # fmt: skip
    assert run.audits()[1].label == "ngram K=2 at T = 0.8"
    assert run.missing() == CELLS, "an audit is no cell"


def test_a_later_audit_replaces_an_earlier_one(run):
    run.save_audit(audited())
    run.save_audit(audited(verdict="fault"))
    assert [one.verdict for one in run.audits()] == ["fault"]


@pytest.mark.parametrize("content", ["", "[]", '{"drafter": "x"}', "{"])
def test_a_damaged_audit_is_named(run, content):
    run.save_audit(audited())
    (path,) = (run.folder / "audits").iterdir()
    path.write_text(content)
    assert f"{path} is damaged" in words(run.audits)
