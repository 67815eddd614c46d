"""The house keeps its floors: imports only go down, and what only one room may do only that room does.

Read with ``ast``, so imports inside functions and under TYPE_CHECKING count as well.
"""

import ast
from pathlib import Path

import pytest

import labkit

ROOT = Path(labkit.__file__).parent
FILES = {str(path.relative_to(ROOT)): ast.parse(path.read_text("utf-8")) for path in sorted(ROOT.rglob("*.py"))}

#: A module may import from rooms that stand before its own, and from its own. The sweep stores, so the store
#: stands before measure; an audit is collected and judged, so auditing stands after analysis.
FLOORS = [
    "errors", "config", "paths", "references", "plan", "importers", "workloads", "records", "audited", "repetition",
    "drafters", "preflight", "engine", "store", "measure", "training", "analysis", "auditing", "view", "cli",
]  # fmt: skip


def imports(tree, package):
    """Full dotted names of everything imported anywhere in ``tree``; ``package`` resolves relative imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{start}.{alias.name}" for alias in node.names)


def room(file):
    return Path(file).parts[0].removesuffix(".py")


def imported(file):
    return set(imports(FILES[file], ["labkit", *Path(file).parent.parts]))


def texts(tree):
    """String constants that are no docstrings."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs = {id(node.body[0].value) for node in ast.walk(tree)
            if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)}  # fmt: skip
    return [n.value for n in ast.walk(tree)
            if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in docs]  # fmt: skip


def users(*packages):
    """Files that import one of ``packages``."""
    return {file for file in FILES if {name.split(".")[0] for name in imported(file)} & set(packages)}


def test_every_room_has_a_floor():
    assert {room(file) for file in FILES} - {"__init__"} <= set(FLOORS)


@pytest.mark.parametrize("file", sorted(set(FILES) - {"__init__.py"}))
def test_imports_only_go_down(file):
    """``import labkit`` itself is allowed: the face imports nothing when it is loaded, and holds the version."""
    below = FLOORS[: FLOORS.index(room(file)) + 1]
    ours = [name.split(".") for name in imported(file) if name.startswith("labkit.")]
    assert [".".join(name) for name in ours if name[1] not in below] == []


def test_the_face_imports_nothing_of_the_house_when_it_is_loaded():
    at_load = [node for node in FILES["__init__.py"].body if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {name for node in at_load for name in imports(ast.Module([node], []), ["labkit"])}
    assert [name for name in names if name.startswith("labkit")] == []


def test_only_the_server_module_starts_vllm():
    launchers = {file for file, tree in FILES.items() if any("api_server" in text for text in texts(tree))}
    assert launchers == {"engine/server.py"}


def test_only_the_process_modules_the_conversion_the_batch_and_the_question_to_vllm_start_programs():
    """``own_words`` asks an installed vLLM, whose import must not stay in this process; ``batch`` makes each report in
    a process of its own."""
    allowed = {"engine/process.py", "engine/guard.py", "drafters/convert.py", "preflight/own_words.py", "view/batch.py"}
    assert users("subprocess", "multiprocessing") <= allowed


@pytest.mark.parametrize(
    ("packages", "where"),
    [
        (("papermill",), {"view/execution.py", "view/notebook_client.py", "view/destination.py"}),
        (("nbconvert",), {"view/export.py"}),
        (("vllm",), {"engine/cpu_fixes.py", "measure/score.py"}),
    ],
    ids=lambda value: "-".join(sorted(value)).replace("/", "."),
)
def test_only_its_modules_use(packages, where):
    assert users(*packages) == where


@pytest.mark.parametrize(
    ("packages", "allowed"),
    [
        (("torch", "transformers", "safetensors"), ("drafters/", "training/", "engine/cpu_fixes.py")),
        (("prometheus_client",), ("engine/metrics_page.py", "engine/simulated/")),
        (("plotly", "ipywidgets", "anywidget"), ("view/",)),
        (("pandas",), ("view/",)),
        (("numba",), ("analysis/",)),
        (("typer",), ("cli/",)),
    ],
    ids=lambda value: "-".join(sorted(value)).replace("/", "."),
)
def test_only_one_room_uses(packages, allowed):
    found = users(*packages)
    assert found
    assert [file for file in sorted(found) if not file.startswith(allowed)] == []


def test_only_the_training_imports_torch_when_it_is_loaded():
    """Names of demo drafters are looked up where no torch is installed."""
    at_load = {
        file
        for file in users("torch", "transformers", "safetensors")
        if room(file) != "training"
        for node in FILES[file].body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in imports(ast.Module([node], []), ["labkit"])
        if name.split(".")[0] in ("torch", "transformers", "safetensors")
    }
    assert at_load == set()


def test_the_analysis_is_pure():
    """No I/O and no clock in ``analysis/``."""
    impure = {"os", "time", "datetime", "pathlib", "httpx", "socket", "subprocess", "asyncio", "io", "logging"}
    for file in FILES:
        if room(file) == "analysis":
            assert {name.split(".")[0] for name in imported(file)} & impure == set()
            names = {node.id for node in ast.walk(FILES[file]) if isinstance(node, ast.Name)}
            assert {"open", "print", "input"} & names == set()


@pytest.mark.parametrize("file", sorted(FILES))
def test_a_file_has_a_name_that_says_something_and_is_short(file):
    name = Path(file).stem
    assert not any(word in name for word in ("util", "helper", "manager", "handler", "misc", "common"))
    assert len((ROOT / file).read_text(encoding="utf-8").splitlines()) <= 260


@pytest.mark.parametrize("file", sorted(FILES))
def test_a_module_begins_with_its_contract(file):
    assert ast.get_docstring(FILES[file])
