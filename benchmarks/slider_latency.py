"""How long from a key on the K slider to the changed charts?

    python benchmarks/slider_latency.py [--moves 100]

Real JupyterLab in real Chromium on the recorded run, labkit's board (five charts) against the same five charts as
plotly ``FigureWidget``s in ``batch_update``, each with and without TCP_NODELAY on the kernel's socket, one after the
other. Latency is taken in the page, from the key event to the first change of the first chart's title in the DOM.
Then 60 moves 33 ms apart: how long after the last one the page stands still. Wanted: p50 ≤ 60 ms, p95 ≤ 120 ms; settled
≤ 200 ms after the last move, with the last value shown.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.jupyter import page_at, run_all, serve

BOARD = "import labkit\npanel = labkit.panel('{run}')\npanel"
FIGURES = """import ipywidgets, labkit, plotly.graph_objects as go
panel = labkit.panel('{run}')
figures = [go.FigureWidget(chart) for chart in panel._board.state["charts"]]
def move(change):
    for figure, chart in zip(figures, change["new"]["charts"]):
        with figure.batch_update():
            figure.layout.title.text = chart["layout"]["title"]["text"]
            for trace, new in zip(figure.data, chart["data"]):
                if "x" in new:
                    trace.x, trace.y = new["x"], new["y"]
panel._board.observe(move, "state")
ipywidgets.VBox([panel._controls["k"], *figures])"""
WATCH = """async ({moves, gap}) => {
  const handle = document.querySelector('.noUi-handle'), chart = document.querySelector('.js-plotly-plot');
  const title = () => chart.querySelector('.gtitle')?.textContent, wait = ms => new Promise(r => setTimeout(r, ms));
  const press = key => handle.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
  handle.focus();
  const times = [];
  let key = 'ArrowRight';
  for (let i = 0; i < moves; i++) {
    if (i % 3 === 0) key = key === 'ArrowRight' ? 'ArrowLeft' : 'ArrowRight';
    const before = title(), begun = performance.now();
    press(key);
    if (gap) { await wait(gap); continue; }
    while (title() === before && performance.now() - begun < 3000) await new Promise(r => setTimeout(r, 1));
    times.push(performance.now() - begun);
    await wait(120);
  }
  if (!gap) return times;
  const begun = performance.now();
  let last = title(), changed = 0;
  while (performance.now() - begun < 1500) {
    await wait(2);
    if (title() !== last) { last = title(); changed = performance.now() - begun; }
  }
  return [changed];
}"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--moves", type=int, default=100)
    options.add_argument("--run", default="drafters")
    asked = options.parse_args()
    for name, source in (("labkit's board", BOARD), ("FigureWidget", FIGURES)):
        for at_once in (True, False):
            times, settled = measured(source.format(run=asked.run), asked.moves, at_once)
            cuts = statistics.quantiles(times, n=20)
            how = "with" if at_once else "without"
            print(f"{name:<15} {how:<7} TCP_NODELAY: p50 {statistics.median(times):5.0f} ms, p95 {cuts[18]:5.0f} ms "
                  f"(n = {len(times)}); 60 moves 33 ms apart settle {settled:.0f} ms after the last")  # fmt: skip


def measured(source: str, moves: int, at_once: bool) -> tuple[list[float], float]:
    with tempfile.TemporaryDirectory() as folder:
        notebook = Path(folder) / "latency.ipynb"
        cell = {
            "cell_type": "code",
            "id": "a",
            "metadata": {},
            "execution_count": None,
            "outputs": [],
            "source": source,
        }
        notebook.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
        with serve(Path(folder), notebook, at_once=at_once) as url, page_at(url) as page:
            run_all(page)
            page.wait_for_function("document.querySelectorAll('.js-plotly-plot .gtitle').length >= 5", timeout=90_000)
            page.wait_for_timeout(1500)
            times = page.evaluate(WATCH, {"moves": moves, "gap": 0})
            (settled,) = page.evaluate(WATCH, {"moves": 60, "gap": 33})
    return times, settled


if __name__ == "__main__":
    main()
