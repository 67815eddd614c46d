"""How long from `make lab` to the first drawn chart?

    python benchmarks/lab_start.py [--times 5]

JupyterLab as `make lab` starts it, once set up, on a folder of its own; the tuning notebook opened in Chromium and run.
From the start of the server until the first chart is drawn, and until all four of the board are. Wanted: first chart
within 20 s.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.jupyter import ROOT, page_at, run_all, serve

FIRST = "document.querySelector('.js-plotly-plot .main-svg')"
BOARD = "document.querySelectorAll('.labkit-grid .js-plotly-plot').length === 4"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--times", type=int, default=5)
    found = [started() for _ in range(options.parse_args().times)]
    for what, seconds in zip(("first chart", "whole board"), zip(*found, strict=True), strict=True):
        print(f"{what}: median {statistics.median(seconds):.1f} s, {min(seconds):.1f} to {max(seconds):.1f} "
              f"(n = {len(seconds)})")  # fmt: skip


def started() -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        notebook = Path(folder) / "01_tuning_lab.ipynb"
        shutil.copy(ROOT / "notebooks" / notebook.name, notebook)
        begun = time.monotonic()
        with serve(Path(folder), notebook) as url, page_at(url) as page:
            run_all(page)
            times = []
            for drawn in (FIRST, BOARD):
                page.wait_for_function(drawn, timeout=90_000)
                times.append(time.monotonic() - begun)
    return times[0], times[1]


if __name__ == "__main__":
    main()
