"""The error tree as its docstring draws it, and the suggestion for a slip."""

import inspect

import pytest

from labkit import errors
from labkit.errors import LabError, UsageError, did_you_mean

WRONG_USAGE = {"ConfigError", "WorkloadError", "StoreError"}
WENT_WRONG = {"IncompatibleError", "EngineError", "MeasurementError", "PredictionError", "ReportError"}


def test_the_tree_holds_these_errors_and_no_other():
    found = {name for name, thing in vars(errors).items() if inspect.isclass(thing) and issubclass(thing, LabError)}
    assert found == {"LabError", "UsageError"} | WRONG_USAGE | WENT_WRONG


@pytest.mark.parametrize("name", sorted(WRONG_USAGE))
def test_wrong_usage_exits_with_2(name):
    kind = getattr(errors, name)
    assert issubclass(kind, UsageError)
    assert kind("x").exit_code == 2


@pytest.mark.parametrize("name", sorted(WENT_WRONG))
def test_what_went_wrong_exits_with_1(name):
    kind = getattr(errors, name)
    assert not issubclass(kind, UsageError)
    assert kind("x").exit_code == 1


def test_the_docstring_draws_every_error_with_its_code():
    for name in WRONG_USAGE | WENT_WRONG | {"LabError", "UsageError"}:
        assert name in errors.__doc__
    for name in WENT_WRONG:
        line = next(line for line in errors.__doc__.splitlines() if name in line)
        assert line.split(name)[1].split()[0] == "1"


@pytest.mark.parametrize(
    ("got", "allowed", "said"),
    [
        ("ngrm", ["ngram", "eagle"], "; did you mean 'ngram'?"),
        ("temprature", ["top_p", "temperature"], "; did you mean 'temperature'?"),
        ("zzz", ["ngram", "eagle"], ""),
        ("", ["ngram"], ""),
        ("ngram", [], ""),
    ],
)
def test_did_you_mean(got, allowed, said):
    assert did_you_mean(got, allowed) == said


def test_did_you_mean_takes_any_iterable():
    assert did_you_mean("egle", iter({"eagle": 1, "mtp": 2})) == "; did you mean 'eagle'?"
