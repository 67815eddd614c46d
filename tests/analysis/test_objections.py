"""What speaks against a setting: a fault bars a drafter on its side of T = 0, a task guard its own setting."""

import pytest

from labkit.analysis.bootstrap import Interval
from labkit.analysis.guarded import Guarded
from labkit.analysis.objections import NOT_AUDITED, Evidence, audit_of, objections, said_of, weighed
from labkit.analysis.recommend import Candidate, recommend
from labkit.analysis.task_guard import guard
from labkit.audited import FAULT, NOTHING_FOUND, REFUSED, Audited


def audited(verdict, temperature=0.8, k=3, drafter="head"):
    found = {"verdict": verdict, "why": ["bonus: the token after the last accepted draft"], "tokens": 1330}
    return Audited(drafter=drafter, k=k, temperature=temperature, engine="vllm", at=0.0, found=found)


def guarded(right, temperature=0.8, k=3):
    """Of 40 answers without speculation all are valid, with it ``right``."""
    ours, theirs = ({f"p{i}": "{}" if i < n else "{" for i in range(40)} for n in (right, 40))
    return Guarded(drafter="head", k=k, temperature=temperature, concurrency=1, guard=guard("json", ours, theirs))


def candidate(k=3, temperature=0.8, drafter="head", speedup=1.5):
    bounds = Interval(low=speedup - 0.1, mid=speedup, high=speedup + 0.1)
    return Candidate(drafter=drafter, k=k, temperature=temperature, concurrency=1, speedup=bounds)


@pytest.mark.parametrize(
    ("k", "temperature", "drafter", "barred"),
    [(3, 0.8, "head", True), (8, 0.8, "head", True), (3, 1.0, "head", True), (3, 0.0, "head", False),
     (3, 0.8, "other", False)],
)  # fmt: skip
def test_a_fault_bars_every_k_on_its_side_of_0(k, temperature, drafter, barred):
    said = objections((drafter, k, temperature, 1), Evidence(audits=[audited(FAULT)]))
    assert bool(said) == barred
    if barred:
        assert said == (
            "an audit at T = 0.8 found that it changes the text (bonus: the token after the last accepted draft)",
        )


@pytest.mark.parametrize("verdict", [NOTHING_FOUND, REFUSED])
def test_nothing_found_and_nothing_to_say_bar_nothing(verdict):
    assert objections(("head", 3, 0.8, 1), Evidence(audits=[audited(verdict)])) == ()


def test_a_drop_of_valid_answers_bars_its_own_setting():
    evidence = Evidence(guards=[guarded(10), guarded(39, k=2)])
    (said,) = objections(("head", 3, 0.8, 1), evidence)
    assert said == "its answers are valid json less often (100% without speculation, 25% with it, 40 prompts)"
    for setting in (("head", 2, 0.8, 1), ("head", 3, 0.0, 1), ("head", 3, 0.8, 4)):
        assert objections(setting, evidence) == ()


def test_the_worst_audit_counts_then_the_nearest():
    cold, near, far = audited(NOTHING_FOUND, 0.0), audited(NOTHING_FOUND, 0.8), audited(NOTHING_FOUND, 1.0)
    assert audit_of("head", 0.9, [far, near, cold, audited(REFUSED, 0.9)]).temperature in (0.8, 1.0)
    assert audit_of("head", 0.7, [far, near]) == near
    assert audit_of("head", 0.7, [near, audited(FAULT, 1.0)]).verdict == FAULT
    assert audit_of("head", 0.0, [near]) is None
    assert audit_of("head", 0.0, [cold, near]) == cold


@pytest.mark.parametrize(
    ("audits", "words"),
    [
        ([], NOT_AUDITED),
        ([audited(NOTHING_FOUND)], "The audit at T = 0.8 (K = 3, 1330 tokens) found no fault."),
        ([audited(REFUSED)], "The audit at T = 0.8 (K = 3, 1330 tokens) could say nothing: bonus"),
    ],
)
def test_what_is_known_in_words(audits, words):
    (said,) = said_of(("head", 3, 0.8, 1), Evidence(audits=audits))
    assert said.startswith(words)


def test_what_speaks_against_it_in_words():
    said = said_of(("head", 3, 0.8, 1), Evidence(audits=[audited(FAULT)], guards=[guarded(10)]))
    assert said[0].startswith("The audit at T = 0.8 (K = 3, 1330 tokens) found a fault: bonus: the token after")
    assert [line.split(":")[0] for line in said[1:]] == ["Do not switch it on"] * 2
    assert "changes the text" in said[1]
    assert "valid json less often" in said[2]


def test_the_faster_drafter_is_not_recommended_with_a_fault():
    evidence = Evidence(audits=[audited(FAULT), audited(NOTHING_FOUND, drafter="slow")])
    made = recommend(weighed([candidate(), candidate(drafter="slow", speedup=1.2)], evidence))
    assert made.choice.drafter == "slow"
    assert made.why[-2] == "The audit at T = 0.8 (K = 3, 1330 tokens) found no fault."
    assert made.why[-1].startswith("head K=3 is left out: an audit at T = 0.8 found that it changes the text")
    assert recommend(weighed([candidate()], evidence)).choice is None
