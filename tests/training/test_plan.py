"""What cannot be trained is refused in words, before anything is started."""

import json

import pytest

from labkit.errors import ConfigError
from labkit.training import Training
from labkit.training.plan import MIN_ANSWER, check_size, checked_target


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"method": "eagel3"},
            r"cannot train a 'eagel3' drafter; it trains eagle3, draft_model; did you mean 'eagle3'\?",
        ),
        ({"method": "ngram"}, r"cannot train a 'ngram' drafter; it trains eagle3, draft_model$"),
        ({"per_category": 0}, r"per_category is 0; it must be above 0"),
        ({"epochs": -0.5}, r"epochs is -0\.5; it must be above 0"),
        ({"batch_tokens": 0}, r"batch_tokens is 0; it must be above 0"),
        ({"draft_layers": 0}, r"draft_layers is 0; it must be above 0"),
        ({"intermediate_size": -1}, r"intermediate_size is -1; it must be above 0"),
        ({"max_tokens": 0}, r"max_tokens is 0; it must be above 0"),
        ({"max_tokens": MIN_ANSWER - 1}, rf"answers of less than {MIN_ANSWER} tokens teach nothing"),
        ({"held_out": 0}, r"held_out is 0; it must be above 0, or left out for all measured prompts"),
        ({"seed": -1}, r"seed is -1; it must be 0 or above"),
        ({"coverage": 0}, r"coverage is 0; it is a share, above 0 and at most 1"),
        ({"coverage": 99}, r"coverage is 99; it is a share, above 0 and at most 1"),
    ],
)
def test_bad_values(changes, message):
    with pytest.raises(ConfigError, match=message):
        Training(**{"method": "eagle3"} | changes)


def test_edges_that_are_allowed():
    Training(method="draft_model", per_category=1, epochs=0.1, max_tokens=MIN_ANSWER, coverage=1, held_out=1, seed=0)


@pytest.fixture
def folder(tmp_path):
    """The files that are looked at."""
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    (tmp_path / "tokenizer.json").write_text("{}")
    return tmp_path


def test_a_target_is_its_folder(folder, target):
    assert checked_target(str(folder)) == folder
    assert checked_target(str(target)) == target


def test_a_target_without_a_tokenizer(folder):
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ConfigError, match=r"has no tokenizer\.json; put the model's tokenizer files there"):
        checked_target(str(folder))


@pytest.mark.parametrize("config", ['{"model_type": "qwen3"}', "{}"])
def test_a_target_of_another_kind(folder, config):
    (folder / "config.json").write_text(config)
    with pytest.raises(ConfigError, match=r"is a ('qwen3'|None) model; labkit trains drafters for model_type 'llama'"):
        checked_target(str(folder))


def test_a_target_that_is_not_here():
    with pytest.raises(ConfigError, match=r"'owner/name' is no local folder; download it first"):
        checked_target("owner/name")
    with pytest.raises(ConfigError, match="no target at '/no/such/model'"):
        checked_target("/no/such/model")


def test_a_damaged_config_is_named(folder):
    (folder / "config.json").write_text('{"model_type": "lla')
    with pytest.raises(ConfigError, match=r"config\.json is no JSON"):
        checked_target(str(folder))


def test_a_draft_is_no_larger_than_its_target(target):
    has = json.loads((target / "config.json").read_text())
    assert (has["num_hidden_layers"], has["intermediate_size"]) == (3, 64)
    check_size(Training(method="draft_model", draft_layers=3, intermediate_size=64), target)
    check_size(Training(method="eagle3"), target)
    with pytest.raises(ConfigError, match=r"draft_layers is 4; the draft is cut from .*, which has 3"):
        check_size(Training(method="draft_model", draft_layers=4, intermediate_size=64), target)
    with pytest.raises(ConfigError, match=r"intermediate_size is 768; the draft is cut from .*, which has 64"):
        check_size(Training(method="draft_model"), target)
