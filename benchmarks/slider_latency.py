"""How long from a key on the K slider to the changed charts?

    python benchmarks/slider_latency.py [--moves 100] [--run demo]

Real JupyterLab in real Chromium on the recorded run, labkit's board (five charts) against its four plotly charts as
``FigureWidget``s in ``batch_update``, each with and without TCP_NODELAY on the kernel's socket, one after the other.
Latency is taken in the page, from the key event to the last change of the board's elements: they stand still for
60 ms after it. Then 60 moves 33 ms apart: how long after the last one the last redraw came (before it, where its K was
shown already), and whether what is shown is what a single move to that K shows. Wanted: p50 ≤ 60 ms, p95 ≤ 120 ms;
settled ≤ 200 ms after the last move.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.jupyter import page_at, run_all, serve

BOARD = "import labkit\npanel = labkit.panel('{run}')\npanel"
FIGURES = """import ipywidgets, labkit, plotly.graph_objects as go
from labkit.view.board_charts import whole
panel = labkit.panel('{run}')
drawn = lambda state: [whole(chart) for chart in state["charts"] if "data" in chart]
figures = [go.FigureWidget(chart) for chart in drawn(panel._board.state)]
def move(change):
    for figure, chart in zip(figures, drawn(change["new"])):
        with figure.batch_update():
            figure.layout.title.text = chart["layout"]["title"]["text"]
            figure.layout.shapes = chart["layout"].get("shapes", [])
            for trace, new in zip(figure.data, chart["data"]):
                if "x" in new:
                    trace.x, trace.y = new["x"], new["y"]
panel._board.close()  # its message would travel with those of the figures
panel._board.observe(move, "state")
ipywidgets.VBox([panel._controls["k"], *figures])"""
WATCH = """async ({moves, gap}) => {
  const handle = document.querySelector('.noUi-handle');
  const charts = document.querySelectorAll('.labkit-board, .js-plotly-plot');
  const wait = ms => new Promise(done => setTimeout(done, ms)), k = () => handle.getAttribute('aria-valuenow');
  const shown = () => [...document.querySelectorAll('.labkit-title, .gtitle')].map(one => one.textContent).join('|');
  const press = key => handle.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
  let drawn = 0;
  const watch = new MutationObserver(() => { drawn = performance.now(); });
  for (const chart of charts)
    watch.observe(chart, {subtree: true, childList: true, attributes: true, characterData: true});
  const settled = async since => {
    while (performance.now() - Math.max(drawn, since) < (drawn > since ? 60 : 2000)) await wait(1);
    return drawn - since;
  };
  handle.focus();
  const times = [], titles = {[k()]: shown()};
  let key = 'ArrowRight';
  for (let i = 0; i < moves; i++) {
    if (i % 3 === 0) key = key === 'ArrowRight' ? 'ArrowLeft' : 'ArrowRight';
    const begun = performance.now();
    press(key);
    times.push(await settled(begun));
    titles[k()] = shown();
    await wait(100);
  }
  let last = 0;
  for (let i = 0; i < 60; i++) {
    if (i % 3 === 0) key = key === 'ArrowRight' ? 'ArrowLeft' : 'ArrowRight';
    last = performance.now();
    press(key);
    if (i < 59) await wait(gap);
  }
  return {times, after: await settled(last), right: titles[k()] === shown()};
}"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--moves", type=int, default=100)
    options.add_argument("--run", default="demo", help="a recorded run")
    asked = options.parse_args()
    for name, source in (("labkit's board", BOARD), ("FigureWidget", FIGURES)):
        for at_once in (True, False):
            found = measured(source.format(run=asked.run), asked.moves, at_once)
            times, how = found["times"], "with" if at_once else "without"
            p95, end = statistics.quantiles(times, n=20)[18], "right" if found["right"] else "WRONG"
            print(f"{name:<15} {how:<7} TCP_NODELAY: p50 {statistics.median(times):5.0f} ms, p95 {p95:5.0f} ms "
                  f"(n = {len(times)}); 60 moves 33 ms apart settle {found['after']:.0f} ms after the last, "
                  f"{end} at the end", flush=True)  # fmt: skip


def measured(source: str, moves: int, at_once: bool) -> dict[str, Any]:
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
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        notebook.write_text(json.dumps({"cells": [cell], "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}))
        with serve(Path(folder), notebook, at_once=at_once) as url, page_at(url) as page:
            run_all(page)
            page.wait_for_function("document.querySelectorAll('.js-plotly-plot .main-svg').length >= 4", timeout=90_000)
            page.wait_for_timeout(1500)
            return page.evaluate(WATCH, {"moves": moves, "gap": 33})


if __name__ == "__main__":
    main()
