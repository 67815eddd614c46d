"""Prompt files: every format, real Spec-Bench data, every broken line named by file and line."""

import json
from collections import Counter
from pathlib import Path

import pytest

from labkit.errors import WorkloadError
from labkit.importers import guess_language, read_prompts

SPEC_BENCH = Path(__file__).parents[2] / "shared" / "data" / "spec_bench_question.jsonl"


@pytest.fixture
def read(tmp_path):
    """Write ``content`` (text, bytes, a list of JSON Lines rows) and read it as prompts."""

    def write_and_read(content, name="some.jsonl"):
        if isinstance(content, list):
            content = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in content)
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_prompts(path)

    return write_and_read


def user(text):
    return {"role": "user", "content": text}


def answer(text):
    return {"role": "assistant", "content": text}


def texts(prompts):
    return [prompt.messages[-1]["content"] for prompt in prompts]


# --- formats --------------------------------------------------------------------------------------------


def test_labkits_own_format(read):
    row = {"id": "a1", "category": "code", "language": "zh", "messages": [user("hi")], "follow_ups": ["and?", "so?"]}
    [prompt] = read([row])
    assert (prompt.id, prompt.category, prompt.language) == ("a1", "code", "zh")
    assert prompt.messages == (user("hi"),)
    assert prompt.follow_ups == ("and?", "so?")


def test_openai_messages_lose_the_answer_on_record(read):
    system = {"role": "system", "content": "be brief"}
    rows = [
        {"messages": [system, user("one"), answer("two"), user("three"), answer("four")]},
        {"messages": [user("five"), answer("six"), answer("seven")]},
    ]
    first, second = read(rows)
    assert first.messages == (system, user("one"), answer("two"), user("three"))
    assert second.messages == (user("five"),)
    assert [first.id, second.id] == ["line-1", "line-2"]
    assert {first.category, second.category} == {"imported"}


def test_vllm_custom(read):
    prompts = read([{"prompt": "one", "output_tokens": 5}, {"prompt": "写一首关于秋天的诗", "category": "creative"}])
    assert texts(prompts) == ["one", "写一首关于秋天的诗"]
    assert [(p.category, p.language) for p in prompts] == [("imported", "en"), ("creative", "zh")]


SHAREGPT = [
    {
        "id": "plain",
        "conversations": [
            {"from": "human", "value": "one"},
            {"from": "gpt", "value": "two"},
            {"from": "human", "value": "three"},
            {"from": "gpt", "value": "four"},
        ],
    },
    {"id": "gpt first", "conversations": [{"from": "gpt", "value": "hello"}, {"from": "human", "value": "five"}]},
    {"id": "system", "conversations": [{"from": "system", "value": "be brief"}, {"from": "human", "value": "six"}]},
    {"id": "other names", "conversations": [{"from": "user", "value": "seven"}, {"from": "assistant", "value": "8"}]},
    {"id": "nobody asks", "conversations": [{"from": "gpt", "value": "hello"}]},
    {"id": "empty", "conversations": []},
]


@pytest.mark.parametrize("indent", [None, 2])
def test_sharegpt(read, indent):
    prompts = read(json.dumps(SHAREGPT, indent=indent), "sg.json")
    assert [prompt.id for prompt in prompts] == ["plain", "gpt first", "system", "other names"]
    assert texts(prompts) == ["one", "five", "six", "seven"]
    assert [prompt.follow_ups for prompt in prompts] == [("three",), (), (), ()]
    assert prompts[2].messages == ({"role": "system", "content": "be brief"}, user("six"))
    assert {len(prompt.messages) for prompt in prompts} == {1, 2}


def test_sharegpt_as_json_lines(read):
    assert texts(read(SHAREGPT)) == ["one", "five", "six", "seven"]


def test_sharegpt_says_that_nobody_asks_anything(read):
    with pytest.raises(WorkloadError, match="holds no prompts"):
        read(SHAREGPT[4:])


@pytest.mark.skipif(not SPEC_BENCH.exists(), reason=f"Spec-Bench's question.jsonl is not at {SPEC_BENCH}")
def test_spec_bench_as_published():
    prompts = read_prompts(SPEC_BENCH)
    assert len(prompts) == 480
    assert sum(1 + len(prompt.follow_ups) for prompt in prompts) == 560
    kinds = Counter(prompt.category for prompt in prompts)
    assert sorted(kinds.values()) == [10] * 8 + [80] * 5
    assert kinds["translation"] == kinds["math_reasoning"] == 80
    assert (prompts[0].id, prompts[0].category) == ("81", "writing")
    assert prompts[0].follow_ups == ("Rewrite your previous response. Start every sentence with the letter A.",)
    assert {prompt.language for prompt in prompts} == {"en"}  # it translates from German, nothing is Chinese


def test_spec_bench_turns(read):
    [prompt] = read([{"question_id": 81, "category": "writing", "turns": ["one", "two", "three"], "reference": []}])
    assert (prompt.id, prompt.category) == ("81", "writing")
    assert texts([prompt]) == ["one"]
    assert prompt.follow_ups == ("two", "three")


@pytest.mark.parametrize(
    ("row", "identity"),
    [
        ({"id": "a", "question_id": 1}, "a"),
        ({"question_id": 1}, "1"),
        ({"custom_id": "c"}, "c"),
        ({"id": 0}, "0"),
        ({}, "line-1"),
        ({"id": None}, "line-1"),
    ],
)
def test_what_a_prompt_is_called(read, row, identity):
    assert read([row | {"prompt": "x"}])[0].id == identity


@pytest.mark.parametrize("key", ["category", "language"])
def test_null_is_as_good_as_nothing(read, key):
    assert read([{"prompt": "x", key: None}]) == read([{"prompt": "x"}])


# --- text -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85", "\u000b", "\u000c", "\u001c"], ids=ascii)
def test_only_a_line_feed_ends_a_line(read, sign):
    """JSON allows these inside a string (control characters escaped); ``str.splitlines`` would cut there."""
    row = json.dumps({"prompt": f"a{sign}b"}, ensure_ascii=False)
    assert texts(read(f'{row}\n{{"prompt": "c"}}\n')) == [f"a{sign}b", "c"]


@pytest.mark.parametrize(
    "content",
    [
        '{"prompt": "a"}\n{"prompt": "b"}',
        '{"prompt": "a"}\r\n{"prompt": "b"}\r\n',
        '\n\n{"prompt": "a"}\n   \n{"prompt": "b"}\n\n',
        '[{"prompt": "a"}, {"prompt": "b"}]',
        '  \n[\n{"prompt": "a"},\n{"prompt": "b"}\n]\n',
        b'\xef\xbb\xbf{"prompt": "a"}\n{"prompt": "b"}\n',
        b'\xef\xbb\xbf[{"prompt": "a"}, {"prompt": "b"}]',
    ],
    ids=["no last line feed", "CRLF", "blank lines", "a list", "a spread list", "BOM", "BOM and a list"],
)
def test_how_rows_may_be_laid_out(read, content):
    assert texts(read(content)) == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Write a poem.", "en"),
        ("写一首诗。", "zh"),
        ("用 Python 写一个函数 `merge_routes(routes)`，返回列表", "zh"),
        ("Translate 你好 into the language of the country where you were born", "en"),
        ("", "en"),
        ("123 !?", "en"),
        ("Schreibe ein Gedicht über Äpfel", "en"),
    ],
)
def test_guess_language(text, language):
    assert guess_language(text) == language


# --- what is refused ------------------------------------------------------------------------------------

GOOD = '{"prompt": "fine"}\n\n'
MESSAGE = "and text 'content'"
TURN = "and text 'value'"
KINDS = "expected an object with 'messages', 'prompt', 'turns' or 'conversations'"


def row(**fields):
    return json.dumps(fields)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", ["not JSON", "column 2"]),
        ('{"prompt": "a"} {"prompt": "b"}', ["not JSON", "Extra data"]),
        ("plain text", ["not JSON"]),
        pytest.param("[" * 100_000, ["not JSON"], id="nested too deep"),
        pytest.param('{"prompt": "a", "id": ' + "9" * 5000 + "}", ["not JSON"], id="a number too long"),
        ("5", [KINDS, "got int"]),
        ('["a"]', [KINDS, "got list"]),
        ("null", [KINDS, "got NoneType"]),
        (row(text="a", id=1), [KINDS, "keys ['id', 'text']"]),
        (row(prompt=5), ["'prompt' must be text", "got 5"]),
        (row(prompt=None), ["'prompt' must be text", "got None"]),
        (row(prompt=[1, 2]), ["'prompt' must be text", "got [1, 2]"]),
        (row(messages=[]), ["'messages' must be a non-empty list", "got []"]),
        (row(messages="a"), ["'messages' must be a non-empty list", "got 'a'"]),
        (row(messages=["a"]), [MESSAGE, "got 'a'"]),
        (row(messages=[{"role": "user"}]), [MESSAGE, "got {'role': 'user'}"]),
        (row(messages=[{"content": "a"}]), [MESSAGE]),
        (row(messages=[{"role": "user", "content": [{"type": "text", "text": "a"}]}]), [MESSAGE]),
        (row(messages=[{"role": "king", "content": "a"}]), [MESSAGE, "king"]),
        (row(messages=[{"role": ["user"], "content": "a"}]), [MESSAGE]),
        (row(messages=[answer("a")]), ["no user message", "an answer alone is no prompt"]),
        (row(messages=[{"role": "system", "content": "a"}]), ["no user message"]),
        (row(messages=[{"role": "system", "content": "a"}, answer("b")]), ["no user message"]),
        (row(messages=[user("a")], follow_ups="bcd"), ["'follow_ups'", "'bcd'"]),
        (row(messages=[user("a")], follow_ups=[1]), ["'follow_ups'", "[1]"]),
        (row(messages=[user("a")], follow_ups=5), ["'follow_ups'", "5"]),
        (row(turns=[]), ["'turns' must be a non-empty list of texts", "got []"]),
        (row(turns="ab"), ["'turns' must be a non-empty list of texts", "got 'ab'"]),
        (row(turns=["a", 1]), ["'turns' must be a non-empty list of texts", "got ['a', 1]"]),
        (row(conversations=None), ["'conversations' must be a list", "got None"]),
        (row(conversations=["a"]), [TURN, "got 'a'"]),
        (row(conversations=[{"from": "human"}]), [TURN]),
        (row(conversations=[{"value": "a"}]), [TURN]),
        (row(conversations=[{"from": "cat", "value": "a"}]), [TURN, "'cat'"]),
        (row(conversations=[{"from": "human", "value": None}]), [TURN]),
        (row(conversations=[{"from": "human", "value": "a"}, {"from": "human", "value": 5}]), [TURN]),
    ],
)
def test_a_broken_line_is_named(read, tmp_path, line, said):
    with pytest.raises(WorkloadError) as caught:
        read(GOOD + line)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'some.jsonl'}:3: ")
    for part in said:
        assert part in message
    assert len(message) < 600


def test_half_a_surrogate_pair_is_refused(read, tmp_path):
    """Cut-off emoji occur in scraped data; such text can be neither hashed nor sent."""
    with pytest.raises(WorkloadError) as caught:
        read(GOOD + r'{"prompt": "a \ud83d"}')
    assert str(caught.value).startswith(f"{tmp_path / 'some.jsonl'}:3: ")


@pytest.mark.parametrize(("one", "two"), [('"a"', '"a"'), ("1", '"1"')])
def test_a_second_use_of_an_id_names_both_lines(read, one, two):
    with pytest.raises(WorkloadError) as caught:
        read(f'{{"prompt": "x", "id": {one}}}\n\n{{"prompt": "y", "id": {two}}}\n')
    for part in ("some.jsonl:3:", f"id {json.loads(two)!r}", "already used in line 1", "must be unique"):
        assert part in str(caught.value)


def test_a_broken_list_is_named_by_its_line(read):
    with pytest.raises(WorkloadError, match=r"sg\.json:3: not JSON: .* at column 1$"):
        read('[\n{"prompt": "a"}\n{"prompt": "b"}]', "sg.json")


def test_a_broken_entry_of_a_list_is_named_by_its_position(read):
    with pytest.raises(WorkloadError, match=r"sg\.json:2: 'prompt' must be text; got 5"):
        read('[{"prompt": "a"}, {"prompt": 5}]', "sg.json")


@pytest.mark.parametrize("content", ["", "\n \n", "[]"])
def test_an_empty_file_holds_no_prompts(read, tmp_path, content):
    with pytest.raises(WorkloadError) as caught:
        read(content)
    assert str(caught.value) == f"{tmp_path / 'some.jsonl'} holds no prompts"


def test_a_file_that_is_not_utf8_says_where(read):
    with pytest.raises(WorkloadError, match=r"some\.jsonl is not UTF-8 text \(invalid continuation byte at byte 12\)"):
        read('{"prompt": "éa"}'.encode("latin-1"))


@pytest.mark.parametrize("name", ["no.jsonl", "."])
def test_a_missing_file_is_named(tmp_path, name):
    with pytest.raises(WorkloadError) as caught:
        read_prompts(tmp_path / name)
    assert str(caught.value) == f"no prompts file at {tmp_path / name}"
