"""A drafter's card as text, line for line."""

import json
from dataclasses import replace

import pytest

from labkit.drafters.card import Card, read_card, write_card
from labkit.errors import ConfigError

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
    assert str(CARD).splitlines() == [
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
    assert "vocabulary" not in str(replace(CARD, training=own))


def test_a_card_that_says_little():
    bare = replace(CARD, training={}, offline={}, served=[])
    assert str(bare) == "eagle3: eagle3 for demo\n  licence: Apache-2.0"


def test_a_category_without_greedy_answers_says_so():
    nothing = {"tokens": 0, "joint": [], "conditional": [], "mean_acceptance_length": {}}
    line = str(replace(CARD, offline={"code": nothing}, served=[])).splitlines()[-1]
    assert line == "  offline  code         no greedy answers to judge by"


def test_an_interval_that_few_prompts_do_not_give_is_left_out():
    row = CARD.served[0] | {"low": None, "high": None, "speedup_low": None, "speedup_high": None}
    assert "[" not in str(replace(CARD, offline={}, served=[row])).splitlines()[-1]


def test_a_key_that_a_card_has_not_is_refused(tmp_path):
    write_card(tmp_path, CARD)
    assert read_card(tmp_path) == CARD
    path = tmp_path / "card.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"offlien": {}}))
    with pytest.raises(ConfigError, match=r"unknown key 'offlien'.*did you mean 'offline'"):
        read_card(tmp_path)
