"""Sentences: the right arm, the right numbers, and no claim that the table does not carry."""

import pandas as pd
import pytest

from labkit.view import findings

NAN = float("nan")


def joined(*tables):
    return pd.concat(tables, ignore_index=True)


def table(*rows, **common):
    """Speedups from (drafter, K, low, speedup, high); further columns the same in all rows."""
    plain = {"temperature": 0.0, "concurrency": 1, "prompts": 20, "left_out": 0, "blocks": 3, "launches": "resampled"}
    own = ["drafter", "k", "low", "speedup", "high"]
    filled = [plain | dict(zip(own, row, strict=True)) | common for row in rows]
    return pd.DataFrame(filled, columns=list(dict.fromkeys([*own, *plain, *common])))


GAIN = ("ngram", 4, 1.03, 1.33, 1.72)
SURER = ("eagle3", 2, 1.15, 1.20, 1.25)
UNDECIDED = ("draft", 2, 0.95, 1.05, 1.15)
LOSS = ("draft", 4, 0.70, 0.80, 0.90)
FEW = ("suffix", 2, NAN, 1.50, NAN)
NONE = ("suffix", 4, NAN, NAN, NAN)


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (GAIN, "1.33× [1.03, 1.72]"),
        (FEW, "1.50× (too few prompts for an interval)"),
        (NONE, "no figure: no prompt was usable"),
    ],
)
def test_interval_text(row, text):
    assert findings.interval_text(table(row).iloc[0]) == text


def test_interval_text_of_another_column_and_unit():
    row = pd.Series({"mean_acceptance_length": 2.4, "low": 2.3, "high": 2.5})
    assert findings.interval_text(row, "mean_acceptance_length", "") == "2.40 [2.30, 2.50]"


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        pytest.param([LOSS, GAIN], "ngram K=4 is faster at T = 0, 1 user: 1.33× [1.03, 1.72]", id="sure gain"),
        pytest.param([GAIN, SURER], "eagle3 K=2 is faster at T = 0, 1 user: 1.20× [1.15, 1.25]", id="by lower bound"),
        pytest.param([FEW, GAIN], "ngram K=4 is faster at T = 0, 1 user: 1.33× [1.03, 1.72]", id="bounds beat none"),
        pytest.param([LOSS], "No drafter pays: every interval lies below 1×", id="all losing"),
        pytest.param(
            [LOSS, UNDECIDED],
            "No drafter is surely faster; the best is draft K=2 at T = 0, 1 user: 1.05× [0.95, 1.15]",
            id="undecided",
        ),
        pytest.param(
            [FEW],
            "No drafter is surely faster; the best is suffix K=2 at T = 0, 1 user: "
            "1.50× (too few prompts for an interval)",
            id="too few prompts",
        ),
        pytest.param([NONE], "No speedup could be computed", id="no figure"),
        pytest.param([], "No speedup could be computed", id="empty"),
    ],
)
def test_speedup_title(rows, title):
    assert findings.speedup_title(table(*rows)) == title


@pytest.mark.parametrize(("users", "words"), [(1, "1 user:"), (8, "8 users:")])
def test_the_title_says_where(users, words):
    assert words in findings.speedup_title(table(GAIN, concurrency=users))


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        pytest.param(
            [LOSS, GAIN, SURER], "switch on eagle3 K=2; it is 1.20× [1.15, 1.25] as fast as without.", id="sure gain"
        ),
        pytest.param([LOSS, LOSS], "leave speculation off; every drafter measured is slower.", id="all losing"),
        pytest.param(
            [UNDECIDED],
            "not decided; no interval lies above 1×. The best, draft K=2, is 1.05× [0.95, 1.15]. "
            "Measure more prompts or blocks.",
            id="undecided",
        ),
        pytest.param(
            [FEW],
            "not decided; no interval lies above 1×. The best, suffix K=2, is 1.50× (too few prompts for an "
            "interval). Measure more prompts or blocks.",
            id="too few prompts",
        ),
        pytest.param([NONE], "no figure; no prompt was usable in both arms.", id="no figure"),
    ],
)
def test_verdict(rows, sentence):
    assert findings.verdict(table(*rows)) == [f"At T = 0 with 1 user: {sentence}"]


def test_an_undecided_verdict_does_not_deny_a_sure_loss():
    """One interval lies wholly below 1×: "no interval lies clear of 1×" is untrue."""
    (sentence,) = findings.verdict(table(LOSS, UNDECIDED))
    assert "not decided" in sentence
    assert "no interval lies clear" not in sentence


def test_title_and_verdict_name_the_same_best_arm():
    """Both undecided; one has the better lower bound, the other the better figure and a wide interval."""
    rows = table(("ngram", 2, 0.98, 1.02, 1.06), ("ngram", 4, 0.60, 1.30, 2.90))
    named = "ngram K=2" if "ngram K=2" in findings.speedup_title(rows) else "ngram K=4"
    assert named in findings.verdict(rows)[0]


def test_a_sentence_per_temperature_and_concurrency():
    rows = joined(table(GAIN), table(LOSS, temperature=0.8), table(UNDECIDED, concurrency=8))
    first, second, third = findings.verdict(rows)
    assert first.startswith("At T = 0 with 1 user: switch on")
    assert second.startswith("At T = 0 with 8 users: not decided")
    assert third.startswith("At T = 0.8 with 1 user: leave")


def test_an_empty_table_has_no_verdict():
    assert findings.verdict(table()) == []


def positions(*rows):
    columns = ["drafter", "k", "temperature", "concurrency", "position", "joint"]
    return pd.DataFrame(rows, columns=columns)


def test_acceptance_title():
    rows = positions(
        ("ngram", 2, 0.0, 1, 1, 0.50),
        ("ngram", 2, 0.0, 1, 2, 0.41),
        ("draft", 2, 0.0, 1, 1, 0.77),
        ("draft", 2, 0.0, 1, 2, 0.22),
    )
    assert findings.acceptance_title(rows) == "draft K=2 at T = 0: 77% of steps accept the first draft, 22% all 2"
    assert findings.acceptance_title(rows.iloc[:0]) == "Nothing was drafted"


def test_acceptance_title_keeps_to_one_concurrency():
    """The best cell runs 8 users; the end of its proposal must be its own, not that of 1 user."""
    rows = positions(
        ("draft", 2, 0.0, 1, 1, 0.50),
        ("draft", 2, 0.0, 1, 2, 0.10),
        ("draft", 2, 0.0, 8, 1, 0.80),
        ("draft", 2, 0.0, 8, 2, 0.60),
    )
    assert "80% of steps accept the first draft, 60% all 2" in findings.acceptance_title(rows)


def test_category_title():
    rows = joined(table(GAIN, category="code"), table(LOSS, category="prose"), table(NONE, category="sql"))
    assert findings.category_title(rows) == "Most on code (ngram K=4, 1.33×), least on prose (draft K=4, 0.80×)"
    assert findings.category_title(table(NONE, category="sql")) == "No speedup per category could be computed"
    assert findings.category_title(table(category="sql")) == "No speedup per category could be computed"


def steps(*rows):
    return pd.DataFrame(rows, columns=["drafter", "k", "step_ms", "tokens_per_step", "tpot_ms"])


BASE = ("baseline", 0, 40.0, 1.0, 40.0)


def test_timeline_title():
    rows = steps(BASE, ("ngram", 4, 47.6, 1.67, 28.6), ("draft", 4, 153.8, 3.08, 50.0))
    assert findings.timeline_title(rows) == "A step of ngram K=4 takes 48 ms for 1.67 tokens; the baseline 40 ms for 1"


@pytest.mark.parametrize(
    "rows",
    [[], [BASE], [("ngram", 4, 47.6, 1.67, 28.6)], [BASE, ("ngram", 4, NAN, NAN, NAN)]],
    ids=["empty", "baseline only", "no baseline", "no times"],
)
def test_no_timeline(rows):
    assert (
        findings.timeline_title(steps(*rows))
        == "No timeline: it needs the baseline and a drafter whose steps are counted"
    )


@pytest.mark.parametrize(
    ("rows", "note"),
    [
        pytest.param(table(GAIN), "n = 20 prompts × 3 blocks · w", id="resampled"),
        pytest.param(
            table(GAIN, blocks=1, launches="this launch only"),
            "n = 20 prompts × 1 block, this launch only · w",
            id="one launch",
        ),
        pytest.param(
            joined(table(GAIN, left_out=2), table(LOSS, prompts=22)),
            "n = 20–22 prompts × 3 blocks, 2 looping left out at most · w",
            id="a span",
        ),
        pytest.param(
            joined(table(GAIN), table(LOSS, blocks=2, launches="this launch only")),
            "n = 20 prompts × 3 blocks, this launch only · w",
            id="one arm of fewer blocks",
        ),
        pytest.param(table(), "w", id="empty"),
    ],
)
def test_sample_note(rows, note):
    assert findings.sample_note(rows, "w") == note
