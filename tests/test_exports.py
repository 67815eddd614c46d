"""The public face: few names, all there, loaded only when used."""

import importlib
import pkgutil
import subprocess
import sys

import pytest

import labkit

HEAVY = ["vllm", "torch", "transformers", "plotly", "ipywidgets", "papermill", "nbconvert", "pandas", "numpy"]
MODULES = sorted(module.name for module in pkgutil.walk_packages(labkit.__path__, "labkit."))


def test_there_are_at_most_twenty_names_none_twice():
    assert len(set(labkit.__all__)) == len(labkit.__all__) <= 20


@pytest.mark.parametrize("name", labkit.__all__)
def test_a_public_name_resolves(name):
    assert getattr(labkit, name) is not None


def test_a_name_is_the_same_from_either_side():
    from labkit.plan import Plan

    assert labkit.Plan is Plan
    assert labkit.tables is importlib.import_module("labkit.view.tables")


@pytest.mark.parametrize("name", ["Drafer", "open_or_swep", "utils", "_nothing"])
def test_an_unknown_name_is_an_attribute_error(name):
    with pytest.raises(AttributeError, match=f"module 'labkit' has no attribute '{name}'"):
        getattr(labkit, name)
    assert not hasattr(labkit, name)


def test_dir_lists_the_public_names():
    """What completion in JupyterLab offers; asked in an interpreter where none was used yet."""
    listed = subprocess.run(
        [sys.executable, "-c", "import labkit; print(*dir(labkit))"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert set(labkit.__all__) <= set(listed)


def test_star_import_gives_the_public_names():
    names = {}
    exec("from labkit import *", names)
    assert set(labkit.__all__) <= set(names)


def test_importing_labkit_loads_nothing_heavy():
    code = f"import sys, labkit; print(*[name for name in {HEAVY} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert loaded == []


def test_the_version_is_that_of_the_distribution():
    from importlib.metadata import version

    assert labkit.__version__ == version("labkit")


@pytest.mark.parametrize("name", MODULES)
def test_a_module_offers_only_what_it_has(name):
    module = importlib.import_module(name)
    offered = getattr(module, "__all__", [])
    assert [thing for thing in offered if not hasattr(module, thing)] == []
    assert len(set(offered)) == len(offered)
