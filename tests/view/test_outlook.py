"""Measured and predicted side by side: the table, its figure, its title."""

import numpy as np
import pytest

from labkit.view import figures, findings, tables

GAINS = {("ngram", 2): 1.2, ("ngram", 4): 1.4, ("draft", 2): 1.1, ("draft", 4): 0.8}


def table(sweep, **options):
    return tables.outlook(sweep(gains=GAINS, **options))


def test_measured_and_predicted_rows_of_each_drafter(sweep):
    found = table(sweep)
    kinds = found.groupby(["drafter", "kind", "temperature"])["k"].apply(list).to_dict()
    assert kinds["draft", "measured", 0.0] == [2, 4]
    assert kinds["draft", "predicted", 0.0] == [2, 3, 4], "between the measured K, not outside"
    assert found.attrs["drafters"] == [("draft", "draft_model"), ("ngram", "ngram")]
    assert any("draft K=1" in sentence for sentence in found.attrs["unknown"])


def test_figures_of_a_measured_row_are_those_of_the_speedup_table(sweep):
    found, measured = table(sweep, jitter=0.1), tables.speedups(sweep(gains=GAINS, jitter=0.1))
    own = found[found["kind"] == "measured"].sort_values(["drafter", "k", "temperature"])
    same = measured.sort_values(["drafter", "k", "temperature"])
    for column in ("speedup", "low", "high"):
        assert own[column].tolist() == pytest.approx(same[column].tolist())


def test_a_prediction_says_where_it_comes_from_and_how_wrong_it_may_be(sweep):
    found = table(sweep)
    row = found[(found["kind"] == "predicted") & (found["drafter"] == "draft")].iloc[0]
    assert row["source"] == "steps"
    assert np.isnan(row["fit_error"])
    assert "no error estimate" in row["note"]
    assert row["tpot_ms"] > 0


def test_nothing_measured_is_an_empty_table_with_its_columns(sweep):
    assert list(tables.outlook([]).columns) == list(table(sweep).columns)
    assert len(tables.outlook([])) == 0


def test_the_figure_tells_measured_replayed_and_predicted_apart(sweep):
    found = table(sweep)
    made = figures.every_k(found, "n = 6")
    at = {(t.name, t.yaxis or "y"): t for t in made.data}
    assert at["draft, predicted", "y3"].line.dash == "dash"
    assert at["draft, replayed", "y"].line.dash is None
    dots = at["draft, measured", "y3"]
    assert dots.mode == "markers"
    own = found[(found["kind"] == "measured") & (found["drafter"] == "draft") & (found["temperature"] == 0)]
    assert list(dots.y) == own["speedup"].tolist()
    band = at["band of draft", "y3"]
    assert band.fill == "toself"
    assert made.layout.title.text.split("<br>")[0] == findings.every_k_title(found, (4, 6))


def test_an_empty_run_is_a_figure_that_says_so():
    made = figures.every_k(tables.outlook([]), "")
    assert "No speedup has an interval yet" in made.layout.title.text


def test_the_title_holds_the_rule_of_thumb_against_the_best_k(sweep):
    title = findings.every_k_title(table(sweep), (4, 6))
    assert title.startswith("Best is ngram K=4 with 1.40× [1.40, 1.40]")
    low = findings.every_k_title(tables.outlook(sweep(gains={("draft", 2): 1.3, ("draft", 4): 0.9})), (4, 6))
    assert low == "Best is draft K=2 with 1.30× [1.30, 1.30]; the rule K = 4 to 6 would give 0.90× at most"
    none = findings.every_k_title(tables.outlook(sweep(gains={("draft", 2): 0.7, ("ngram", 2): 0.8}), up_to=2), (4, 6))
    assert none.startswith("No K is surely faster; the best, ")
