"""One text with its scores, from the rows a server sends."""

import numpy as np
import pytest

from labkit.errors import MeasurementError
from labkit.measure.scored_text import WIDTH, scored_text
from labkit.records import RequestRecord


def record(output, **fields):
    return RequestRecord(
        prompt_id="p", category="c", language="en", output_tokens=len(output), output_token_ids=output,
        sampling={"temperature": 0.8, "top_k": 20, "top_p": 1.0}, **fields,
    )  # fmt: skip


def row(actual, *, best=range(WIDTH), top=-1.0):
    """The likeliest tokens, a nat apart, and the actual one, far behind unless it is among them."""
    entries = {str(token): {"logprob": top - i, "rank": i + 1} for i, token in enumerate(best)}
    return {str(actual): {"logprob": -40.0, "rank": 999}} | entries


def test_the_likeliest_come_first_and_the_actual_one_stays_apart():
    found = scored_text(record((7, 500)), [row(7), row(500, best=range(30, 30 + WIDTH))])
    assert found.best_ids.tolist() == [list(range(WIDTH)), list(range(30, 30 + WIDTH))]
    assert found.logprob.tolist() == [-8.0, -40.0]
    assert found.best_logprobs[0].tolist() == [-1.0 - i for i in range(WIDTH)]
    assert (found.temperature, found.top_k, found.top_p, len(found)) == (0.8, 20, 1.0, 2)


def test_what_is_known_of_the_drafts_is_kept():
    steps = {"per_step_accepted": (1,), "per_step_drafted": (2,), "chunk_tokens": (1, 2)}
    found = scored_text(record((7, 8, 9), **steps), [row(7), row(8), row(9)], draft_ids=np.array([-1, 8, 4]))
    assert (found.accepted, found.drafted, found.chunk_tokens) == ((1,), (2,), (1, 2))
    assert found.draft_ids.tolist() == [-1, 8, 4]
    assert found.proposed is None


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([row(7)], "1 of its 2 tokens were scored"),
        ([row(7), None], "1 of its 2 tokens were scored"),
        ([row(7), row(8, best=range(5))], "the server scores 6 tokens a position, 20 are needed"),
        ([row(7), row(8, top=12.0)], "the server sends logits where log-probabilities are needed; start it without"),
    ],
)
def test_scores_that_are_missing_are_refused(rows, message):
    with pytest.raises(MeasurementError, match=message):
        scored_text(record((7, 8)), rows)
