"""Traces as the fields of ``labkit replay --json``."""

import json

import pytest

from labkit.analysis.replay_report import replay_report, replay_traces
from labkit.errors import ConfigError
from labkit.measure.traces import Trace

DRAFTS = Trace(where="t:1", output_token_ids=(5, 1, 2, 3), draft_token_ids=(9, 1, 2, 9))
LOOKUP = Trace(where="t:2", run_lengths=(2, 0, 0, 0), drafted=(4, 0, 0, 0))


def test_both_forms_are_pooled():
    """Drafts: right, right, wrong; at K = 1 steps at 0, 2, at K = 2 one. Lookup: steps at 0, 2, 3 and 0, 3."""
    found = replay_report(replay_traces([DRAFTS, LOOKUP], [2, 1]))
    assert found == {
        "k": {
            "1": {"steps": 5, "accepted": 2, "mean_acceptance_length": pytest.approx(1 + 2 / 3),
                  "joint": pytest.approx([2 / 3])},
            "2": {"steps": 3, "accepted": 4, "mean_acceptance_length": 3.0, "joint": [1.0, 1.0]},
        }
    }  # fmt: skip
    assert json.loads(json.dumps(found, allow_nan=False))["k"].keys() == {"1", "2"}


def test_what_was_never_drafted_is_unknown():
    silent = Trace(where="t:1", run_lengths=(0, 0), drafted=(0, 0))
    unknown = {"accepted": 0, "mean_acceptance_length": None, "joint": [None, None]}
    assert replay_report(replay_traces([silent], [2])) == {"k": {"2": {"steps": 2} | unknown}}
    prefill = Trace(where="t:1", output_token_ids=(5,), draft_token_ids=(5,))
    assert replay_report(replay_traces([prefill], [2])) == {"k": {"2": {"steps": 0} | unknown}}


def test_a_run_that_cannot_be_names_its_line():
    with pytest.raises(ConfigError, match="t:9, position 1: a run length lies between 0 and the 1 positions left"):
        replay_traces([DRAFTS, Trace(where="t:9", run_lengths=(0, 2))], [1])


def test_probabilities_give_expected_counts():
    """Half the drafts: at K = 1 a step at 0, and one at 1 after a rejection."""
    found = replay_report(replay_traces([Trace(where="t:1", acceptance_probs=(0.5, 0.5))], [1]))
    assert found["k"]["1"]["steps"] == pytest.approx(1.5)


def test_probabilities_and_others_do_not_mix():
    with pytest.raises(ConfigError, match="1 of 2 traces hold acceptance_probs"):
        replay_traces([DRAFTS, Trace(where="t:2", acceptance_probs=(0.5,))], [1])
