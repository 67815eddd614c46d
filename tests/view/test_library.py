"""plotly.js as it travels: that of the installed plotly, once, for panel and page alike; and that it is installed."""

import gzip
import tomllib
from importlib import resources
from pathlib import Path

from labkit.view import library
from labkit.view.board import Board
from labkit.view.library import plotly_gzip, plotly_js
from labkit.view.page import asset


def test_it_is_that_of_the_installed_plotly():
    code = resources.files("plotly").joinpath("package_data/plotly.min.js").read_bytes()
    assert gzip.decompress(plotly_gzip()) == code == plotly_js().encode()


def test_the_same_bytes_at_every_build():
    again = plotly_gzip.__wrapped__()
    assert again == plotly_gzip()


def test_panel_and_page_unpack_it_with_the_same_code():
    assert Board._esm.startswith(asset("library.js"))
    assert Board({"charts": [], "card": ""}).library is plotly_gzip()


def test_no_code_of_others_lies_in_labkit():
    """Scripts here are labkit's own and short; plotly.js is that of its distribution."""
    scripts = list(Path(library.__file__).parent.glob("*.js"))
    assert scripts
    assert [path.name for path in scripts if path.stat().st_size > 10_000] == []


def test_what_is_not_python_is_installed_too():
    root = Path(library.__file__).parents[1]
    declared = tomllib.loads((root.parent / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    found = {path for pattern in declared["package-data"]["labkit"] for path in root.glob(pattern)}
    assert {path for path in (root / "view").iterdir() if path.is_file() and path.suffix != ".py"} == found
