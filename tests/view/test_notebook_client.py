"""What is kept of a cell while it runs: one output a stream, and never a secret on disk, whatever ends the run."""

import io
import json
import time

import nbformat
import pytest

from labkit.errors import ConfigError, ReportError
from labkit.view import execution
from labkit.view.leaks import Secrets
from labkit.view.notebook_client import Echo, Limits
from tests.view.test_report import write

SECRET, NOTE = "planted-7731", "[removed: the value of DEMO_API_KEY]"
#: Prints the secret in two pieces that reach the notebook apart, other streams and outputs between them.
CUT = """\
import os, sys, time
first, second = os.environ["DEMO_API_KEY"][:5], os.environ["DEMO_API_KEY"][5:]
sys.stdout.write("key " + first); sys.stdout.flush(); time.sleep(0.4)
print("meanwhile", file=sys.stderr, flush=True); display("shown between"); time.sleep(0.4)
sys.stdout.write(second + " end\\n"); sys.stdout.flush(); time.sleep(0.4)
"""


@pytest.fixture
def secrets(monkeypatch):
    monkeypatch.setenv("DEMO_API_KEY", SECRET)
    return Secrets({"DEMO_API_KEY": SECRET})


def run(folder, *cells, secrets, said=None, **limits):
    source, executed = write(folder / "lab.ipynb", *cells), folder / "executed.ipynb"
    execution.execute(source, executed, {}, limits=Limits(**limits), secrets=secrets, echo=said)
    return executed


def streams(executed):
    """Text by stream of the cells, and everything that they show in one text."""
    cells = [cell for cell in nbformat.read(executed, as_version=4).cells if cell.cell_type == "code"]
    outputs = [output for cell in cells for output in cell.outputs]
    found = {}
    for output in outputs:
        if output.output_type == "stream":
            found.setdefault(output.name, []).append(output.text)
    return found, "".join(str(output.get("text", "")) for output in outputs)


def test_a_stream_is_one_output_and_a_cut_secret_is_found(tmp_path, secrets):
    said = io.StringIO()
    found, shown = streams(run(tmp_path, CUT, "print('after')", secrets=secrets, said=said))
    assert found == {"stdout": [f"key {NOTE} end\n", "after\n"], "stderr": ["meanwhile\n"]}
    assert SECRET not in shown
    assert said.getvalue() == f"key {NOTE} end\nafter\n"
    assert secrets.found == {"the value of DEMO_API_KEY"}


@pytest.mark.parametrize(
    ("ends", "limits"),
    [("time.sleep(60)", {"cell": 6}), ("os._exit(1)", {}), ("raise ValueError(first + second)", {})],
    ids=["a deadline", "a dead kernel", "an error"],
)
@pytest.mark.parametrize("cleaned_after", [True, False], ids=["at the end", "as papermill left it"])
def test_however_a_cell_is_cut_off_no_secret_stays(tmp_path, monkeypatch, secrets, ends, limits, cleaned_after):
    """papermill saves while a cell runs; what it saved must be clean without a second look, too."""
    if not cleaned_after:
        monkeypatch.setattr(execution, "_keep_clean", lambda executed, secrets: None)
    said = io.StringIO()
    with pytest.raises(ReportError) as error:
        run(tmp_path, CUT + ends, secrets=secrets, said=said, **limits)
    found, shown = streams(tmp_path / "executed.ipynb")
    assert found["stdout"] == [f"key {NOTE} end\n"]
    for text in (shown, (tmp_path / "executed.ipynb").read_text(encoding="utf-8"), said.getvalue(), str(error.value)):
        assert SECRET not in text


def test_a_stream_that_was_cleared_begins_again(tmp_path, secrets):
    """A progress display clears what it printed before."""
    cell = (
        "import time\nfrom IPython.display import clear_output\nprint('old', flush=True); time.sleep(0.4)\n"
        "clear_output(); print('new', flush=True); time.sleep(0.4); print('more', flush=True)"
    )
    found, _ = streams(run(tmp_path, cell, secrets=secrets))
    assert found == {"stdout": ["new\nmore\n"]}


def test_a_line_of_a_megabyte_takes_no_time(tmp_path, secrets):
    """A loop over what was printed that looks back from every character would take hours."""
    begun = time.monotonic()
    found, _ = streams(run(tmp_path, "print('x' * 1_000_000)", secrets=secrets))
    assert found == {"stdout": ["x" * 1_000_000 + "\n"]}
    assert time.monotonic() - begun < 60


def test_progress_that_is_written_over_leaves_its_last_state(tmp_path, secrets):
    cell = (
        "import sys, time\nfor i in range(4):\n"
        "    sys.stderr.write(f'\\r{25 * i} %'); sys.stderr.flush(); time.sleep(0.3)\n"
        "print('\\rdone', file=sys.stderr)\nprint('a\\r\\nb')"
    )
    found, _ = streams(run(tmp_path, cell, secrets=secrets))
    assert found == {"stderr": ["done\n"], "stdout": ["a\r\nb\n"]}


def test_a_notebook_that_is_half_written_is_not_kept(tmp_path, monkeypatch, secrets):
    """As where the disk is full: nobody can say what is in it."""

    def half(source, executed, **options):
        text = (tmp_path / "lab.ipynb").read_text()
        (tmp_path / "executed.ipynb").write_text(text[: len(text) // 2] + SECRET)
        raise OSError("No space left on device")

    monkeypatch.setattr(execution.papermill, "execute_notebook", half)
    with pytest.raises(ReportError, match="No space left on device"):
        run(tmp_path, "1", secrets=secrets)
    assert [path.name for path in tmp_path.iterdir()] == ["lab.ipynb"]


def test_what_other_hands_wrote_into_the_notebook_is_cleaned_too(tmp_path, monkeypatch, secrets):
    """Source, names of fields, metadata; a notebook stays one."""

    def written(source, executed, **options):
        notebook = nbformat.v4.new_notebook(metadata={"note": SECRET})
        data = {"application/x+json": {SECRET: [f"a {SECRET}"]}, "text/plain": SECRET}
        shown = nbformat.v4.new_output("display_data", data, metadata={"x": SECRET})
        notebook.cells = [nbformat.v4.new_code_cell(f"x = '{SECRET}'", outputs=[shown], metadata={"y": SECRET})]
        nbformat.write(notebook, executed)

    monkeypatch.setattr(execution.papermill, "execute_notebook", written)
    executed = run(tmp_path, "1", secrets=secrets)
    assert SECRET not in executed.read_text(encoding="utf-8")
    (cell,) = nbformat.read(executed, as_version=4).cells
    assert cell.outputs[0].data["application/x+json"] == {NOTE: [f"a {NOTE}"]}
    assert secrets.found == {"the value of DEMO_API_KEY"}


def test_a_kernel_that_does_not_start_in_time(tmp_path, monkeypatch, secrets):
    """It runs what lies in the startup folder of IPython before it answers."""
    startup = tmp_path / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "slow.py").write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    with pytest.raises(ReportError, match=r"lab\.ipynb could not be executed: Kernel didn't respond"):
        run(tmp_path, "print(1)", secrets=secrets, start=2)


@pytest.mark.parametrize("limits", [{"start": 0}, {"cell": -1}, {"whole": float("nan")}])
def test_a_deadline_lies_ahead(limits):
    with pytest.raises(ConfigError, match="must be above 0 seconds"):
        Limits(**limits)


def test_the_echo_keeps_lines_and_says_the_last_one_at_the_end(secrets):
    said = io.StringIO()
    echo = Echo(said, secrets)
    for piece in ("10 %\r", "20 %\r", "done\nkey plan", "ted-7731"):
        echo.write(piece)
    assert said.getvalue() == "10 %\r20 %\rdone\n"
    echo.end()
    assert said.getvalue() == f"10 %\r20 %\rdone\nkey {NOTE}"
    assert json.dumps(SECRET) not in said.getvalue()
