"""What was recorded opens, is whole, names no machine, and is what the drafters' cards say."""

import gzip
import re

import pytest

from labkit.drafters.card import read_card
from labkit.drafters.package import read_weights, shipped
from labkit.paths import DATA
from labkit.store import Run
from labkit.view.cards import served_rows

RECORDED = sorted(path.parent for path in (DATA / "recorded").glob("*/plan.json"))


def texts(folder):
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text("utf-8")


def test_there_are_recorded_runs():
    assert RECORDED


@pytest.mark.parametrize("folder", RECORDED, ids=lambda path: path.name)
def test_a_recorded_run_is_whole_and_real(folder):
    run = Run.open(folder)
    run.check()
    assert {m.provenance.engine_kind for m in run.measurements()} == {"vllm"}
    assert not any(m.discarded for m in run.measurements())


@pytest.mark.parametrize("folder", RECORDED, ids=lambda path: path.name)
def test_recorded_audits_are_of_its_drafters_on_real_engines(folder):
    run = Run.open(folder)
    names = {drafter.name for drafter in run.plan.drafters}
    for audited in run.audits():
        assert audited.drafter in names
        assert audited.engine.startswith("vllm ")
        assert audited.found["temperature"] == audited.temperature


@pytest.mark.parametrize("folder", RECORDED, ids=lambda path: path.name)
def test_no_path_of_a_machine_is_recorded(folder):
    for text in texts(folder):
        provenance = re.search(r'"provenance":.*', text)
        assert not re.search(r"(?<![\w.:/])/(?:root|home|work|tmp|usr|opt|var)/", provenance[0] if provenance else text)


def test_all_of_it_is_small():
    def size(folder):
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())

    assert size(DATA / "recorded") < 8e6
    assert size(DATA / "drafters") < 20e6


@pytest.mark.parametrize("name", shipped())
def test_a_card_says_what_the_recorded_runs_say(name):
    card = read_card(shipped()[name])
    assert card.name == name
    assert card.served
    assert card.served == [
        row for folder in RECORDED for row in served_rows(Run.open(folder).measurements(), f"demo/{name}")
    ]


@pytest.mark.parametrize("name", shipped())
def test_what_belongs_to_the_target_is_not_shipped(name):
    names = set(read_weights(shipped()[name] / "weights.safetensors"))
    assert names
    assert not any("embed_tokens" in tensor or "lm_head" in tensor for tensor in names)
