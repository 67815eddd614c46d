"""Real JupyterLab in real Chromium, for tests: a server with folders of its own, and a page that is ready."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labkit.engine.process import free_port

ROOT = Path(__file__).parent.parent
ARTEFACTS = ROOT / "test-artifacts"
_TOKEN = "secret-of-this-test"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
_RUN_ALL = """async () => {
  const app = window.jupyterapp;
  await app.restored;
  let panel;
  while (!(panel = app.shell.currentWidget) || !panel.context) await new Promise(done => setTimeout(done, 100));
  await panel.context.ready;
  await panel.sessionContext.ready;
  while (!panel.sessionContext.session?.kernel) await new Promise(done => setTimeout(done, 100));
  await panel.sessionContext.session.kernel.info;
  await app.commands.execute('notebook:run-all-cells');
}"""
_TO_CELL = """async text => {
  const notebook = window.jupyterapp.shell.currentWidget.content;
  const index = notebook.model.toJSON().cells.findIndex(cell => String(cell.source).includes(text));
  notebook.activeCellIndex = index;
  await notebook.scrollToItem(index, 'start');
}"""


@contextmanager
def serve(folder: Path, notebook: Path, *, at_once: bool = True, **env: str) -> Iterator[str]:
    """JupyterLab on ``folder`` as ``make lab`` starts it (without its server config if not ``at_once``); yields the
    URL that opens ``notebook`` in it."""
    port, folders = free_port(), {"JUPYTERLAB_SETTINGS_DIR": str(folder / "s")}
    folders |= {"JUPYTERLAB_WORKSPACES_DIR": str(folder / "w")}
    arguments = [
        "jupyter", "lab", "--no-browser", f"--port={port}", "--ip=127.0.0.1", "--allow-root",
        f"--IdentityProvider.token={_TOKEN}", "--expose-app-in-browser", f"--notebook-dir={folder}",
    ]  # fmt: skip
    if at_once:
        folders["JUPYTER_CONFIG_PATH"] = str(ROOT / "notebooks" / "jupyter")
    with _running(arguments, folder, folders | env):
        yield f"http://127.0.0.1:{port}/lab/tree/{notebook.name}?token={_TOKEN}"


@contextmanager
def serve_page(folder: Path, notebook: Path, **env: str) -> Iterator[str]:
    """The notebook as a Voilà page; yields its URL."""
    port = free_port()
    arguments = ["voila", str(notebook), f"--port={port}", "--no-browser", "--Voila.ip=127.0.0.1"]
    with _running(arguments, folder, env):
        yield f"http://127.0.0.1:{port}/"


@contextmanager
def _running(arguments: list[str], folder: Path, env: dict[str, str]) -> Iterator[None]:
    """A server of Jupyter's with folders of its own."""
    folders = {f"JUPYTER_{n}_DIR": str(folder / n) for n in ("CONFIG", "DATA", "RUNTIME")}
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", *arguments], env={**os.environ, **folders, **env}, cwd=folder, process_group=0,
            stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        yield
    finally:
        os.killpg(server.pid, 15)
        server.wait(timeout=20)


@contextmanager
def page_at(url: str, *, ready: str = "window.jupyterapp !== undefined", **options):
    """A page of Chromium on a server that may still be starting; ``ready``: the page is there when this is true."""
    from playwright.sync_api import sync_playwright

    ARTEFACTS.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(**{"viewport": {"width": 1300, "height": 1000}} | options)
        _open(page, url, ready)
        yield page
        browser.close()


def run_all(page) -> None:
    page.evaluate(_RUN_ALL)


def scroll_to(page, text: str) -> None:
    """The cell whose source holds ``text``."""
    page.evaluate(_TO_CELL, text)


def outputs(page) -> list[dict]:
    cells = page.evaluate("() => window.jupyterapp.shell.currentWidget.content.model.toJSON()")["cells"]
    return [output for cell in cells for output in cell.get("outputs", ())]


def _open(page, url: str, ready: str) -> None:
    """The server needs some seconds to listen."""
    deadline = time.monotonic() + 60
    while True:
        try:
            page.goto(url, wait_until="domcontentloaded")
            page.wait_for_function(ready, timeout=60_000)
            return
        except Exception:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
