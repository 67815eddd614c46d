"""Trace files: both forms, and every way a line can be none."""

import pytest

from labkit.errors import WorkloadError
from labkit.measure.traces import Trace, read_traces, write_traces


@pytest.fixture
def read(tmp_path):
    def write_and_read(content):
        path = tmp_path / "t.jsonl"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_traces(path)

    return write_and_read


def test_both_forms(read, tmp_path):
    found = read(
        '\ufeff{"output_token_ids": [5, 1], "draft_token_ids": [0, 1], "category": "code"}\n\n'
        '{"output_token_ids": [5, 1], "run_lengths": [1], "drafted": [3]}\r\n'
        '{"run_lengths": [], "drafted": null}'
    )
    where = tmp_path / "t.jsonl"
    assert found == [
        Trace(where=f"{where}:1", output_token_ids=(5, 1), draft_token_ids=(0, 1)),
        Trace(where=f"{where}:3", output_token_ids=(5, 1), run_lengths=(1,), drafted=(3,)),
        Trace(where=f"{where}:4", run_lengths=()),
    ]


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_a_file_without_traces(read, content):
    with pytest.raises(WorkloadError, match=r"t\.jsonl holds no traces"):
        read(content)


@pytest.mark.parametrize("name", ["nowhere.jsonl", "."])
def test_a_missing_file_is_named(tmp_path, name):
    with pytest.raises(WorkloadError, match="no trace file at"):
        read_traces(tmp_path / name)


def test_bytes_that_are_no_text(read):
    with pytest.raises(WorkloadError, match="is not UTF-8 text"):
        read(b'{"run_lengths": "\xff"}')


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"output_token_ids": [1', "not JSON: .* at column"),
        ("[" * 100_000, "not JSON"),
        ("[1, 2]", "expected an object; got list"),
        (
            '{"output_token_ids": [1]}',
            r"one of 'draft_token_ids', 'run_lengths', 'acceptance_probs'; got keys \['output_token_ids'\]",
        ),
        ('{"output_token_ids": [1], "draft_token_ids": [1], "run_lengths": []}', "got draft_token_ids and run_lengths"),
        ('{"draft_token_ids": [1]}', "'output_token_ids' must be a list of whole numbers; got None"),
        ('{"output_token_ids": "1 2", "draft_token_ids": [1]}', "'output_token_ids' must be a list.*got '1 2'"),
        ('{"output_token_ids": [], "draft_token_ids": []}', "'output_token_ids' is empty"),
        ('{"output_token_ids": [1, 2], "draft_token_ids": [1]}', "needs a draft token, the first too; got 2 and 1"),
        ('{"output_token_ids": [1, -2], "draft_token_ids": [1, 2]}', "whole numbers ≥ 0; got -2 at entry 1"),
        ('{"output_token_ids": [1], "draft_token_ids": [null]}', "got None at entry 0"),
        ('{"output_token_ids": [1], "draft_token_ids": [1.0]}', "got 1.0 at entry 0"),
        ('{"output_token_ids": [1], "draft_token_ids": [true]}', "got True at entry 0"),
        ('{"output_token_ids": [1], "draft_token_ids": [4294967296]}', "got 4294967296 at entry 0"),
        ('{"run_lengths": [1]}', "'run_lengths' needs 'drafted' beside it"),
        ('{"run_lengths": [1], "drafted": 3}', "'drafted' must be a list"),
        ('{"run_lengths": [1], "drafted": [1, 2]}', "one of 'run_lengths' and one proposal; got 1 and 2"),
        ('{"run_lengths": [1], "drafted": [-1]}', "'drafted' must hold whole numbers ≥ 0; got -1"),
        ('{"output_token_ids": [1, 2], "run_lengths": [0, 0], "drafted": null}', "of 2 tokens has 1 positions"),
    ],
    ids=range(19),
)
def test_a_broken_line_is_named(read, line, said):
    with pytest.raises(WorkloadError, match=rf"t\.jsonl:2: .*{said}"):
        read('{"run_lengths": [0], "drafted": null}\n' + line)


def test_probabilities_and_the_prompt_they_answer(read, tmp_path):
    (found,) = read('{"acceptance_probs": [0.25, 1], "drafted": null, "prompt_id": "p7"}')
    assert found == Trace(where=f"{tmp_path / 't.jsonl'}:1", prompt_id="p7", acceptance_probs=(0.25, 1.0))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"acceptance_probs": [1.5], "drafted": null}', "must lie between 0 and 1; got 1.5 at entry 0"),
        ('{"acceptance_probs": 3, "drafted": null}', "must be a list of probabilities"),
        ('{"acceptance_probs": [0.5]}', "'acceptance_probs' needs 'drafted' beside it"),
        ('{"acceptance_probs": [0.5], "run_lengths": [0], "drafted": null}', "got run_lengths and acceptance_probs"),
        ('{"acceptance_probs": [0.5], "output_token_ids": [1], "drafted": null}', "has 0 positions after the first"),
    ],
)
def test_probabilities_that_cannot_be(read, line, said):
    with pytest.raises(WorkloadError, match=said):
        read(line)


def test_what_is_written_is_read_again(tmp_path):
    path = tmp_path / "new" / "t.jsonl"
    traces = [
        Trace(where=f"{path}:1", prompt_id="p", output_token_ids=(5, 1), draft_token_ids=(0, 1)),
        Trace(where=f"{path}:2", output_token_ids=(5, 1), run_lengths=(1,), drafted=(3,)),
        Trace(where=f"{path}:3", acceptance_probs=(0.5,)),
    ]
    write_traces(path, traces)
    assert read_traces(path) == traces
    assert [p.name for p in path.parent.iterdir()] == ["t.jsonl"]


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(WorkloadError, match="give a file in a folder that can be written"):
        write_traces(tmp_path / "file" / "t.jsonl", [])
