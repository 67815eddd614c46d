"""A drafter's card as text, line for line."""

from dataclasses import replace

import pytest

from labkit.drafters.package import Card
from labkit.view.cards import card_text, served_rows

CARD = Card(
    name="eagle3",
    method="eagle3",
    target="demo",
    hidden_size=576,
    vocab_size=49152,
    licence="Apache-2.0",
    config={},
    training={
        "texts": 2500, "answer_tokens": 312_345, "epochs": 8, "steps": 1234, "seed": 0, "loss": 1.2345,
        "minutes": 41.5, "device": "cpu", "learning_curve": [], "vocabulary": 8192, "coverage_held_out": 0.9876,
    },
    offline={
        "code": {"tokens": 900, "joint": [0.6, 0.3], "conditional": [0.6, 0.5],
                 "mean_acceptance_length": {"1": 1.6, "2": 1.9}},
        "all": {"tokens": 900, "joint": [0.512, 0.2], "conditional": [0.512, 0.39],
                "mean_acceptance_length": {"1": 1.512, "2": 1.7}},
    },
    served=[
        {"drafter": "eagle3", "category": "code", "k": 3, "temperature": 0.0, "concurrency": 1, "n": 48,
         "mean_acceptance_length": 2.104, "low": 2.0, "high": 2.21, "speedup": 1.234, "speedup_low": 1.1,
         "speedup_high": 1.35},
        {"drafter": "eagle3", "category": "report", "k": 3, "temperature": 0.8, "concurrency": 16, "n": 2,
         "mean_acceptance_length": 1.7, "low": None, "high": None, "speedup": None, "speedup_low": None,
         "speedup_high": None},
    ],
)  # fmt: skip


def test_a_whole_card():
    assert card_text(CARD).splitlines() == [
        "eagle3: eagle3 for demo",
        "  trained on 312,345 tokens of 2,500 answers, 1,234 steps, 41.5 min on cpu, final loss 1.2345",
        "  draft vocabulary 8,192 tokens: 98.8 % of unseen answers",
        "  licence: Apache-2.0",
        "  offline  code         agreement by depth 0.60/0.50; acceptance length K=1 1.60, K=2 1.90",
        "  offline  all          agreement by depth 0.51/0.39; acceptance length K=1 1.51, K=2 1.70",
        "  served   code         K=3 T=0 users=1: acceptance length 2.10 [2.00, 2.21], "
        "speedup 1.23× [1.10, 1.35], 48 prompts",
        "  served   report       K=3 T=0.8 users=16: acceptance length 1.70, speedup unknown, 2 prompts",
    ]


def test_a_draft_model_has_no_vocabulary_of_its_own():
    own = {key: value for key, value in CARD.training.items() if key not in ("vocabulary", "coverage_held_out")}
    assert "vocabulary" not in card_text(replace(CARD, training=own))


def test_a_card_that_says_little():
    bare = replace(CARD, training={}, offline={}, served=[])
    assert card_text(bare) == "eagle3: eagle3 for demo\n  licence: Apache-2.0"


def test_a_category_without_greedy_answers_says_so():
    nothing = {"tokens": 0, "joint": [], "conditional": [], "mean_acceptance_length": {}}
    line = card_text(replace(CARD, offline={"code": nothing}, served=[])).splitlines()[-1]
    assert line == "  offline  code         no greedy answers to judge by"


def test_what_a_run_says_of_a_drafter(sweep):
    """By category and over all; (K, K // 2, 0) in turn is accepted, the gains are those of the sweep."""
    rows = served_rows(sweep(prompts=12), "demo/draft")
    assert {row["drafter"] for row in rows} == {"draft"}
    found = {(row["category"], row["k"], row["temperature"]): row for row in rows}
    assert set(found) == {(c, k, t) for c in ("all", "code", "sql") for k in (2, 4) for t in (0.0, 0.8)}
    assert [found[c, 2, 0.0]["n"] for c in ("code", "sql", "all")] == [6, 6, 12]
    assert found["all", 2, 0.0]["mean_acceptance_length"] == pytest.approx(2.0, abs=0.01)
    assert found["code", 4, 0.0]["speedup"] == pytest.approx(0.8, abs=1e-3)
    assert all(row["speedup_low"] <= row["speedup"] <= row["speedup_high"] for row in rows)


def test_too_few_prompts_give_no_interval_and_still_a_line(sweep):
    row = served_rows(sweep(prompts=4), "demo/draft")[0]
    assert row["low"] is row["speedup_low"] is None
    assert "[" not in card_text(replace(CARD, offline={}, served=[row])).splitlines()[-1]


def test_a_run_without_the_drafter_says_nothing(sweep):
    assert served_rows(sweep(), "demo/another") == []
