"""How long until a report is ready, and from a moved control to the redrawn board?

    python benchmarks/report_page.py [--run drafters] [--opens 20] [--moves 200] [--pause 50]

The report of the sweep notebook on a recorded run, opened from its file in Chromium with no network, each time by a
browser of its own that nothing is attached to: one that is steered keeps the stack of every exception, and for those
that plotly.js throws and catches while it starts V8 parses all of it three times more. From the start of the
navigation: until everything in the window is drawn and the controls work, and until every figure and board of the page
is drawn. Then, steered, with the mouse on the board for a second, its controls are set in turn to another value at
random, --pause ms after each redraw: from the input event until all charts of the board are drawn and painted. Times
are taken in the page. Wanted: file ≤ 3 MB, ready ≤ 1.5 s, redraw p95 ≤ 50 ms.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from playwright.sync_api import Browser, sync_playwright

from labkit.paths import DATA
from labkit.view.report import build_report
from tests.jupyter import FLAGS, ROOT

#: Makes the title of the page the times at which it says that what is seen is drawn, and that all is.
WATCH = """
let seen;
new MutationObserver((_, watch) => {
  const ready = document.body?.dataset.ready;
  if (ready) seen ??= performance.now();
  if (ready !== 'yes') return;
  watch.disconnect();
  document.title = `drawn ${seen} ${performance.now()}`;
}).observe(document, {subtree: true, childList: true, attributes: true, attributeFilter: ['data-ready']});
"""
#: Moves the ``i``-th control that has a choice to another value; resolves when the board is drawn, with its name.
MOVE = """([i, random]) => new Promise(done => {
  const board = document.querySelector('.board');
  const controls = [...board.querySelectorAll('.controls select, .controls input')].filter(one => !one.disabled);
  const control = controls[i % controls.length];
  const count = control.options ? control.options.length : Number(control.max) + 1;
  const name = control.closest('label').firstChild.textContent;
  new MutationObserver((_, watch) => {
    watch.disconnect();
    setTimeout(() => done([name, performance.now() - begun]));  // the frame is painted before it
  }).observe(board, {attributes: true, attributeFilter: ['data-drawn']});
  const begun = performance.now();
  control.value = (Number(control.value) + 1 + Math.floor(random * (count - 1))) % count;
  control.dispatchEvent(new Event('input', {bubbles: true}));
})"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--run", default="drafters", help="a recorded run")
    options.add_argument("--opens", type=int, default=20)
    options.add_argument("--moves", type=int, default=200)
    options.add_argument("--pause", type=int, default=50, help="ms between a redraw and the next move")
    asked = options.parse_args()
    os.chdir(ROOT)  # the notebook names its plan from here
    with tempfile.TemporaryDirectory() as folder:
        values = {"run": str(DATA / "recorded" / asked.run)}
        report = build_report(ROOT / "notebooks" / "02_sweep_report.ipynb", values, out=folder, name="report")
        print(f"{report.stat().st_size / 1e6:.2f} MB")
        watched = report.with_name("watched.html")
        watched.write_text(with_script(report.read_text(encoding="utf-8"), WATCH), encoding="utf-8")
        seen, whole = zip(*(opened(watched.as_uri()) for _ in range(asked.opens)), strict=True)
        say("window", seen)
        say("all", whole)
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
            redraws = moved(browser, report.as_uri(), asked.moves, asked.pause)
            for name in redraws:
                say(name, redraws[name])
            say("any control", [took for times in redraws.values() for took in times])
            browser.close()


def with_script(html: str, script: str) -> str:
    """A page that runs ``script`` before its own, which its policy then allows."""
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    html = html.replace("script-src ", f"script-src 'sha256-{allowed}' ", 1)
    return html.replace("<title>", f"<script>{script}</script><title>", 1)


def opened(url: str) -> tuple[float, float]:
    """Milliseconds until what is in the window is drawn, and all."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, browsing(profile) as port:
        time.sleep(2)  # the browser's own start
        asked = urllib.request.Request(f"http://127.0.0.1:{port}/json/new?{url}", method="PUT")
        urllib.request.urlopen(asked, timeout=10).close()
        for _ in range(300):
            time.sleep(0.1)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=10) as pages:
                titles = [page["title"].split() for page in json.load(pages)]
            if drawn := next((words[1:] for words in titles if words[:1] == ["drawn"]), None):
                return float(drawn[0]), float(drawn[1])
    raise SystemExit("the report was not drawn in 30 s")


@contextmanager
def browsing(profile: str) -> Iterator[int]:
    """The port of a browser that knows no network."""
    alone = ["--headless=new", "--remote-debugging-port=0", f"--user-data-dir={profile}", "--window-size=1200,1000"]
    argv = [shutil.which("chromium"), *FLAGS, *alone, "--host-resolver-rules=MAP * ~NOTFOUND", "about:blank"]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        port = Path(profile) / "DevToolsActivePort"
        for _ in range(200):
            if port.exists() and port.read_text():
                break
            time.sleep(0.1)
        else:
            raise SystemExit("Chromium did not start in 20 s")
        yield int(port.read_text().split()[0])
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=20)


def moved(browser: Browser, url: str, moves: int, pause: int) -> dict[str, list[float]]:
    """Milliseconds of each redraw by the control that moved, after five that warm up."""
    page = browser.new_context(viewport={"width": 1200, "height": 900}, offline=True).new_page()
    page.goto(url)
    page.wait_for_selector("body[data-ready=yes]", timeout=30_000)
    page.hover(".board .controls")
    page.wait_for_timeout(1000)
    draw = random.Random(0)
    times: dict[str, list[float]] = {}
    for i in range(moves + 5):
        name, took = page.evaluate(MOVE, [i, draw.random()])
        if i >= 5:
            times.setdefault(name, []).append(took)
        page.wait_for_timeout(pause)
    page.context.close()
    return times


def say(what: str, times: list[float]) -> None:
    cuts = statistics.quantiles(times, n=20)
    print(f"{what:<12} p50 {statistics.median(times):5.0f} ms, p95 {cuts[18]:5.0f} ms (n = {len(times)})")


if __name__ == "__main__":
    main()
