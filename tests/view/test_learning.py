"""The learning curve: a table by hand, then that its picture shows that table."""

import pandas as pd
import plotly.graph_objects as go
import pytest

from labkit.view.learning import LiveCurve, learning_curve, learning_table
from labkit.view.style import PLOTLY_MIME


def row(loss, tokens, look=None):
    """A row of a training's history; ``look``: (tokens seen, mean loss, conditional, acceptance length by K)."""
    held = {}
    if look:
        seen, mean, conditional, lengths = look
        held = {"held_out": {"tokens": 100, "conditional": conditional, "mean_acceptance_length": lengths}}
        held |= {"tokens_seen": seen, "mean_loss": mean}
    return {"loss": loss, "tokens": tokens} | held


HISTORY = [
    row(9.0, 100),
    row(7.0, 50, (150, 8.0, (0.25, 0.1), {1: 1.25, 2: 1.3})),
    row(6.0, 100),
    row(5.0, 100),
    row(4.0, 100, (450, 5.0, (0.5, 0.4), {1: 1.5, 2: 1.7})),
    row(3.0, 10),
]


def test_a_row_per_look_by_hand():
    wanted = pd.DataFrame(
        {
            "tokens_seen": [150, 450],
            "loss": [8.0, 5.0],
            "depth_1": [0.25, 0.5],
            "depth_2": [0.1, 0.4],
            "mean_acceptance_length": [1.3, 1.7],
        }
    )
    pd.testing.assert_frame_equal(learning_table(HISTORY), wanted)


def test_a_history_from_json_has_text_for_k():
    look = (5, 1.0, (0.5,), {"1": 1.5, "2": 1.7})
    assert learning_table([row(1.0, 5, look)])["mean_acceptance_length"].tolist() == [1.7]


@pytest.mark.parametrize("history", [[], [row(1.0, 5)], [row(1.0, 5) | {"held_out": {"tokens": 0}}]])
def test_nothing_was_looked_at_yet(history):
    table = learning_table(history)
    assert table.empty
    figure = learning_curve(table, "note")
    assert figure.layout.title.text.startswith("Nothing learnt yet")
    assert "note" in figure.layout.title.text


def test_the_picture_shows_the_table():
    table = learning_table(HISTORY)
    figure = learning_curve(table, "60 prompts")
    traces = {trace.name: (list(trace.x), list(trace.y), trace.xaxis) for trace in figure.data}
    assert traces == {
        "loss": ([150, 450], [8.0, 5.0], "x"),
        "draft token 1": ([150, 450], [0.25, 0.5], "x2"),
        "draft token 2": ([150, 450], [0.1, 0.4], "x2"),
    }
    assert figure.layout.title.text.startswith("From 1.30 to 1.70 tokens per step on held-out prompts")
    assert "60 prompts" in figure.layout.title.text
    assert tuple(figure.layout.yaxis2.range) == (0, 1)
    assert len({trace.line.color for trace in figure.data}) == 3


def test_the_first_look():
    title = learning_curve(learning_table(HISTORY[:2])).layout.title.text
    assert title.startswith("After the first look a step would yield 1.30 tokens")


def test_live_it_is_drawn_once_and_redrawn_at_every_look(monkeypatch):
    """As a bundle under one display id: a plotly figure would display itself anew each time."""
    drawn = []

    class Handle:
        def update(self, bundle, *, raw):
            drawn.append(("again", bundle, raw))

    def display(bundle, *, raw, display_id):
        assert display_id is True
        drawn.append(("first", bundle, raw))
        return Handle()

    monkeypatch.setattr("IPython.display.display", display)
    live = LiveCurve("note")
    for entry in HISTORY:
        live(entry)
    assert [(kind, raw) for kind, _, raw in drawn] == [("first", True), ("again", True)]
    titles = [go.Figure(bundle[PLOTLY_MIME]).layout.title.text for _, bundle, _ in drawn]
    assert titles[0].startswith("After the first look a step would yield 1.30")
    assert titles[1] == learning_curve(learning_table(HISTORY), "note").layout.title.text
