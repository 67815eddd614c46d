"""The reasons of an audit: when a control is not believed, and what is said of a fault and of none."""

import pytest

from labkit.analysis.lossless import ALPHA, CONTROL
from labkit.analysis.lossless_finding import Finding
from labkit.analysis.lossless_origin import Origin
from labkit.analysis.lossless_pit import Tokens, tokens_of
from labkit.analysis.lossless_why import LEAVES_TOP_K, doubts, fault, power
from tests.analysis.simulated_audit import tabled, text


def control(outside=0, **asked):
    """The baseline's own tokens, the first ``outside`` of them beyond its top_k."""
    found = tokens_of([text(tabled(0), i, seed=5, spec=None, **asked) for i in range(20)])
    moved = found.outside.copy()
    moved[:outside] = True
    return Tokens(**dict(vars(found)) | {"outside": moved})


@pytest.mark.parametrize(
    ("p", "believed"), [(1.0, True), (0.001, True), (0.0006, True), (0.0005, False), (1e-9, False)]
)
def test_a_control_is_judged_at_a_tenth_of_alpha(p, believed):
    found = doubts(control(), {"all tokens": p, "category code": 1.0}, ALPHA * CONTROL)
    assert (found == ()) == believed
    assert believed or "does not pass its own audit (all tokens)" in found[0]


def test_a_control_may_leave_its_top_k_now_and_then():
    n = len(control())
    few, many = int(n * LEAVES_TOP_K), int(n * LEAVES_TOP_K) + 1
    assert doubts(control(few), {}, ALPHA) == ()
    assert (
        "of the baseline's own tokens lie outside its top_k (at most 0.5% may)" in doubts(control(many), {}, ALPHA)[0]
    )
    assert doubts(control(many, top_k=0), {}, ALPHA) == (), "without top_k there is nothing to leave"


def finding(test, **fields):
    return Finding(test=test, tokens=200, p=fields.pop("p", 1.0), fault=fields.pop("fault", False), **fields)


def test_a_fault_names_its_origins_and_its_tests():
    origin = Origin(name="bonus", detail="they look like 1.50·T (1.30 to 1.70)")
    said = fault([origin], [finding("all tokens"), finding("bonus token", p=0.0012, fault=True)])
    assert said == (
        "bonus: the token after the last accepted draft: they look like 1.50·T (1.30 to 1.70)",
        "found by: bonus token (p = 0.0012, 200 tokens)",
    )


def test_nothing_found_says_what_would_have_been():
    said = power([
        finding("all tokens", visible=1.08), finding("position 3"), finding("bonus token", visible=float("inf")),
        finding("acceptance", visible=1.15), finding("outside", visible=0.0123),
    ])  # fmt: skip
    assert said == (
        "what would have been found with a chance of 90 %:",
        "all tokens (200 tokens): a temperature 8% too high",
        "acceptance (200 drafts): 15% too often",
        "outside: 1.23% of the tokens",
    )
