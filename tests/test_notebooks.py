"""Notebooks keep their form: a question, one cell of parameters, short cells, nothing executed."""

import ast
import re
from pathlib import Path

import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
STATEMENTS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.AsyncFor, ast.Try, ast.TryStar)
SIMPLE = {"str": str, "int": int, "float": float, "bool": bool}


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    return nbformat.read(request.param, as_version=4)


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def tagged(cell):
    return "parameters" in cell.metadata.get("tags", [])


def test_the_title_is_a_question(notebook):
    first = notebook.cells[0]
    assert first.cell_type == "markdown"
    assert re.fullmatch(r"# .+\?", first.source.splitlines()[0])


def test_two_sentences_follow_the_title(notebook):
    prose = " ".join(notebook.cells[0].source.splitlines()[1:]).strip()
    assert len(re.findall(r"[.!?](?:\s|$)", prose)) == 2


def test_headings_are_questions(notebook):
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    headings = re.findall(r"^#+ .*$", text, re.M)
    assert [heading for heading in headings if not heading.endswith("?")] == []
    assert 1 + 3 <= len(headings) <= 1 + 6


def test_one_cell_of_parameters_before_all_other_code(notebook):
    assert [tagged(cell) for cell in code(notebook)] == [True] + [False] * (len(code(notebook)) - 1)


def test_parameters_are_annotated_literals_one_a_line(notebook):
    """papermill drops a parameter whose line holds a second ``=``, in a comment too."""
    source = next(cell.source for cell in code(notebook) if tagged(cell))
    statements = ast.parse(source).body
    for line in source.splitlines():
        assert line.count("=") == 1
    assert len(statements) == len(source.splitlines())
    for statement in statements:
        assert isinstance(statement, ast.AnnAssign)
        value = ast.literal_eval(statement.value)
        assert type(value) is SIMPLE[ast.unparse(statement.annotation)]


def test_every_parameter_says_what_it_is(notebook):
    source = next(cell.source for cell in code(notebook) if tagged(cell))
    assert [line for line in source.splitlines() if not re.search(r"\S  # \S", line)] == []


def test_every_parameter_is_used(notebook):
    given = next(cell.source for cell in code(notebook) if tagged(cell))
    names = {statement.target.id for statement in ast.parse(given).body}
    rest = "\n".join(cell.source for cell in code(notebook) if not tagged(cell))
    used = {node.id for node in ast.walk(ast.parse(rest)) if isinstance(node, ast.Name)}
    assert names <= used


def test_code_cells_are_short_and_straight(notebook):
    for cell in code(notebook):
        tree = ast.parse(cell.source)
        assert tree.body
        assert [type(node).__name__ for node in ast.walk(tree) if isinstance(node, STATEMENTS)] == []
        assert tagged(cell) or len(cell.source.splitlines()) <= 8


def test_it_is_stripped(notebook):
    assert [cell.outputs for cell in code(notebook) if cell.outputs] == []
    assert {cell.execution_count for cell in code(notebook)} == {None}
    assert set(notebook.metadata) <= {"kernelspec", "language_info"}
    assert {key for cell in notebook.cells for key in cell.metadata} <= {"tags"}


def test_the_prose_holds_no_measured_number(notebook):
    """Findings are computed by labkit, never typed."""
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert re.findall(r"\d+(?:\.\d+)?\s?(?:%|ms\b|tok/s|s\b)|\d\.\d+\s?[×x]", prose) == []


def test_it_ends_with_the_sentinel(notebook):
    """``labkit report`` takes a notebook for whole only if the last cell says so."""
    last = ast.parse(code(notebook)[-1].source).body[-1]
    assert notebook.cells[-1].cell_type == "code"
    assert isinstance(last, ast.Expr)
    assert ast.unparse(last.value.func) == "labkit.finish"


def test_only_labkit_is_imported(notebook):
    nodes = [node for cell in code(notebook) for node in ast.walk(ast.parse(cell.source))]
    assert [node.module for node in nodes if isinstance(node, ast.ImportFrom)] == []
    assert {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names} == {"labkit"}


def test_it_names_only_what_labkit_offers(notebook):
    import labkit

    nodes = [node for cell in code(notebook) for node in ast.walk(ast.parse(cell.source))]
    used = {n.attr for n in nodes if isinstance(n, ast.Attribute) and ast.unparse(n.value) == "labkit"}
    assert used <= set(labkit.__all__)
