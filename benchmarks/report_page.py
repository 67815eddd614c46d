"""How long until a report is ready, and from a moved control to the redrawn board?

    python benchmarks/report_page.py [--run drafters] [--opens 20] [--moves 200]

The report of the sweep notebook on a recorded run, opened from its file in Chromium with the network off, each time by
a browser context of its own. From the start of the navigation: until everything in the window is drawn and the controls
work, and until every figure and board of the page is drawn. Then the controls of the board are moved in turn: from the
input event until all charts of the board are drawn, by control. Times are taken in the page. Wanted: file ≤ 3 MB,
ready ≤ 1.5 s, redraw p95 ≤ 50 ms.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from playwright.sync_api import Browser, Page, sync_playwright

from labkit.paths import DATA
from labkit.view.report import build_report
from tests.jupyter import FLAGS, ROOT

#: Notes when the page says that what is seen is drawn, and that all is.
WATCH = """
new MutationObserver((_, watch) => {
  const ready = document.body?.dataset.ready;
  if (ready) window.seen ??= performance.now();
  if (ready === 'yes') { window.all = performance.now(); watch.disconnect(); }
}).observe(document, {subtree: true, childList: true, attributes: true, attributeFilter: ['data-ready']});
"""
#: Moves the ``i``-th control that has a choice to its next value; resolves when the board is drawn, with its name.
MOVE = """i => new Promise(done => {
  const board = document.querySelector('.board');
  const controls = [...board.querySelectorAll('.controls select, .controls input')].filter(one => !one.disabled);
  const control = controls[i % controls.length];
  const count = control.options ? control.options.length : Number(control.max) + 1;
  const name = control.closest('label').firstChild.textContent;
  new MutationObserver((_, watch) => { watch.disconnect(); done([name, performance.now() - begun]); })
    .observe(board, {attributes: true, attributeFilter: ['data-drawn']});
  const begun = performance.now();
  control.value = (Number(control.value) + 1) % count;
  control.dispatchEvent(new Event('input', {bubbles: true}));
})"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--run", default="drafters", help="a recorded run")
    options.add_argument("--opens", type=int, default=20)
    options.add_argument("--moves", type=int, default=200)
    asked = options.parse_args()
    os.chdir(ROOT)  # the notebook names its plan from here
    with tempfile.TemporaryDirectory() as folder:
        values = {"run": str(DATA / "recorded" / asked.run)}
        report = build_report(ROOT / "notebooks" / "02_sweep_report.ipynb", values, out=folder, name="report")
        print(f"{report.stat().st_size / 1e6:.2f} MB")
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
            seen, whole = zip(*(opened(browser, report.as_uri()) for _ in range(asked.opens)), strict=True)
            say("window", seen)
            say("all", whole)
            redraws = moved(browser, report.as_uri(), asked.moves)
            for name in redraws:
                say(name, redraws[name])
            say("any control", [time for times in redraws.values() for time in times])
            browser.close()


def opened(browser: Browser, url: str) -> tuple[float, float]:
    """Milliseconds until what is in the window is drawn, and all."""
    page = offline(browser)
    page.goto(url)
    page.wait_for_function("window.all", timeout=30_000)
    times = page.evaluate("[window.seen, window.all]")
    page.context.close()
    return tuple(times)


def moved(browser: Browser, url: str, moves: int) -> dict[str, list[float]]:
    """Milliseconds of each redraw by the control that moved, after five that warm up."""
    page = offline(browser)
    page.goto(url)
    page.wait_for_function("window.all", timeout=30_000)
    times: dict[str, list[float]] = {}
    for i in range(moves + 5):
        name, time = page.evaluate(MOVE, i)
        if i >= 5:
            times.setdefault(name, []).append(time)
        page.wait_for_timeout(50)
    page.context.close()
    return times


def offline(browser: Browser) -> Page:
    context = browser.new_context(viewport={"width": 1200, "height": 900}, offline=True)
    context.add_init_script(WATCH)
    return context.new_page()


def say(what: str, times: list[float]) -> None:
    cuts = statistics.quantiles(times, n=20)
    print(f"{what:<12} p50 {statistics.median(times):5.0f} ms, p95 {cuts[18]:5.0f} ms (n = {len(times)})")


if __name__ == "__main__":
    main()
