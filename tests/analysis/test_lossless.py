"""Audits of the simulated engine: quiet where nothing is wrong, and each planted fault found with its origin.

Small and seeded; ``benchmarks/audit_power.py`` counts over hundreds of audits.
"""

import json

import numpy as np
import pytest

from labkit.analysis.lossless import ALPHA, NOT_COVERED, audit
from labkit.analysis.lossless_family import ACCEPTANCE, ALL, BONUS_TOKEN, DRAFTED, OUTSIDE, RECOVERED, UNDRAFTED, Family
from labkit.analysis.lossless_origin import ORIGINS
from labkit.engine.simulated.model import FAULTS, Speculation
from labkit.measure.scored_text import Block
from tests.analysis.simulated_audit import CATEGORIES, simulated_audit, tabled, text

NAMED = {
    "temperature": "temperature",
    "bonus_temperature": "bonus",
    "recovered_from_p": "recovered",
    "acceptance": "acceptance",
    "ignore_top_k": "top_k",
}
BLIND = {**dict.fromkeys(NAMED, "verification"), "bonus_temperature": "bonus", "ignore_top_k": "top_k"}


def test_nothing_is_found_where_nothing_is_wrong():
    """20 audits: a false alarm has chance .005 in each, and p-values are nowhere near it in most."""
    found = [simulated_audit(seed=seed, tokens=1200, every=400, k=1 + seed % 4) for seed in range(20)]
    assert {one.verdict for one in found} == {"no fault found"}
    assert np.median([min(finding.p for finding in one.findings) for one in found]) > 0.2


def test_prompt_lookup_is_audited_without_knowing_its_drafts():
    """A place told by the outcome would be flagged here: accepted tokens alone are not uniform."""
    for seed in range(4):
        found = simulated_audit(seed=seed, tokens=4000, every=4000, k=1, lookup=(1, 3))
        assert found.verdict == "no fault found"
        assert found.finding("bonus token").tokens > 30
        assert found.finding("position 1").tokens == 0
        assert found.finding("first of a step, drafted or not").tokens > 2500
    faulty = simulated_audit(seed=1, k=1, lookup=(1, 3), faults=("temperature",))
    assert faulty.verdict == "fault"
    assert faulty.finding("first of a step, drafted or not").fault


@pytest.mark.parametrize("temperature", [0.8, 1.0])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_and_named(fault, temperature):
    found = simulated_audit(seed=41, faults=(fault,), temperature=temperature)
    assert found.verdict == "fault"
    assert [origin.name for origin in found.origins] == [NAMED[fault]]
    assert found.tokens < 10_200
    assert all(name in ORIGINS for name in NAMED.values())
    assert NAMED[fault] in found.why[0]


@pytest.mark.parametrize("fault", FAULTS)
def test_without_known_drafts_the_place_is_named_and_no_more(fault):
    found = simulated_audit(seed=7, faults=(fault,), known=False)
    assert found.verdict == "fault"
    assert [origin.name for origin in found.origins] == [BLIND[fault]]
    assert {ACCEPTANCE, RECOVERED}.isdisjoint(finding.test for finding in found.findings)
    assert "acceptance and of recovered tokens alone: the drafter's choices are not known" in found.unavailable[-1]


def test_a_clear_fault_ends_the_audit_early():
    found = simulated_audit(seed=2, faults=("recovered_from_p",), every=500)
    assert found.stopped_early
    assert found.tokens < 2500
    assert not simulated_audit(seed=2, tokens=1000, every=500).stopped_early


def test_what_could_have_been_seen_shrinks_with_the_tokens():
    few, many = (simulated_audit(seed=1, tokens=tokens) for tokens in (1000, 8000))
    for test in (ALL, BONUS_TOKEN, "position 1", ACCEPTANCE, RECOVERED):
        assert 1 < many.finding(test).visible < few.finding(test).visible
    assert many.finding(ALL).visible < 1.1
    assert many.finding(BONUS_TOKEN).tokens == pytest.approx(8 * few.finding(BONUS_TOKEN).tokens, rel=0.4)
    assert any("bonus token" in line and "temperature" in line for line in many.why)


def test_the_effect_is_measured():
    found = simulated_audit(seed=3, faults=("bonus_temperature",), tokens=6000, every=6000)
    bonus = found.finding(BONUS_TOKEN)
    assert bonus.ratio.low < 1.5 < bonus.ratio.high
    assert 0 < bonus.variation.low < bonus.variation.mid < bonus.variation.high < 0.3
    assert bonus.variation_at_least <= bonus.variation.high
    assert bonus.surprisal_z > 4
    assert bonus.ks_p < 0.001
    quiet = found.finding("position 1")
    assert quiet.ratio.low < 1 < quiet.ratio.high
    assert quiet.variation.low == 0
    assert not quiet.fault


def test_a_family_is_fixed_by_what_is_asked_alone():
    family = Family(k=2, categories=CATEGORIES, drafts=True)
    places = (UNDRAFTED, "first of a step, drafted or not", DRAFTED, "position 1", "position 2", BONUS_TOKEN)
    assert family.names == (ALL, *places, "category code", "category prose", ACCEPTANCE, RECOVERED, OUTSIDE)
    assert Family(k=0, categories=("one",), control=False).names == (ALL,)
    found = simulated_audit(seed=1, tokens=300, every=300, k=4)
    assert [finding.test for finding in found.findings] == list(Family(k=4, categories=CATEGORIES, drafts=True).names)


def watched(seed=1, n=30, **asked):
    """One block of ``n`` texts and their control."""
    spec = Speculation(method="draft_model", model="d", k=2)
    return [Block(*([text(tabled(0), i, seed=seed, spec=s, **asked) for i in range(n)] for s in (spec, None)))]


FAMILY = Family(k=2, categories=CATEGORIES, drafts=True)


def changed(one, **fields):
    return type(one)(**(dict(vars(one)) | fields))


def test_a_control_outside_its_top_k_is_refused():
    blocks = watched()
    control = blocks[0][1]
    moved = control[0].best_ids[:, 19].copy(), control[0].best_logprobs[:, 19] - 1
    control[0] = changed(control[0], token_ids=np.full_like(moved[0], -5), logprob=moved[1])
    found = audit(blocks, family=FAMILY)
    assert found.verdict == "refused"
    assert "of the baseline's own tokens lie outside its top_k (at most 0.5% may)" in found.why[0]
    assert found.origins == ()


def test_a_control_that_does_not_pass_is_refused_even_with_a_fault():
    tested, control, _ = watched(n=60)[0]
    cold = ([changed(one, temperature=0.6) for one in arm] for arm in (tested, control))
    found = audit([Block(*cold)], family=FAMILY)
    assert found.verdict == "refused"
    assert "the baseline does not pass its own audit (all tokens" in found.why[0]
    assert any(finding.fault for finding in found.control)


def test_what_could_not_be_checked_about_the_engines_is_said_once():
    (block,) = watched()
    halves = [Block(block.tested[i : i + 15], block.control[i : i + 15], ("names only",)) for i in (0, 15)]
    found = audit(halves, family=FAMILY)
    assert found.texts == 30
    assert [line for line in found.unavailable if line == "names only"] == ["names only"]
    assert found.plain()["unavailable"][-1] == "names only"


def test_nothing_drafted_is_refused():
    blocks = watched(n=40)
    plain = [changed(one, accepted=(), drafted=(), every_step=True) for one in blocks[0][1]]
    found = audit([Block(plain, blocks[0][1])], family=FAMILY)
    assert found.verdict == "refused"
    assert "nothing was drafted" in found.why[0]


def test_too_few_tokens_are_refused():
    found = audit(watched(n=1), family=FAMILY)
    assert found.verdict == "refused"
    assert "come from steps with drafts, too few to see even a temperature of 1.5·T there" in found.why[0]
    with pytest.raises(ValueError, match="at least one block"):
        audit([], family=FAMILY)


def test_a_server_that_does_not_tell_its_steps_is_audited_as_a_whole():
    blocks = watched(n=40)
    silent = [changed(one, accepted=None, drafted=None) for one in blocks[0][0]]
    found = audit([Block(silent, blocks[0][1])], family=Family(k=2, categories=CATEGORIES))
    assert found.verdict == "no fault found"
    assert found.finding("position 1").tokens == 0
    assert "--per-request-spec-decode-metrics detailed" in found.unavailable[0]
    single = [changed(one, chunk_tokens=(1,) * len(one)) for one in silent]
    assert "nothing was drafted" in audit([Block(single, blocks[0][1])], family=FAMILY).why[0]


def test_wrongly_known_drafts_are_not_used():
    blocks = watched(n=60)
    wrong = [changed(one, draft_ids=(one.draft_ids + 1) % 90) for one in blocks[0][0]]
    found = audit([Block(wrong, blocks[0][1])], family=FAMILY)
    assert found.verdict == "no fault found"
    assert found.finding(ACCEPTANCE).p == 1
    assert "does not choose what was accepted" in found.unavailable[-1]


def test_the_wrong_temperature_without_top_k():
    """Bounds for what lies beyond the 20 likeliest; the rest is exact given that it does not."""
    right = audit(watched(n=60, top_k=0, temperature=1.3), family=FAMILY)
    assert right.verdict == "no fault found"
    hot = audit(watched(n=60, top_k=0, temperature=1.3, scored_at=0.8), family=Family(k=2, categories=CATEGORIES))
    assert hot.verdict == "refused"  # the control is as wrong
    control = watched(n=60, top_k=0, temperature=0.8)[0][1]
    fault = audit([Block(watched(n=60, top_k=0, temperature=1.3, scored_at=0.8)[0][0], control)], family=FAMILY)
    assert fault.verdict == "fault"
    assert {"tail", "undrafted", "bonus"} <= {origin.name for origin in fault.origins}


def test_top_p_is_audited_too():
    found = audit(watched(n=80, top_p=0.8), family=FAMILY)
    assert found.verdict == "no fault found"
    assert found.finding(OUTSIDE).tokens == found.tokens
    ignored = watched(n=80)[0][0]
    blocks = [Block([changed(one, top_p=0.8) for one in ignored], watched(n=80, top_p=0.8)[0][1])]
    assert "top_k" in [origin.name for origin in audit(blocks, family=FAMILY).origins]


def test_the_json_form():
    found = simulated_audit(seed=1, tokens=600, every=600).plain()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["alpha"] == ALPHA
    assert found["not_covered"] == NOT_COVERED
    assert found["temperature"] == 1.0
    assert (found["top_k"], found["top_p"]) == (20, 1.0)
    assert {"test", "tokens", "p", "ratio", "variation", "smallest_visible"} <= found["tests"][0].keys()
    assert [finding["test"] for finding in found["control"]] == [ALL, "category code", "category prose"]


def test_rare_drafts_are_not_hidden_by_many_other_tokens():
    """Sixty texts without drafts and one with them say little about speculation."""
    blocks = watched(n=60)
    plain = [changed(one, accepted=(), drafted=(), every_step=True) for one in blocks[0][1][1:]]
    found = audit([Block([blocks[0][0][0], *plain], blocks[0][1])], family=FAMILY)
    assert "tokens come from steps with drafts, too few to see" in found.why[0]
