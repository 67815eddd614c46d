"""What the installed vLLM says itself, beside what preflight says: where both decide, they agree."""

import importlib.util
import json
import subprocess

import pytest

from labkit.errors import EngineError
from labkit.preflight import own_words
from labkit.preflight.check import preflight
from labkit.preflight.launch import Launch
from labkit.preflight.own_words import Answer, ask, with_own_words
from tests.preflight.conftest import finding, permuted, write_folder


def answering(monkeypatch, *words, code=0, out=None):
    """A stand-in for the process that imports vLLM; keeps what it was asked."""
    asked = []

    def run(argv, *, input, **_):
        asked.extend(json.loads(input))
        said = f"INFO noise\nANSWERS {json.dumps(list(words))}\n" if out is None else out
        return subprocess.CompletedProcess(argv, code, stdout=said, stderr="Traceback …\nImportError: no libfoo\n")

    monkeypatch.setattr(own_words.subprocess, "run", run)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    return asked


def test_its_refusal_is_a_finding_with_its_words_alone(folder, monkeypatch):
    framed = (
        "ValidationError: 1 validation error for SpeculativeConfig\n  Value error, no such thing [type=value_error, "
        "input_value=ArgsKwargs((), {}), input_type=ArgsKwargs]\n    For further information visit https://errors"
    )
    asked = answering(monkeypatch, framed)
    draft = str(folder("d"))
    report = with_own_words(preflight(Launch(target=str(folder("t")), draft=draft, k=2, draft_tp=1)))
    assert (report.verdict, report.findings[0].rule) == ("incompatible", "vllm")
    assert report.findings[0].message == "vLLM says: Value error, no such thing"
    config = {"method": "draft_model", "num_speculative_tokens": 2, "model": draft, "draft_tensor_parallel_size": 1}
    assert asked[0]["speculative_config"] == config


def test_its_consent_is_one_too(folder, monkeypatch):
    asked = answering(monkeypatch, None)
    report = with_own_words(preflight(Launch(target=str(folder("t")), tp=2, max_model_len=64)))
    assert finding(report, "vllm").level == "ok"
    assert asked == [{"tensor_parallel_size": 2, "pipeline_parallel_size": 1, "data_parallel_size": 1,
                      "max_model_len": 64, "model": report.case.target.name, "enforce_eager": True}]  # fmt: skip


def test_a_process_that_fails_is_no_verdict(folder, monkeypatch):
    answering(monkeypatch, code=1, out="")
    with pytest.raises(EngineError, match=r"vLLM could not be asked \(exit 1\): ImportError: no libfoo"):
        ask([Launch(target="t")])


def test_without_vllm_it_cannot_be_asked(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EngineError, match="vLLM is not installed here"):
        ask([Launch(target="t")])


MAPPED = {"use_heterogeneous_vocab": True}
PAIR, NGRAM = {"draft": {}, "k": 2}, {"method": "ngram", "k": 4}
HEAD = {"draft": {"architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1}, "method": "eagle3", "k": 2}
#: Small configurations of which vLLM's own configuration decides, by name.
DECIDED = {
    "baseline": {},
    "good pair": PAIR,
    "good head": HEAD,
    "ngram": NGRAM | {"options": {"prompt_lookup_max": 4}},
    "ngram without lookup": NGRAM,
    "ngram with crossed lookup": NGRAM | {"options": {"prompt_lookup_max": 2, "prompt_lookup_min": 3}},
    "padded": PAIR | {"target": {"vocab_size": 320}},
    "padded and mapped": PAIR | {"target": {"vocab_size": 320}, "options": MAPPED},
    "mapped with a head": HEAD | {"options": MAPPED},
    "K = 0": PAIR | {"k": 0},
    "unknown key": PAIR | {"options": {"num_speculative_token": 3}},
    "dead key": PAIR | {"options": {"disable_by_batch_size": 4}},
    "tensor_parallel_size as key": PAIR | {"options": {"tensor_parallel_size": 1}},
    "draft TP that is neither": PAIR | {"draft_tp": 3},
    "heads over three GPUs": {"tp": 3},
    "draft heads over two GPUs": PAIR | {"tp": 2, "draft": {"num_attention_heads": 1, "num_key_value_heads": 1}},
    "sampled drafts, mapped": PAIR | {"options": MAPPED | {"draft_sample_method": "probabilistic"}},
    "MTP without MTP layers": {"method": "mtp", "k": 1},
    "draft window beyond both": PAIR | {"options": {"max_model_len": 4096}},
    "whole model of another family as head": {"draft": {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2"},
                                              "method": "eagle3", "k": 2},
    "no slot for drafting": PAIR | {"max_num_batched_tokens": 1, "max_num_seqs": 1, "max_model_len": 1},
}  # fmt: skip
#: Of these it does not decide: only preflight, or the worker later, sees them.
NOT_SEEN = {
    "permuted": PAIR | {"draft": {"tokens": permuted()}},
    "window too short": PAIR | {"draft": {"max_position_embeddings": 64}},
    "head of another size": HEAD | {"target": {"hidden_size": 128}},
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Both verdicts of every configuration; vLLM is imported once."""
    reports = {}
    for number, (name, asked) in enumerate((DECIDED | NOT_SEEN).items()):
        root, fields = tmp_path_factory.mktemp(f"pair{number}"), dict(asked)
        target = write_folder(root / "target", **fields.pop("target", {}))
        draft = write_folder(root / "draft", **fields.pop("draft")) if "draft" in fields else None
        launch = Launch(target=str(target), draft=str(draft) if draft else None, runner="v1", vllm="0.32.0", **fields)
        reports[name] = preflight(launch)
    said = ask([report.case.launch for report in reports.values()])
    return {name: (report, answer) for (name, report), answer in zip(reports.items(), said, strict=True)}


@pytest.mark.engine
@pytest.mark.parametrize("name", DECIDED)
def test_both_verdicts_agree_where_the_configuration_decides(answers, name):
    report, answer = answers[name]
    assert (report.verdict != "incompatible") == answer.accepted, (report.findings, answer)
    assert answer.words or answer == Answer(accepted=True)


@pytest.mark.engine
@pytest.mark.parametrize("name", NOT_SEEN)
def test_what_only_preflight_sees(answers, name):
    report, answer = answers[name]
    assert report.verdict != "ok"
    assert answer.accepted
