"""Is training reproducible, and does a killed one end where an undisturbed one does?

    python benchmarks/training_repeats.py [--per-category 120] [--held-out 8]

Trains an EAGLE-3 head for the demo target three times on the same few texts: twice undisturbed, and once killed with
SIGKILL after its first checkpoint and started again. Prints each one's offline agreement at the first draft token
and acceptance length at K = 3 (all held-out prompts). Wanted: within 0.5 points. About 10 minutes on 2 cores.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--per-category", type=int, default=120)
    options.add_argument("--held-out", type=int, default=8)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder) / "first"
        size = ["--per-category", str(asked.per_category), "--held-out", str(asked.held_out), "--epochs", "1"]
        found = {"undisturbed": train(first, *size)}
        found["again"] = train(Path(folder) / "again", *size, "--texts", str(first))
        killed = Path(folder) / "killed"
        kill(killed, *size, "--texts", str(first))
        found["killed and resumed"] = train(killed, *size, "--texts", str(first))
    for name, (agreement, length) in found.items():
        print(f"{name:<20} agreement {100 * agreement:.2f} %, acceptance length {length:.4f}")
    rates = [agreement for agreement, _ in found.values()]
    print(f"largest difference: {100 * (max(rates) - min(rates)):.2f} points")


def command(folder: Path, *options: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "labkit.cli",
        "drafters",
        "train",
        "--method",
        "eagle3",
        "--out",
        str(folder),
        *options,
    ]


def train(folder: Path, *options: str) -> tuple[float, float]:
    subprocess.run(command(folder, *options), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    offline = json.loads((folder / "package" / "card.json").read_text(encoding="utf-8"))["offline"]["all"]
    return offline["conditional"][0], offline["mean_acceptance_length"]["3"]


def kill(folder: Path, *options: str) -> None:
    """Start a training and end it the hard way once it has written a checkpoint."""
    done = subprocess.Popen(
        command(folder, *options), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0
    )
    while not (folder / "checkpoint.pt").exists():
        if done.poll() is not None:
            raise SystemExit("the training ended before it wrote a checkpoint; ask for more prompts")
        time.sleep(0.2)
    os.killpg(done.pid, signal.SIGKILL)
    done.wait()


if __name__ == "__main__":
    main()
