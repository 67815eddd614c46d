"""Claimed and measured as a table that a report shows, and where the claims were read."""

import pytest

from labkit.references import load_references
from labkit.view import tables
from labkit.view.present import show


@pytest.fixture(scope="module")
def table(sweep):
    return tables.claims(sweep(blocks=1))


def test_every_claim_that_ships_is_a_row(table):
    assert len(table) == sum(len(r.claims) for r in load_references())
    assert list(table) == [
        "source", "claim", "figure", "claimed", "measured", "low", "high", "cell", "comparable", "why",
    ]  # fmt: skip
    assert set(table["comparable"]) == {"partly", "no"}, "another target on another machine"


def test_a_row_has_claim_and_own_figure_side_by_side(table):
    row = table.loc[table["source"].eq("Spec-Bench, leaderboard on 3090") & table["figure"].eq("speedup")].iloc[0]
    assert (row["claimed"], row["measured"], row["cell"]) == (
        "1.55", pytest.approx(1.4), "ngram K=4, T = 0, concurrency 1",
    )  # fmt: skip
    assert "another target (demo-target, not Vicuna-7B-v1.3) on another machine" in row["why"]
    assert table.loc[table["claim"].str.startswith("T5-XXL: 2×"), "claimed"].tolist() == ["2–3"]


def test_the_step_of_the_article_is_counted_right(table):
    assert table.loc[table["claim"].str.contains("4 of 5"), "claimed"].tolist() == ["4 (really 5)"]
    assert "accepting 4 of 5 drafts yields 5 tokens, not 4" in repr(show(table))


def test_every_source_has_its_address():
    sources = tables.sources()
    assert sources["source"].tolist() == [r.source.name for r in load_references()]
    assert sources.set_index("source").loc["Leviathan et al. 2023", "address"] == "https://arxiv.org/abs/2211.17192"
