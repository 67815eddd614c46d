"""Audit the demo's drafters and keep what is found with a recorded run.

    PYTHONPATH=. python benchmarks/record_audit.py [RUN] [--tokens 2000] [--temperatures 0 0.8 1.0]

RUN is a recorded run ("drafters" without it). Its drafters are audited on real engines in a copy of its folder, each
at the K that :func:`labkit.auditing.audit` takes, and the audits go to ``data/recorded/RUN/audits/``, without paths of
this machine. Wanted on 2 cores: 2,000 tokens of each of three drafters at T = 0, 0.8 and 1.0 in 12 minutes, engine
starts included. What it took is printed phase by phase and belongs into benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time

from benchmarks.record_run import without_paths
from labkit.auditing import audit
from labkit.paths import DATA, runs_root
from labkit.store import Run

#: Longer texts than usual: where texts are short, reading prompts takes most of the time.
ASKED = {"max_tokens": 96, "concurrency": 12, "block": 12}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("run", nargs="?", default="drafters")
    options.add_argument("--tokens", type=int, default=2000)
    options.add_argument("--temperatures", type=float, nargs="+", default=[0.0, 0.8, 1.0])
    asked = options.parse_args()
    recorded, began = DATA / "recorded" / asked.run, time.perf_counter()
    copy = runs_root() / f"audit-{asked.run}-{time.strftime('%Y%m%d-%H%M%S')}"
    shutil.copytree(recorded, copy, ignore=shutil.ignore_patterns("audits"))

    def say(line: str) -> None:
        print(f"{time.perf_counter() - began:6.0f} s  {line}", flush=True)

    found = audit(Run.open(copy), temperatures=asked.temperatures, tokens=asked.tokens, say=say, **ASKED)
    minutes = (time.perf_counter() - began) / 60
    shutil.rmtree(recorded / "audits", ignore_errors=True)
    (recorded / "audits").mkdir()
    for path in sorted((copy / "audits").glob("*.json")):
        data = without_paths(json.loads(path.read_text(encoding="utf-8")))
        packed = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        (recorded / "audits" / path.name).write_text(packed + "\n", encoding="utf-8")
    for one in found:
        print(f"{one.label}: {one.verdict}, {one.tokens} tokens; {one.why[0]}")
    print(f"{len(found)} audits, {sum(one.tokens for one in found)} tokens in {minutes:.1f} minutes (in {copy})")


if __name__ == "__main__":
    main()
