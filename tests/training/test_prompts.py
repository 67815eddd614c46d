"""Training prompts: reproducible, whole, and nothing of them is measured."""

import json
import re

import pytest
import yaml

from labkit.errors import WorkloadError
from labkit.paths import DATA
from labkit.training.prompts import training_categories, training_prompts
from labkit.workloads import shipped_categories

SOURCES = {name: yaml.safe_load((DATA / "training" / f"{name}.yaml").read_text("utf-8"))
           for name in training_categories()}  # fmt: skip


def text_of(prompt):
    (message,) = prompt.messages
    return message["content"]


@pytest.fixture(scope="module")
def prompts():
    return training_prompts(300)


def test_the_same_seed_gives_the_same_prompts():
    assert training_prompts(20, seed=3) == training_prompts(20, seed=3)
    assert training_prompts(20, seed=3) != training_prompts(20, seed=4)


def test_more_prompts_keep_the_fewer(prompts):
    few, many = training_prompts(20), prompts
    assert few == many[: len(few)]


def test_every_measured_category_is_trained_on(prompts):
    assert training_categories() == shipped_categories()
    assert [p.category for p in prompts[:5]] == training_categories()
    assert {name: sum(p.category == name for p in prompts) for name in training_categories()} == dict.fromkeys(
        training_categories(), 300
    )


def test_ids_and_texts_are_distinct(prompts):
    assert len({p.id for p in prompts}) == len({text_of(p) for p in prompts}) == len(prompts)


def test_the_language_is_told_from_the_text(prompts):
    assert all((p.language == "zh") == bool(re.search("[\u4e00-\u9fff]", text_of(p))) for p in prompts)
    assert {p.language for p in prompts} == {"en", "zh"}


def test_no_slot_is_left_unfilled(prompts):
    """Braces of code stay; a slot's name in braces does not."""
    for prompt in prompts:
        found = set(re.findall(r"\{([a-z_]+)\}", text_of(prompt)))
        assert not found & set(SOURCES[prompt.category]["slots"]), prompt.id


@pytest.mark.parametrize("category", SOURCES)
def test_every_slot_is_used_and_every_used_slot_is_there(category):
    source = SOURCES[category]
    used = {name for template in source["templates"] for name in re.findall(r"\{([a-z_]+)\}", template)}
    assert used == set(source["slots"])


def test_too_many_are_refused(tmp_path, monkeypatch):
    (tmp_path / "training").mkdir()
    source = {"templates": ["Name a {colour} {thing}."], "slots": {"colour": ["red", "blue"], "thing": ["cup", "hat"]}}
    (tmp_path / "training" / "few.yaml").write_text(yaml.safe_dump(source))
    monkeypatch.setattr("labkit.training.prompts.DATA", tmp_path)
    assert len(training_prompts(4)) == 4
    with pytest.raises(WorkloadError, match=r"few\.yaml gives 4 distinct prompts, 5 were asked for"):
        training_prompts(5)


def shared(text, seen):
    """Sequences of 8 words, or of 12 characters of Chinese, that ``text`` has in common with ``seen``."""
    return sequences(text) & seen


def sequences(text):
    words, signs = re.findall(r"\w+", text.lower()), "".join(re.findall(r"\w", text))
    chinese = (signs[i : i + 12] for i in range(len(signs) - 11))
    return {" ".join(words[i : i + 8]) for i in range(len(words) - 7)} | {
        run for run in chinese if len(re.findall("[\u4e00-\u9fff]", run)) >= 6
    }


@pytest.fixture(scope="module")
def measured():
    lines = [
        line for path in sorted((DATA / "prompts").glob("*.jsonl")) for line in path.read_text("utf-8").splitlines()
    ]
    found = set()
    for prompt in map(json.loads, lines):
        for text in [*(m["content"] for m in prompt["messages"]), *prompt.get("follow_ups", ())]:
            found |= sequences(text)
    return found


def test_the_search_for_shared_text_finds_some(measured):
    assert len(measured) > 10_000
    known = json.loads((DATA / "prompts" / "report.jsonl").read_text("utf-8").splitlines()[0])["messages"][0]["content"]
    assert shared(f"Please: {known}", measured)
    assert sequences("请用中文写一份关于项目进展的报告")


def test_training_shares_no_text_with_what_is_measured(prompts, measured):
    sources = [
        text for s in SOURCES.values() for text in [*s["templates"], *(e for es in s["slots"].values() for e in es)]
    ]
    for text in [*map(str, sources), *map(text_of, prompts)]:
        assert not shared(text, measured), text
