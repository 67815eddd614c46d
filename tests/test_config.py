"""Configs: every rule and its words, what vLLM is told, reading plain data, the digest."""

import dataclasses
import json

import pytest

from labkit.config import METHODS, Drafter, EngineConfig, Sampling, Simulation, SpecConfig, digest, read
from labkit.errors import ConfigError
from labkit.plan import Plan

NGRAM = Drafter(method="ngram")
EAGLE = Drafter(method="eagle3", model="owner/head")


def words(call):
    with pytest.raises(ConfigError) as caught:
        call()
    return str(caught.value)


# --- rules ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "model", "said"),
    [
        ("ngrm", None, ["'ngrm'", "allowed: ngram,", "suffix", "did you mean 'ngram'?"]),
        ("speculative", None, ["'speculative'", "allowed:"]),
        *[(m, None, [f"'{m}' needs a model", "as 'model'"]) for m, needs in METHODS.items() if needs is True],
        *[(m, "d", [f"'{m}' drafts without", "'d'", "leave it out"]) for m, needs in METHODS.items() if needs is False],
    ],
)
def test_a_wrong_drafter_is_refused(method, model, said):
    message = words(lambda: Drafter(method=method, model=model))
    for part in said:
        assert part in message


@pytest.mark.parametrize("model", [None, "d"])
def test_mtp_may_have_a_model_of_its_own(model):
    assert Drafter(method="mtp", model=model).model == model


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"method": "ngram"}, "ngram"),
        ({"method": "eagle", "model": "owner/head"}, "head"),
        ({"method": "draft_model", "model": "/models/draft/"}, "draft"),
        ({"method": "eagle", "model": "owner/head", "name": "mine"}, "mine"),
    ],
)
def test_a_drafter_is_named_after_its_model_or_method(given, name):
    assert Drafter(**given).name == name


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"k": -1}, ["cannot be negative", "got -1"]),
        ({"drafter": NGRAM, "k": -2}, ["cannot be negative", "got -2"]),
        ({"drafter": NGRAM}, ["K = 0 is the baseline", "'ngram'", "use K ≥ 1"]),
        ({"k": 3}, ["K = 3 needs a drafter", "K = 0 for the baseline"]),
    ],
)
def test_a_drafter_and_its_k_go_together(given, said):
    message = words(lambda: SpecConfig(**given))
    for part in said:
        assert part in message


@pytest.mark.parametrize(
    ("spec", "name", "method", "label"),
    [
        (SpecConfig(), "baseline", None, "baseline"),
        (SpecConfig(drafter=NGRAM, k=4), "ngram", "ngram", "ngram K=4"),
        (SpecConfig(drafter=EAGLE, k=1), "head", "eagle3", "head K=1"),
    ],
)
def test_how_a_spec_is_called(spec, name, method, label):
    assert (spec.name, spec.method, spec.label) == (name, method, label)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"temperature": -0.1}, ["temperature", "[0, 2]", "-0.1"]),
        ({"temperature": 2.1}, ["temperature", "[0, 2]", "2.1"]),
        ({"temperature": float("nan")}, ["temperature", "nan"]),
        ({"temperature": 0, "top_p": 0}, ["top_p", "(0, 1]", "got 0"]),
        ({"temperature": 0, "top_p": 1.5}, ["top_p", "(0, 1]", "1.5"]),
        ({"temperature": 0, "top_k": -1}, ["top_k", "≥ 0", "off", "-1"]),
    ],
)
def test_sampling_out_of_range_is_refused(given, said):
    message = words(lambda: Sampling(**given))
    for part in said:
        assert part in message


@pytest.mark.parametrize("temperature", [0, 0.8, 2])
def test_the_whole_range_of_temperature_is_allowed(temperature):
    assert Sampling(temperature=temperature).temperature == temperature


@pytest.mark.parametrize("agreement", [-0.1, 1.1])
def test_agreement_is_a_share(agreement):
    message = words(lambda: Simulation(agreement=agreement))
    assert f"agreement must be in [0, 1]; got {agreement}" in message


def test_a_remote_engine_needs_urls():
    message = words(lambda: EngineConfig(target="t", kind="remote"))
    for part in ("'urls'", "'baseline'", "K=<k>"):
        assert part in message
    assert EngineConfig(target="t", kind="remote", urls={"baseline": "http://x"}).urls


@pytest.mark.parametrize(
    "config",
    [NGRAM, SpecConfig(), Sampling(temperature=0), Simulation(), EngineConfig(target="t")],
    ids=lambda config: type(config).__name__,
)
def test_configs_are_frozen_and_keyword_only(config):
    field = dataclasses.fields(config)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(config, field, 1)
    with pytest.raises(TypeError, match="positional"):
        type(config)("x")


# --- what servers are told ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("drafter", "k", "told"),
    [
        (NGRAM, 3, {"method": "ngram", "num_speculative_tokens": 3}),
        (EAGLE, 2, {"method": "eagle3", "num_speculative_tokens": 2, "model": "owner/head"}),
        (Drafter(method="mtp"), 1, {"method": "mtp", "num_speculative_tokens": 1}),
        (
            Drafter(method="ngram", options={"prompt_lookup_max": 7}),
            2,
            {"method": "ngram", "num_speculative_tokens": 2, "prompt_lookup_max": 7},
        ),
        (
            Drafter(method="draft_model", model="d", options={"draft_tensor_parallel_size": 1}),
            5,
            {"method": "draft_model", "num_speculative_tokens": 5, "model": "d", "draft_tensor_parallel_size": 1},
        ),
    ],
)
def test_the_speculative_config_for_vllm(drafter, k, told):
    assert SpecConfig(drafter=drafter, k=k).for_vllm() == told


def test_the_baseline_has_no_speculative_config():
    assert SpecConfig().for_vllm() is None


@pytest.mark.parametrize("key", ["method", "num_speculative_tokens", "model"])
def test_options_cannot_contradict_the_drafter(key):
    """Else the server runs another K, method or model than the cell is labelled with."""
    message = words(lambda: Drafter(method="ngram", options={key: "other"}))
    assert repr(key) in message


def test_clean_sampling_sends_every_value():
    assert Sampling(temperature=0.8, top_k=20).body() == {
        "temperature": 0.8,
        "top_p": 1.0,
        "top_k": 20,
        "min_p": 0.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "repetition_penalty": 1.0,
    }


def test_as_served_sampling_sends_the_temperature_only():
    assert Sampling(temperature=0.8, mode="as_served").body() == {"temperature": 0.8}


# --- reading plain data ---------------------------------------------------------------------------------

ENGINE = {"target": "t"}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"engine": ENGINE, "temperture": [0]}, ["'temperture'", "temperatures", "did you mean 'temperatures'?"]),
        ({"engine": {"targt": "t"}}, ["'engine.targt'", "allowed: target, kind", "did you mean 'target'?"]),
        (
            {"engine": ENGINE | {"simulation": {"agrement": 1}}},
            ["'engine.simulation.agrement'", "allowed: seed, agreement", "did you mean 'agreement'?"],
        ),
        (
            {"engine": ENGINE, "drafters": [{"method": "ngram"}, {"method": "ngram", "modl": "d"}], "k": [1]},
            ["'drafters.1.modl'", "allowed: method, model, name, options", "did you mean 'model'?"],
        ),
        ({"engine": ENGINE, "workload": {"max_token": 9}}, ["'workload.max_token'", "did you mean 'max_tokens'?"]),
        ({"engine": ENGINE, "zzz": 1}, ["'zzz'", "allowed: engine, drafters"]),
    ],
)
def test_an_unknown_key_is_refused_wherever_it_sits(data, said):
    message = words(lambda: read(Plan, data, where="my.yaml"))
    for part in ("my.yaml: unknown key", *said):
        assert part in message


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({}, ["engine", "required"]),
        ({"engine": "demo"}, ["engine", "got 'demo'"]),
        ({"engine": {}}, ["engine.target", "required"]),
        ({"engine": ENGINE | {"kind": "vlm"}}, ["engine.kind", "'vllm'", "got 'vlm'"]),
        ({"engine": ENGINE, "temperatures": 0.8}, ["temperatures", "got 0.8"]),
        ({"engine": ENGINE, "temperatures": ["hot"]}, ["temperatures.0", "number", "got 'hot'"]),
        ({"engine": ENGINE, "k": [1.5], "drafters": [{"method": "ngram"}]}, ["k.0", "integer", "got 1.5"]),
        ({"engine": ENGINE, "sampling": "cleen"}, ["sampling", "'clean' or 'as_served'", "got 'cleen'"]),
        ({"engine": ENGINE | {"urls": {"baseline": 5}}}, ["engine.urls.baseline", "string", "got 5"]),
        ("text", ["top level", "got 'text'"]),
    ],
)
def test_a_wrong_type_is_named_with_its_place(data, said):
    message = words(lambda: read(Plan, data, where="my.yaml"))
    for part in ("my.yaml: ", *said):
        assert part in message


def test_a_broken_rule_names_the_source_too():
    data = {"engine": ENGINE, "drafters": [{"method": "ngrm"}], "k": [1]}
    message = words(lambda: read(Plan, data, where="my.yaml"))
    assert "did you mean 'ngram'?" in message
    assert "my.yaml" in message


def test_plain_data_becomes_nested_configs():
    data = {"drafter": {"method": "eagle", "model": "owner/head", "options": {"x": 1}}, "k": 2}
    drafter = Drafter(method="eagle", model="owner/head", options={"x": 1})
    assert read(SpecConfig, data, where="x") == SpecConfig(drafter=drafter, k=2)


# --- the digest -----------------------------------------------------------------------------------------


def test_a_digest_is_twelve_hexadecimal_digits_and_the_same_everywhere():
    assert digest("a", 1) == "2657442bb4a4"  # the start of sha256 of: ["a", 1]


@pytest.mark.parametrize(
    ("one", "same"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ((1, 2), [1, 2]),
        (SpecConfig(drafter=NGRAM, k=2), SpecConfig(drafter=Drafter(method="ngram", name="ngram"), k=2)),
        (Sampling(temperature=0), Sampling(temperature=0.0)),
    ],
)
def test_equal_values_have_equal_digests(one, same):
    assert digest(one) == digest(same)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (SpecConfig(drafter=NGRAM, k=2), SpecConfig(drafter=NGRAM, k=3)),
        (NGRAM, Drafter(method="ngram", name="n")),
        (NGRAM, Drafter(method="ngram", options={"prompt_lookup_max": 4})),
        (Sampling(temperature=0), Sampling(temperature=0, mode="as_served")),
        (EngineConfig(target="t"), EngineConfig(target="t", env={"A": "1"})),
        (EngineConfig(target="t"), EngineConfig(target="t", simulation=Simulation(seed=1))),
        (["ab", "c"], ["a", "bc"]),
        ([1, 2], [2, 1]),
        (None, 0),
    ],
)
def test_a_digest_notices_every_change(one, other):
    assert digest(one) != digest(other)


@pytest.mark.parametrize(
    "config",
    [
        EngineConfig(target="t", args=("--x", "1"), env={"A": "1"}),
        EngineConfig(target="t", start_timeout=60),
        Drafter(method="eagle", model="d", options={"nested": {"b": [1], "a": None}}),
        Sampling(temperature=1),
    ],
    ids=["engine", "engine with an int for seconds", "drafter", "sampling with an int for T"],
)
def test_a_digest_survives_json(config):
    """Ids name files: what is stored and read again must keep its id."""
    stored = json.loads(json.dumps(dataclasses.asdict(config)))
    assert digest(read(type(config), stored, where="x")) == digest(config)


@pytest.mark.parametrize(
    "secret",
    [
        {"args": ("--api-key", "x")},
        {"args": ("--api-key=x",)},
        {"args": ("--hf-token", "x")},
        {"env": {"HF_TOKEN": "x"}},
    ],
)
def test_a_plan_cannot_hold_a_secret(secret):
    """Plans and measurements are stored and shared; a key comes from the environment."""
    with pytest.raises(ConfigError, match="set it in your environment instead") as caught:
        EngineConfig(target="x", **secret)
    assert "'x'" not in str(caught.value)


def test_words_that_only_look_like_secrets_are_fine():
    args = ("--max-num-batched-tokens", "4096", "--tokenizer", "x", "--enable-prompt-tokens-details")
    assert EngineConfig(target="x", args=args).args == args
