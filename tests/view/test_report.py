"""From notebook to page: strict parameters, real executions of tiny notebooks, the index."""

import io
import json
import os
import re
import shlex
import time
from html import unescape
from pathlib import Path

import nbformat
import numpy as np
import psutil
import pytest

from labkit.errors import ConfigError, LabError, ReportError
from labkit.view.present import DONE_MIME, SUMMARY_MIME
from labkit.view.report import Limits, build_report, typed_parameters
from labkit.view.style import PLOTLY_MIME

PARAMETERS = """\
run: str = "latest"  # a run
blocks: int = 3
confidence: float = 0.95
fast: bool = True
ks: list = [1, 2]
free = None
"""
SUMMARY = {"run": "r", "target": "demo", "plan": "p", "verdict": ["At T = 0 <switch> on"], "best": "ngram K=4",
           "speedup": [1.1, 1.2, 1.3], "at": "T = 0, 1 user"}  # fmt: skip
FIGURE = {"data": [{"type": "scatter", "name": "</script>"}], "layout": {"title": {"text": "<b>x</b>"}}, "config": {}}


def output(mime, data, html="<p>shown</p>"):
    """A cell that shows ``data`` as labkit's functions do; y of a figure comes from the parameters."""
    return (
        "from IPython.display import display\n"
        f"data = {data!r}\n"
        "if 'layout' in data: data['data'][0]['y'] = [blocks, confidence]\n"
        f"display({{{mime!r}: data, 'text/html': {html!r}}}, raw=True)"
    )


SHOW_SUMMARY, SHOW_FIGURE = output(SUMMARY_MIME, SUMMARY, "<p>the verdict</p>"), output(PLOTLY_MIME, FIGURE)
FINISH = output(DONE_MIME, {"run": "r"})


def write(path: Path, *cells: str, parameters: str | None = PARAMETERS, kernel: bool = True) -> Path:
    """A notebook of a title, a parameters cell and ``cells`` of code."""
    notebook = nbformat.v4.new_notebook()
    if kernel:
        notebook.metadata.kernelspec = {"name": "python3", "language": "python", "display_name": "Python 3"}
    notebook.cells = [nbformat.v4.new_markdown_cell("# Is `it` <fast>?\n\nProse.")]
    if parameters is not None:
        notebook.cells.append(nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]}))
    notebook.cells += [nbformat.v4.new_code_cell(cell) for cell in cells]
    nbformat.write(notebook, path)
    return path


# --- parameters


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    return write(tmp_path_factory.mktemp("notebooks") / "lab.ipynb", "1")


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("run", "null", "null"), ("run", "true", "true"), ("run", "007", "007"), ("run", "a=b", "a=b"), ("run", "", ""),
        ("blocks", "007", 7), ("blocks", "-1", -1), ("blocks", 5, 5), ("blocks", np.int64(4), 4),
        ("confidence", "0.10", 0.1), ("confidence", ".5", 0.5), ("confidence", "1e-3", 1e-3), ("confidence", "1", 1.0),
        ("confidence", 1, 1.0), ("confidence", np.float64(0.25), 0.25), ("confidence", np.int64(1), 1.0),
        ("fast", "true", True), ("fast", "False", False), ("fast", False, False), ("fast", np.bool_(True), True),
        ("ks", "[1, 4]", [1, 4]), ("ks", [3], [3]), ("free", "x", "x"), ("free", 1.5, 1.5),
    ],
)  # fmt: skip
def test_values_get_the_type_of_their_parameter(notebook, name, given, value):
    (found,) = typed_parameters(notebook, {name: given}).values()
    assert (found, type(found)) == (value, type(value)), "a plain Python value: papermill writes others as text"


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("blocks", "2_5"), ("blocks", "1.5"), ("blocks", 1.5), ("blocks", 2.0), ("blocks", "x"), ("blocks", ""),
        ("blocks", True), ("blocks", None), ("blocks", float("nan")), ("confidence", "0_1"), ("confidence", "nan"),
        ("confidence", "high"), ("confidence", True), ("fast", "yes"), ("fast", 1), ("fast", "0"), ("run", 3),
        ("run", None), ("run", ["x"]),
        ("ks", "1, 2"), ("ks", "[1"), ("ks", "[1, x]"), ("ks", (1, 2)),
    ],
)  # fmt: skip
def test_values_of_another_type_are_refused(notebook, name, given):
    with pytest.raises(ConfigError, match=rf"'{name}' must be of type \w+; got ") as error:
        typed_parameters(notebook, {name: given})
    assert repr(given) in str(error.value)


def test_an_unknown_name_lists_the_valid_ones_and_suggests(notebook):
    with pytest.raises(ConfigError) as error:
        typed_parameters(notebook, {"run": "x", "blcoks": 3})
    text = str(error.value)
    assert "lab.ipynb has no parameter 'blcoks'" in text
    assert 'run (str, default "latest"), blocks (int, default 3), confidence (float, default 0.95)' in text
    assert text.endswith("did you mean 'blocks'?")


def test_no_values_no_changes(notebook):
    assert typed_parameters(notebook, {}) == {}


def test_a_language_that_labkit_does_not_speak_is_refused_before_anything_is_measured(tmp_path):
    speaks = write(tmp_path / "speaks.ipynb", "1", parameters='lang: str = "en"')
    assert typed_parameters(speaks, {"lang": "zh"}) == {"lang": "zh"}
    with pytest.raises(ConfigError, match="no language 'cn'; there are en, zh"):
        typed_parameters(speaks, {"lang": "cn"})


def test_a_parameter_of_that_name_may_mean_something_else(tmp_path):
    other = write(tmp_path / "other.ipynb", "1", parameters='lang: str = "sql"')
    assert typed_parameters(other, {"lang": "python"}) == {"lang": "python"}


def test_a_notebook_without_parameters_has_none(tmp_path):
    bare = write(tmp_path / "bare.ipynb", "1", parameters=None)
    assert typed_parameters(bare, {}) == {}
    with pytest.raises(ConfigError, match="no parameter 'run'"):
        typed_parameters(bare, {"run": "x"})


def test_a_notebook_that_names_no_kernel_is_refused_in_words(tmp_path):
    """Its parameters cannot be read without knowing its language."""
    plain = write(tmp_path / "plain.ipynb", "1", kernel=False)
    with pytest.raises(ConfigError, match=r"plain\.ipynb is not a Python notebook.*No kernel name"):
        typed_parameters(plain, {"blocks": "2"})


def test_a_file_that_is_no_notebook_is_the_users_mistake(tmp_path):
    broken = tmp_path / "broken.ipynb"
    broken.write_text("# not JSON")
    with pytest.raises(LabError, match=r"broken\.ipynb"):
        build_report(broken, {}, out=tmp_path / "out")


@pytest.mark.parametrize(("missing", "values"), [(True, {}), (False, {"no_such": 1}), (False, {"blocks": "x"})])
def test_a_mistake_is_found_before_anything_is_done(tmp_path, notebook, missing, values):
    with pytest.raises(ConfigError):
        build_report(tmp_path / "none.ipynb" if missing else notebook, values, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


# --- a whole report: one execution


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    noise = 'print("<script>alert(1)</script>", blocks)\n"<img src=x onerror=alert(2)>"'
    source = write(folder / "lab.ipynb", noise, SHOW_SUMMARY, SHOW_FIGURE, SHOW_FIGURE, FINISH)
    return build_report(source, {"blocks": "2", "confidence": np.float64(0.5)}, out=folder / "out", name="first")


@pytest.fixture(scope="module")
def page(built):
    return built.read_text(encoding="utf-8")


def test_this_process_is_not_left_headless(built):
    assert "LABKIT_HEADLESS" not in os.environ


def test_page_notebook_and_index_are_there(built):
    assert sorted(path.name for path in built.parent.iterdir()) == ["first.html", "first.ipynb", "index.html"]


def test_every_figure_is_embedded_with_its_numbers(page):
    figures = re.findall(r'<div class="figure"><div[^>]*></div><script type="application/json">(.*?)</script>', page)
    assert len(figures) == 2
    figure = json.loads(figures[0])
    assert set(figure) == {"data", "layout"}
    assert figure["data"] == [{"type": "scatter", "name": "</script>", "y": [2, 0.5]}], "the parameters arrived, typed"


def test_output_of_a_cell_is_text(page):
    """Two figures, the summary, plotly and the code that draws are all the scripts there are."""
    assert len(re.findall("<script", re.sub(r'id="plotly">[^<]*', "", page))) == 5
    assert "&lt;script&gt;alert(1)&lt;/script&gt; 2" in page
    assert "<summary>what was printed</summary>" in page
    assert "<img" not in page
    assert "&lt;img src=x onerror=alert(2)&gt;" in page


def test_the_page_shows_outputs_and_prose_and_no_code(page):
    assert "<p>the verdict</p>" in page
    assert "Prose." in page
    assert "<title>Is `it` &lt;fast&gt;?</title>" in page
    assert "from IPython" not in page
    assert "confidence: float" not in page
    assert not re.findall(r"(?:In|Out)\s*\[\d+\]", page), "prompts number code that is not shown"


def test_the_page_asks_for_nothing(page):
    rest = re.sub(r'id="plotly">[^<]*', "", page)
    assert not re.findall(r"https?://", rest)
    assert not re.findall(r"<script[^>]* src|@import|<iframe|<link(?! rel=\"icon\" href=\"data:,\")", rest)


def test_the_summary_travels_with_the_page(page):
    (text,) = re.findall(r'<script type="application/json" id="labkit-summary">(.*?)</script>', page)
    found = json.loads(text)
    assert SUMMARY.items() <= found.items()
    assert found["title"] == "Is `it` <fast>?"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", found["created"])


def test_the_executed_notebook_is_whole_and_light(built):
    notebook = nbformat.read(built.with_suffix(".ipynb"), as_version=4)
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")
    assert "widgets" not in notebook.metadata
    injected = next(cell for cell in notebook.cells if "injected-parameters" in cell.metadata.get("tags", ()))
    assert "blocks = 2" in injected.source


def test_the_index_lists_it(built):
    index = (built.parent / "index.html").read_text(encoding="utf-8")
    assert "<a href='first.html'>Is `it` &lt;fast&gt;?</a>" in index
    assert "<td>1.20× [1.10, 1.30]</td>" in index
    assert "At T = 0 &lt;switch&gt; on" in index


def test_where_it_comes_from_and_how_to_make_it_again(built, page):
    box = re.search(r'<section class="provenance">.*?</section>', page, re.S)[0]
    rows = dict(re.findall(r"<tr><th>([^<]*)</th><td>(?:<code>)?([^<]*)", box))
    assert rows["report made"].startswith(re.search(r'"created": "([^"]*)"', page)[1])
    words = shlex.split(unescape(rows["made with"]))
    assert words[:2] == ["labkit", "report"]
    assert words[3:] == ["-p", "blocks=2", "-p", "confidence=0.5"]
    assert Path(words[2]).name == "lab.ipynb"


def test_sections_are_listed(page):
    """The box of origin is the only section of this notebook."""
    assert re.findall(r'<li><a href="#(section-\d)">([^<]*)</a>', page) == [("section-1", "Where does this come from?")]
    assert 'id="section-1"' in page


# --- what would be a secret's way out


def test_a_planted_secret_reaches_no_file_and_no_log(tmp_path, monkeypatch):
    """In the environment, printed in one piece and in two; in a command line; in a header."""
    monkeypatch.setenv("DEMO_API_KEY", "planted-7731")
    shows = [
        "import os, sys, time\nprint('key', os.environ['DEMO_API_KEY'])",
        "sys.stdout.write('plant'); sys.stdout.flush(); time.sleep(0.3); sys.stdout.write('ed-7731\\n')",
        "['serve', '--api' + '-key', 'second' + '-7732']",  # the source itself must not hold one
        "print({'Authorization': 'Bea' + 'rer third' + '-7733-third'}, file=sys.stderr)",
    ]
    source, said = write(tmp_path / "lab.ipynb", *shows, SHOW_SUMMARY, FINISH), io.StringIO()
    with pytest.raises(ReportError, match="no page was made") as error:
        build_report(source, {}, out=tmp_path / "out", name="r", echo=said)
    for what in ("a Bearer token", "a key in a command line", "the value of DEMO_API_KEY"):
        assert what in str(error.value)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["r.ipynb"]
    written = (tmp_path / "out" / "r.ipynb").read_text(encoding="utf-8")
    outputs = "".join(map(json.dumps, nbformat.reads(written, as_version=4).cells))
    for text in (said.getvalue(), str(error.value)):
        assert not re.findall("planted-7731|7732|7733", text)
    assert "planted-7731" not in outputs
    shown = json.dumps([c.outputs for c in nbformat.reads(written, as_version=4).cells if c.cell_type == "code"])
    assert not re.findall("773[123]", shown), shown
    assert "key [removed: the value of DEMO_API_KEY]" in shown


@pytest.mark.parametrize(
    "cell", ["key = 'planted-7731'", "# Authorization: Bearer abcdefgh12345678", "serve('--api-key=abcdef123')"]
)
def test_a_notebook_that_holds_a_secret_is_refused_before_anything_runs(tmp_path, monkeypatch, cell):
    """papermill copies the source first of all."""
    monkeypatch.setenv("DEMO_API_KEY", "planted-7731")
    source = write(tmp_path / "lab.ipynb", "1", cell, SHOW_SUMMARY, FINISH)
    with pytest.raises(ConfigError, match=r"cell 4 of lab\.ipynb holds (the value of DEMO_API_KEY|a .*);") as error:
        build_report(source, {}, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert "planted-7731" not in str(error.value)


def test_a_secret_in_an_error_is_taken_out(tmp_path, monkeypatch):
    monkeypatch.setenv("DEMO_API_KEY", "planted-7731")
    fails = "import os\nraise ValueError('bad key ' + os.environ['DEMO_API_KEY'])"
    with pytest.raises(ReportError, match=r"ValueError: bad key \[removed: the value of DEMO_API_KEY\]"):
        build_report(write(tmp_path / "lab.ipynb", fails), {}, out=tmp_path / "out", name="r")
    assert "planted-7731" not in (tmp_path / "out" / "r.ipynb").read_text(encoding="utf-8")


@pytest.mark.parametrize("values", [{"run": "planted-7731"}, {"run": "x planted-7731"}, {"api_key": "x"}])
def test_a_secret_is_no_parameter(notebook, monkeypatch, values):
    """papermill would write it into the notebook twice."""
    monkeypatch.setenv("DEMO_API_KEY", "planted-7731")
    with pytest.raises(ConfigError, match="set it in the environment") as error:
        typed_parameters(notebook, values)
    assert "planted-7731" not in str(error.value)


# --- pages that would not do to share


@pytest.mark.parametrize(
    "html",
    ["<img src='https://a.example/x.png'>", "<p>A completion: <script>alert(1)</script></p>"],
    ids=["an image from elsewhere", "unescaped output of a model"],
)
def test_a_page_that_reaches_out_is_not_made(tmp_path, html):
    shows = f"from IPython.display import HTML\nHTML({html!r})"
    with pytest.raises(ReportError, match=r"the page would load or run .*<(img|script).*labkit\.show") as error:
        build_report(write(tmp_path / "lab.ipynb", shows, SHOW_SUMMARY, FINISH), {}, out=tmp_path / "out", name="r")
    assert str(tmp_path / "out" / "r.ipynb") in str(error.value)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["r.ipynb"]


def test_a_page_too_large_to_mail_is_not_made(tmp_path):
    large = output(PLOTLY_MIME, FIGURE).replace("display(", "data['data'][0]['x'] = list(range(400_000))\ndisplay(")
    source = write(tmp_path / "lab.ipynb", "1", large, SHOW_SUMMARY, FINISH)
    with pytest.raises(
        ReportError, match=r"would be \d\.\d MB, 3 MB is what .* most is shown by code cell 3: 3\.\d MB"
    ):
        build_report(source, {}, out=tmp_path / "out", name="r")
    assert not list((tmp_path / "out").glob("*.html"))


# --- reports that are not whole: one execution each


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        pytest.param(
            ["print('before')", 'raise ValueError("no <engine>")', SHOW_SUMMARY, FINISH],
            ["ValueError: no <engine>", "measured cells are kept"], id="a failing cell",
        ),
        pytest.param(
            ["print('before')", SHOW_SUMMARY, FINISH, "1 / 0"],
            ["cell 6 of lab.ipynb failed: ZeroDivisionError", "measured cells are kept"], id="a failing last cell",
        ),
        pytest.param(
            ["print('before')", "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'exit(7)'], check=True)",
             SHOW_SUMMARY, FINISH],
            ["cell 4 of lab.ipynb failed: CalledProcessError", "exit status 7"], id="a dead child process",
        ),
        pytest.param(["print('before')", SHOW_SUMMARY], ["not whole", "labkit.finish(run)"], id="no finish"),
        pytest.param(
            ["print('before')", "import os\nos._exit(1)", SHOW_SUMMARY, FINISH],
            ["could not be executed in cell 4: Kernel died"], id="a dead kernel",
        ),
    ],
)  # fmt: skip
def test_a_notebook_that_did_not_end_is_no_report(tmp_path, cells, words):
    source = write(tmp_path / "lab.ipynb", *cells)
    with pytest.raises(ReportError) as error:
        build_report(source, {}, out=tmp_path / "out", name="part")
    kept = tmp_path / "out" / "part.ipynb"
    for word in [*words, str(kept)]:
        assert word in str(error.value)
    assert not list((tmp_path / "out").glob("*.html"))
    printed = [o.get("text") for cell in nbformat.read(kept, as_version=4).cells for o in cell.get("outputs", ())]
    assert "before\n" in printed
    if words[0].startswith("ValueError"):
        number = int(re.search(r"cell (\d+) of lab\.ipynb failed", str(error.value))[1])
        named = nbformat.read(source, as_version=4).cells[number - 1]
        assert "ValueError" in named.source, "the cell is named by its place, counted from 1"


# --- deadlines


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"cell": 2}, "lab.ipynb could not be executed: cell 4 took longer than 2 s (--cell-limit)"),
        ({"whole": 8}, "could not be executed: it took longer than 8 s (--limit), and was in cell 4"),
    ],
)
def test_a_deadline_ends_the_kernel_and_keeps_what_there_is(tmp_path, limits, words):
    pid = tmp_path / "pid"
    sleeps = f"import os, pathlib, time\npathlib.Path({str(pid)!r}).write_text(str(os.getpid()))\ntime.sleep(60)"
    source = write(tmp_path / "lab.ipynb", "print('before')", sleeps, SHOW_SUMMARY, FINISH)
    begun = time.monotonic()
    with pytest.raises(ReportError, match=re.escape(words)):
        build_report(source, {}, out=tmp_path / "out", name="part", limits=Limits(**limits))
    assert time.monotonic() - begun < 40
    assert not psutil.pid_exists(int(pid.read_text()))
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["part.ipynb"]
    assert "before" in (tmp_path / "out" / "part.ipynb").read_text()
