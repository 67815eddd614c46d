"""The task guard over a run: which prompts it compares, and that comparisons share α."""

from dataclasses import replace

import pytest

from labkit.analysis.guarded import CHECK_OF, guarded
from labkit.analysis.task_guard import CHECKS
from labkit.config import Drafter, EngineConfig, Sampling, SpecConfig
from labkit.plan import Cell, WorkloadSpec
from labkit.records import Measurement, Provenance, RequestRecord

RIGHT, WRONG = "SELECT 1;", "SELECT FROM"
NGRAM = SpecConfig(drafter=Drafter(method="ngram"), k=2)


def cell(spec, texts, *, block=0, temperature=0.0, category="text_to_sql"):
    """A measurement with one answer a prompt."""
    asked = Cell(
        target=EngineConfig(target="t").target, spec=spec, sampling=Sampling(temperature=temperature), concurrency=1,
        workload=WorkloadSpec(), block=block,
    )  # fmt: skip
    records = tuple(
        RequestRecord(prompt_id=f"p{i}", category=category, language="en", text=text) for i, text in enumerate(texts)
    )
    provenance = Provenance(
        labkit_version="0", engine_kind="simulated", model="t", engine_version=None, device="cpu",
        method_effective=None, k_effective=spec.k, speculative_config=None, argv=(), workload_hash="h",
        started_at=0.0, engine_uptime=None,
    )  # fmt: skip
    return Measurement(cell=asked, records=records, counters=None, provenance=provenance, wall_seconds=1.0)


def test_a_drop_is_found_where_it_is():
    """All valid without speculation; with it none at T = 0, all but one at T = 0.8."""
    found = guarded([
        cell(SpecConfig(), [RIGHT] * 20), cell(NGRAM, [WRONG] * 20),
        cell(SpecConfig(), [RIGHT] * 20, temperature=0.8), cell(NGRAM, [WRONG] + [RIGHT] * 19, temperature=0.8),
    ])  # fmt: skip
    assert [(one.drafter, one.k, one.temperature, one.concurrency) for one in found] == [
        ("ngram", 2, 0.0, 1), ("ngram", 2, 0.8, 1),
    ]  # fmt: skip
    assert [one.guard.disqualified for one in found] == [True, False]
    assert {one.guard.check for one in found} == {"sql"}


def test_comparisons_share_the_chance_of_a_false_alarm():
    """Eight of eight one-sided is 1/256: enough alone at .005, not as one of two comparisons."""
    worse = [cell(SpecConfig(), [RIGHT] * 8), cell(NGRAM, [WRONG] * 8)]
    fine = [cell(spec, [RIGHT] * 8, temperature=0.8) for spec in (SpecConfig(), NGRAM)]
    assert guarded(worse)[0].guard.disqualified
    assert not guarded([*worse, *fine])[0].guard.disqualified


def test_only_first_answers_of_the_first_block_to_prompts_that_both_answered():
    base, own = cell(SpecConfig(), [RIGHT] * 4), cell(NGRAM, [RIGHT, WRONG, RIGHT, RIGHT])
    failed = replace(own.records[0], error="HTTP 500")
    later = replace(own.records[1], turn=1, text=RIGHT)
    own = replace(own, records=(failed, own.records[1], later, *own.records[2:]))
    again = [cell(spec, [WRONG] * 4, block=1) for spec in (SpecConfig(), NGRAM)]
    (found,) = guarded([*again, base, own])
    assert found.guard.prompts == 3
    assert (found.guard.with_speculation.mid, found.guard.without.mid) == (pytest.approx(2 / 3), 1.0)


@pytest.mark.parametrize(
    "measurements",
    [[], [cell(NGRAM, [RIGHT])], [cell(spec, [RIGHT], category="prose") for spec in (SpecConfig(), NGRAM)]],
)
def test_nothing_to_compare(measurements):
    assert guarded(measurements) == []


def test_every_check_is_one_there_is():
    assert set(CHECK_OF.values()) == set(CHECKS)
