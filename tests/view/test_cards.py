"""What a run adds to a drafter's card."""

import pytest

from labkit.view.cards import served_rows


def test_what_a_run_says_of_a_drafter(sweep):
    """By category and over all; (2, 1, 0) in turn over 20 steps is 21 accepted, the gains are the sweep's."""
    rows = served_rows(sweep(prompts=12), "demo/draft")
    assert {row["drafter"] for row in rows} == {"draft"}
    found = {(row["category"], row["k"], row["temperature"]): row for row in rows}
    assert set(found) == {(c, k, t) for c in ("all", "code", "sql") for k in (2, 4) for t in (0.0, 0.8)}
    assert [found[c, 2, 0.0]["n"] for c in ("code", "sql", "all")] == [6, 6, 12]
    assert found["all", 2, 0.0]["mean_acceptance_length"] == pytest.approx(2.05)
    assert found["code", 4, 0.0]["speedup"] == pytest.approx(0.8, abs=1e-3)
    assert all(row["speedup_low"] <= row["speedup"] <= row["speedup_high"] for row in rows)


def test_too_few_prompts_give_no_interval(sweep):
    row = served_rows(sweep(prompts=4), "demo/draft")[0]
    assert row["low"] is row["speedup_low"] is None


def test_a_run_without_the_drafter_says_nothing(sweep):
    assert served_rows(sweep(), "demo/another") == []
