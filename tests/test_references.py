"""Published figures: what ships is whole and adds up, what is broken is named."""

import pytest

from labkit.errors import ConfigError
from labkit.references import load_references

GOOD = """
source: {name: X, title: "X 2020"}
claims:
  - {id: a, says: fast, figure: speedup, value: [2, 3]}
"""


@pytest.fixture(scope="module")
def claims():
    return {claim.id: claim for reference in load_references() for claim in reference.claims}


def test_the_article_comes_first_and_all_sources_are_there():
    assert [r.source.name for r in load_references()] == [
        "the article", "EAGLE-3", "Leviathan et al. 2023", "Spec-Bench", "SPEED-Bench",
    ]  # fmt: skip


def test_every_source_but_the_article_can_be_looked_up():
    assert [r.source.name for r in load_references() if not r.source.url.startswith("https://")] == ["the article"]


def test_the_figures_of_the_article(claims):
    assert claims["dashboard-speed"].value == (2.71, 2.71)
    assert (claims["report-before"].value, claims["report-after"].value) == ((35.7, 35.7), (13.1, 13.1))
    assert claims["acceptance"].value == (0.75, 0.85)
    assert claims["acceptance"].given.k == 5
    assert (claims["cold"].value[0], claims["cold"].given.temperature) == (3.0, 0.1)
    assert (claims["hot"].value[0], claims["hot"].given.temperature) == (1.4, 1.0)


def test_figures_that_follow_from_others_do(claims):
    before, after = claims["dashboard-before"].value[0], claims["dashboard-after"].value[0]
    assert claims["dashboard-speed"].value[0] == pytest.approx(after / before, abs=0.005)
    assert claims["report-before"].value[0] == pytest.approx(1000 / before, abs=0.05)
    assert claims["report-after"].value[0] == pytest.approx(1000 / after, abs=0.1)
    assert claims["eagle3-sglang-1"].value[0] == pytest.approx(373.25 / 158.34, abs=0.005)


def test_the_table_of_leviathan(claims):
    """Table 2 of the paper, the rows of T5-small: temperature, drafts, speedup."""
    rows = [claims[f"leviathan-{task}-{how}"] for task in ("translation", "summary") for how in ("greedy", "sampled")]
    assert [(row.given.temperature, row.given.k, row.value[0]) for row in rows] == [
        (0, 7, 3.4), (1, 7, 2.6), (0, 5, 3.1), (1, 5, 2.3),
    ]  # fmt: skip


def test_every_claim_of_a_paper_says_where_it_stands(claims):
    papers = [r for r in load_references() if r.source.name != "the article"]
    assert [claim.id for reference in papers for claim in reference.claims if not claim.where] == []


def test_a_step_yields_one_token_more_than_it_accepts(claims):
    step = claims["picture"].step
    assert (step.tokens, step.speedup) == (5, pytest.approx(10 / 3))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("source: [", r"cannot read .*x\.yaml"),
        (GOOD.replace("says", "sais"), r"x\.yaml: unknown key 'claims\.0\.sais'; .*did you mean 'says'"),
        (GOOD.replace("speedup", "speed"), r"x\.yaml: claims\.0\.figure: "),
        (GOOD.replace("[2, 3]", "[3, 2]"), r"claim a: value is \[lowest, highest\]; got \[3\.0, 2\.0\]"),
        (
            GOOD + "  - {id: a, says: again, figure: speedup, value: [1, 1]}",
            r"claim 'a' stands in x\.yaml and in x\.yaml",
        ),
    ],
    ids=["no YAML", "unknown key", "unknown figure", "wrong way round", "twice"],
)
def test_a_broken_file_is_named(tmp_path, text, message):
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_references(tmp_path)


def test_a_good_file_is_read(tmp_path):
    (tmp_path / "x.yaml").write_text(GOOD)
    (only,) = load_references(tmp_path)
    assert only.claims[0].value == (2, 3)
    assert only.claims[0].given.categories == ()


def test_an_empty_folder_is_a_mistake(tmp_path):
    with pytest.raises(ConfigError, match="no references in"):
        load_references(tmp_path)
