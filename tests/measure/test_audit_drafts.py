"""Drafts that follow from the text, against the simulated engine, which made them."""

import numpy as np
import pytest

from labkit.analysis.lossless_drafts import mistaken, verified
from labkit.analysis.lossless_pit import tokens_of
from labkit.analysis.lossless_steps import UNCLEAR
from labkit.config import Drafter, Sampling, SpecConfig
from labkit.engine.simulated.drafts import lookup
from labkit.measure.audit import AuditPlan, sample
from labkit.measure.audit_drafts import (
    drafts_at_every_step,
    drafts_by_lookup,
    drafts_of_server,
    greedy_draft_model,
)
from labkit.measure.audit_scores import score
from labkit.records import RequestRecord
from labkit.workloads import Workload
from tests.conftest import SPECS


def propose(tokens, most):
    return np.array(lookup(bytes(tokens.tolist()), most, 2, 4))


@pytest.fixture
def looked_up(simulate, workload: Workload) -> list[RequestRecord]:
    asked = AuditPlan(prompts=workload.prompts, sampling=Sampling(temperature=0.8, top_k=5), max_tokens=120)
    return sample(simulate(SPECS["ngram"]), asked, range(6))


def test_lookups_give_the_drafts_of_every_step(simulate, looked_up):
    """Every accepted token is the draft that is found, and no step is left unclear."""
    known = drafts_by_lookup(looked_up, propose, k=4)
    assert len(known) == len(looked_up)
    baseline = simulate(SPECS["baseline"])
    tokens = tokens_of(score(baseline, looked_up, known))
    assert (tokens.place > 0).sum() > 20
    assert not (tokens.place == UNCLEAR).any()
    checked = verified(tokens)
    assert (checked.column[checked.accepted] == checked.draft[checked.accepted]).all()
    assert (checked.column[~checked.accepted] != checked.draft[~checked.accepted]).all()
    assert not mistaken(tokens)


def test_texts_that_do_not_fit_their_lookups_are_left_out(looked_up):
    without_steps = {record.prompt_id for record in looked_up if not record.per_step_accepted}
    assert len(without_steps) < len(looked_up)
    assert drafts_by_lookup(looked_up, propose, k=3).keys() == without_steps
    assert drafts_by_lookup(looked_up, lambda tokens, most: [], k=4).keys() == without_steps
    silent = RequestRecord(**dict(vars(looked_up[0])) | {"per_step_accepted": None})
    assert drafts_by_lookup([silent], propose, k=4) == {}


def test_a_server_tells_its_first_choices(simulate, looked_up):
    short = RequestRecord(**dict(vars(looked_up[0])) | {"prompt_id": "short", "output_token_ids": (3,)})
    known = drafts_of_server(simulate(SPECS["baseline"]), [*looked_up, short])
    assert known["short"]["draft_ids"].tolist() == [-1]
    for record in looked_up:
        assert len(known[record.prompt_id]["draft_ids"]) == len(record.output_token_ids)


@pytest.mark.parametrize(
    ("drafter", "greedy"),
    [
        (Drafter(method="draft_model", model="d"), True),
        (Drafter(method="draft_model", model="d", options={"draft_sample_method": "probabilistic"}), False),
        (Drafter(method="eagle3", model="d"), False),
        (Drafter(method="ngram"), False),
    ],
)
def test_which_drafts_are_first_choices_of_a_model(drafter, greedy):
    assert greedy_draft_model(SpecConfig(drafter=drafter, k=2)) == greedy
    assert not greedy_draft_model(SpecConfig())
    assert drafts_at_every_step(drafter.method) == (drafter.method != "ngram")
    assert not drafts_at_every_step(None)
