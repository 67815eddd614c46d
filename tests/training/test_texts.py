"""The target's answers, collected through a server: kept, gone on with, never half."""

import dataclasses
import json

import pytest

from labkit.config import SpecConfig
from labkit.drafters.demo import locate
from labkit.errors import MeasurementError, WorkloadError
from labkit.paths import DATA
from labkit.training.prompts import training_categories, training_prompts
from labkit.training.run import SHIPPED_MAX_TOKENS
from labkit.training.texts import TEMPERATURES, Text, collect_texts, read_texts

TEXT = Text(prompt_id="p", category="code", temperature=0.0, prompt_ids=(1, 2), output_ids=(3, 4, 5))


def collect(engine, workload, path, **options):
    return collect_texts(engine, workload.prompts, path, max_tokens=12, **options)


def lines(path):
    return [json.loads(line)["prompt_id"] for line in path.read_text().splitlines()]


def test_every_prompt_is_answered_and_stored(simulate, workload, tmp_path):
    path, seen = tmp_path / "new" / "texts.jsonl", []
    have = collect(simulate(SpecConfig()), workload, path, progress=lambda done, total: seen.append((done, total)))
    assert set(have) == {prompt.id for prompt in workload.prompts}
    assert {text.prompt_id: text for text in read_texts(path)} == have
    assert seen == [(i, 6) for i in range(1, 7)]
    for prompt in workload.prompts:
        text = have[prompt.id]
        assert text.category == prompt.category
        assert text.prompt_ids
        assert 1 <= len(text.output_ids) <= 12


def test_the_temperature_belongs_to_the_prompt(simulate, workload, tmp_path):
    engine = simulate(SpecConfig())
    first = collect(engine, workload, tmp_path / "a.jsonl")
    turned = dataclasses.replace(workload, prompts=workload.prompts[::-1])
    second = collect(engine, turned, tmp_path / "b.jsonl", concurrency=1)
    assert {i: t.temperature for i, t in first.items()} == {i: t.temperature for i, t in second.items()}
    assert {t.temperature for t in first.values()} == set(TEMPERATURES)
    greedy = collect(engine, workload, tmp_path / "c.jsonl", temperatures=(0.0,))
    assert {t.temperature for t in greedy.values()} == {0.0}


def test_what_is_there_is_kept(simulate, workload, tmp_path):
    engine, path = simulate(SpecConfig()), tmp_path / "texts.jsonl"
    few = dataclasses.replace(workload, prompts=workload.prompts[:4])
    first = collect(engine, few, path)
    before, seen = path.read_bytes(), []
    have = collect(engine, workload, path, progress=lambda done, total: seen.append(done))
    assert path.read_bytes().startswith(before)
    assert first.items() <= have.items()
    assert seen == [5, 6]


@pytest.mark.parametrize("cut", [1, 2, 30])
def test_a_cut_last_line_is_left_out_and_collected_again(simulate, workload, tmp_path, cut):
    """As a kill in the middle of writing leaves it; with only the line's end missing the text counts."""
    engine, path = simulate(SpecConfig()), tmp_path / "texts.jsonl"
    whole = collect(engine, workload, path)
    path.write_bytes(path.read_bytes()[:-cut])
    assert len(read_texts(path)) == (6 if cut == 1 else 5)
    assert set(collect(engine, workload, path)) == set(whole)
    assert sorted(lines(path)) == sorted(whole)
    assert len(read_texts(path)) == 6


def test_a_failed_request_says_which_and_keeps_the_rest(simulate, workload, tmp_path):
    path = tmp_path / "texts.jsonl"
    with pytest.raises(MeasurementError, match=r"p4: the server broke the stream off"):
        collect(simulate(SpecConfig(), faults=("error_mid_stream",)), workload, path, concurrency=1)
    assert lines(path) == ["p0", "p1", "p2", "p3"]


def test_many_failed_requests_are_one_error(simulate, workload, tmp_path):
    engine = simulate(SpecConfig())
    engine.close()
    with pytest.raises(MeasurementError, match=r"p\d: "):
        collect(engine, workload, tmp_path / "texts.jsonl")


@pytest.mark.parametrize(
    "broken", ["no json", "[1, 2]", "7", "null", '{"prompt_id": "p"}', '{"prompt_ids": 3, "output_ids": []}', ""]
)
def test_a_broken_line_is_named(tmp_path, broken):
    path, good = tmp_path / "texts.jsonl", json.dumps(dataclasses.asdict(TEXT))
    path.write_text(f"{good}\n{broken}\n{good}\n")
    with pytest.raises(WorkloadError, match=r"texts\.jsonl, line 2: no text of labkit's"):
        read_texts(path)


def test_a_broken_last_line_that_is_whole_is_an_error_too(tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text(json.dumps(dataclasses.asdict(TEXT)) + '\n{"prompt_id"\n')
    with pytest.raises(WorkloadError, match="line 2"):
        read_texts(path)


def test_a_file_of_something_else_or_none(tmp_path):
    with pytest.raises(WorkloadError, match=r"no texts at .*; give a file that 'labkit drafters train' wrote"):
        read_texts(tmp_path / "none.jsonl")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\n\xff\n")
    with pytest.raises(WorkloadError, match="line 1"):
        read_texts(tmp_path / "bytes")
    (tmp_path / "empty").write_text("")
    assert read_texts(tmp_path / "empty") == []


def test_a_loop_is_cut_where_it_comes_for_the_third_time():
    line = tuple(range(100, 120))
    assert dataclasses.replace(TEXT, output_ids=line * 2).without_loop().output_ids == line * 2
    cut = dataclasses.replace(TEXT, output_ids=line * 5).without_loop()
    assert cut.output_ids == line * 2 + line[:8]
    assert dataclasses.replace(cut, output_ids=()) == dataclasses.replace(TEXT, output_ids=())
    assert dataclasses.replace(TEXT, output_ids=(7,) * 50).without_loop().output_ids == (7,) * 10
    assert TEXT.without_loop() == TEXT


@pytest.mark.engine
def test_the_shipped_texts_are_answers_to_the_training_prompts():
    """Of the demo target, by its own tokenizer and chat template; a prompt that is changed needs a new answer."""
    from transformers import AutoTokenizer

    have = {text.prompt_id: text for text in read_texts(DATA / "training" / "texts.jsonl.xz")}
    per_category = len(have) // len(training_categories())
    prompts = training_prompts(per_category)
    assert len(have) > 5000
    assert {prompt.id for prompt in prompts} <= set(have)
    tokenizer = AutoTokenizer.from_pretrained(locate("demo"))
    for prompt in prompts[::97]:
        said = tokenizer.apply_chat_template(list(prompt.messages), add_generation_prompt=True, return_dict=False)
        assert tuple(said) == have[prompt.id].prompt_ids
    assert max(len(text.output_ids) for text in have.values()) <= SHIPPED_MAX_TOKENS
