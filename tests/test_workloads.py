"""Workloads: what the shipped sets hold, and how prompts are picked and put in order."""

import json
import re
import shutil

import pytest

from labkit.errors import WorkloadError
from labkit.plan import WorkloadSpec
from labkit.workloads import load_workload, shipped_categories

CATEGORIES = ["code", "creative", "editing", "report", "text_to_sql"]


@pytest.fixture(scope="module")
def shipped():
    return load_workload(WorkloadSpec()).prompts


def of(prompts, category):
    return [prompt for prompt in prompts if prompt.category == category]


def text(prompt):
    return prompt.messages[-1]["content"]


# --- the shipped sets -----------------------------------------------------------------------------------


def test_the_shipped_categories(shipped):
    assert shipped_categories() == CATEGORIES
    assert sorted({prompt.category for prompt in shipped}) == CATEGORIES


@pytest.mark.parametrize("category", CATEGORIES)
def test_a_shipped_set_is_large_and_bilingual(shipped, category):
    prompts = of(shipped, category)
    languages = [prompt.language for prompt in prompts]
    assert len(prompts) >= 40
    assert set(languages) == {"en", "zh"}
    assert min(languages.count("en"), languages.count("zh")) >= 10


def test_the_stated_language_is_that_of_the_text(shipped):
    """A Chinese prompt may hold a long piece of code or configuration, an English one no Chinese."""

    def han(prompt):
        return sum("\u4e00" <= c <= "\u9fff" for c in text(prompt))

    assert [p.id for p in shipped if p.language == "en" and han(p) > 0] == []
    assert [p.id for p in shipped if p.language == "zh" and han(p) < 10] == []


def test_reports_are_at_least_as_often_chinese(shipped):
    languages = [prompt.language for prompt in of(shipped, "report")]
    assert languages.count("zh") >= languages.count("en")


def test_ids_and_texts_are_unique_across_all_sets(shipped):
    assert len({prompt.id for prompt in shipped}) == len(shipped)
    assert len({text(prompt) for prompt in shipped}) == len(shipped)


def test_every_prompt_ends_with_the_user_and_says_something(shipped):
    assert {prompt.messages[-1]["role"] for prompt in shipped} == {"user"}
    assert min(len(text(prompt)) for prompt in shipped) >= 15


def test_editing_prompts_bring_the_text_to_copy(shipped):
    # a Chinese character carries about as much as two letters
    short = [p.id for p in of(shipped, "editing") if len(text(p)) < (200 if p.language == "en" else 100)]
    assert short == []


def test_sql_prompts_bring_their_schema(shipped):
    """Some create tables, some list columns in a way of their own; all name columns or tables, three at least."""

    def names(prompt):
        return set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", text(prompt)))

    lacking = [p.id for p in of(shipped, "text_to_sql") if "CREATE TABLE" not in text(p) and len(names(p)) < 3]
    assert lacking == []


# --- picking --------------------------------------------------------------------------------------------


@pytest.fixture
def source(tmp_path):
    """Six prompts of category a (four English, then two Chinese) and two of b."""
    rows = [{"id": f"a{i}", "category": "a", "language": "en" if i < 4 else "zh", "prompt": "x"} for i in range(6)]
    rows += [{"id": f"b{i}", "category": "b", "language": "en", "prompt": "x"} for i in range(2)]
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


def picked(**spec):
    return [prompt.id for prompt in load_workload(WorkloadSpec(**spec)).prompts]


@pytest.mark.parametrize(
    ("spec", "ids"),
    [
        ({}, ["a0", "b0", "a4", "b1", "a1", "a5", "a2", "a3"]),
        ({"per_category": 3}, ["a0", "b0", "a4", "b1", "a1"]),
        ({"per_category": 1}, ["a0", "b0"]),
        ({"categories": ("a",)}, ["a0", "a4", "a1", "a5", "a2", "a3"]),
        ({"languages": ("zh",)}, ["a4", "a5"]),
        ({"categories": ("a",), "languages": ("en",), "per_category": 2}, ["a0", "a1"]),
        ({"per_category": 100, "categories": ("b",)}, ["b0", "b1"]),
    ],
)
def test_categories_are_interleaved_and_languages_taken_in_turn(source, spec, ids):
    assert picked(source=source, **spec) == ids


def test_a_few_shipped_prompts_have_every_category_and_both_languages():
    prompts = load_workload(WorkloadSpec(per_category=4)).prompts
    assert len(prompts) == 20
    assert [p.category for p in prompts[:5]] == CATEGORIES  # a run cut off after five still has them all
    for category in CATEGORIES:
        assert sorted(p.language for p in of(prompts, category)) == ["en", "en", "zh", "zh"]


def test_the_first_prompts_stay_when_more_are_taken():
    few, more = (set(picked(per_category=n)) for n in (3, 7))
    assert few < more


def test_only_the_asked_shipped_categories():
    workload = load_workload(WorkloadSpec(categories=("report", "code"), languages=("zh",), per_category=5))
    assert workload.categories == ["code", "report"]
    assert {prompt.language for prompt in workload.prompts} == {"zh"}
    assert len(workload.prompts) == 10


def test_a_workload_is_named_after_its_source(source):
    assert load_workload(WorkloadSpec()).name == "shipped prompts"
    assert load_workload(WorkloadSpec(source=source)).name == "mine.jsonl"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"categories": ("cod",)}, ["unknown category 'cod'", "code, creative, editing", "did you mean 'code'?"]),
        ({"categories": ("code", "sql")}, ["unknown category 'sql'", "there are code"]),
        ({"languages": ("eng",)}, ["unknown language 'eng'", "there are en, zh", "did you mean 'en'?"]),
        ({"languages": ("de",)}, ["unknown language 'de'", "there are en, zh"]),
    ],
)
def test_an_unknown_name_is_refused(spec, said):
    with pytest.raises(WorkloadError) as caught:
        load_workload(WorkloadSpec(**spec))
    for part in said:
        assert part in str(caught.value)


def test_an_unknown_category_of_a_file_is_refused(source):
    with pytest.raises(WorkloadError, match="unknown category 'code'; there are a, b"):
        load_workload(WorkloadSpec(source=source, categories=("code",)))


def test_nothing_left_says_what_was_asked(source):
    with pytest.raises(WorkloadError) as caught:
        load_workload(WorkloadSpec(source=source, categories=("b",), languages=("zh",)))
    for part in ("no prompts left", "mine.jsonl", "['b']", "['zh']"):
        assert part in str(caught.value)


def test_a_missing_source_is_refused(tmp_path):
    with pytest.raises(WorkloadError, match="no prompts file at"):
        load_workload(WorkloadSpec(source=str(tmp_path / "no.jsonl")))


# --- the hash -------------------------------------------------------------------------------------------


def test_the_hash_is_that_of_what_is_sent(source, tmp_path):
    copy = shutil.copy(source, tmp_path / "copy.jsonl")
    first, same = (load_workload(WorkloadSpec(source=str(path))) for path in (source, copy))
    assert first.hash == same.hash


@pytest.mark.parametrize("change", [{"max_tokens": 64}, {"per_category": 1}, {"categories": ("b",)}])
def test_the_hash_changes_with_prompts_and_max_tokens(source, change):
    assert load_workload(WorkloadSpec(source=source, **change)).hash != load_workload(WorkloadSpec(source=source)).hash


def test_the_hash_changes_with_a_word(source, tmp_path):
    before = load_workload(WorkloadSpec(source=source)).hash
    path = tmp_path / "mine.jsonl"
    path.write_text(path.read_text().replace('"x"', '"y"', 1))
    assert load_workload(WorkloadSpec(source=source)).hash != before
