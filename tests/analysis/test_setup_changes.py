"""What differs between two runs is said, what must differ is not."""

from dataclasses import replace

import pytest

from labkit.analysis.matching import matched
from labkit.analysis.setup_changes import setup_changes

ARGV = (
    "-m",
    "vllm.entrypoints.openai.api_server",
    "--model",
    "t",
    "--port",
    "1",
    "--dtype",
    "float32",
    "--enforce-eager",
)


def lines(sweep, **after):
    def with_(**provenance):
        return [replace(m, provenance=replace(m.provenance, argv=ARGV, **{} | provenance)) for m in sweep()]

    before, later = with_(), [replace(m, provenance=replace(m.provenance, **{"argv": ARGV} | after)) for m in sweep()]
    return setup_changes(matched(before, later)[0])


def test_equal_runs_differ_in_nothing(sweep):
    assert lines(sweep) == []


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"engine_version": "2"}, "engine: simulated 1 → simulated 2"),
        ({"engine_version": None}, "engine: simulated 1 → simulated of unknown version"),
        ({"device": "H100"}, "device: cpu → H100"),
        ({"workload_hash": "beef"}, "prompts: feed → beef"),
        ({"cpu_fixes": "a"}, "repairs: none → a"),
        ({"argv": (*ARGV, "--quantization", "fp8")}, "server options: none → --quantization fp8"),
        ({"argv": ARGV[:-1]}, "server options: --enforce-eager → none"),
    ],
)
def test_one_line_for_what_differs(sweep, changed, line):
    assert lines(sweep, **changed) == [line]


def test_a_port_and_a_place_are_nobodys_business(sweep):
    moved = tuple({"1": "2", "t": "/elsewhere/t"}.get(word, word) for word in ARGV)
    assert lines(sweep, argv=moved) == []


def test_another_speculative_config_is_named_with_its_cell(sweep):
    before = sweep(temperatures=(0.0,))
    after = [
        replace(m, provenance=replace(m.provenance, speculative_config={"method": "ngram", "prompt_lookup_max": 9}))
        if (m.cell.spec.name, m.cell.spec.k) == ("ngram", 4)
        else m
        for m in before
    ]
    (line,) = setup_changes(matched(before, after)[0])
    assert line.startswith("ngram K=4, T = 0, concurrency 1: speculative config {")
    assert '"prompt_lookup_max": 9' in line
