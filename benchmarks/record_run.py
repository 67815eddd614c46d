"""Keep a finished run as recorded data.

    python benchmarks/record_run.py RUN_FOLDER NAME

Copies the run to ``data/recorded/NAME`` with its scores and audits: cells compressed, without the engines' logs and
without paths of this machine, so that it can be shared and opened anywhere.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from typing import Any

from labkit.paths import DATA
from labkit.store import open_run

#: An absolute path inside a text; what is kept is its last part.
_PATH = re.compile(r"(?<![\w.:/])/(?:[^/\s\"']+/)+([^/\s\"']+)")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("run")
    options.add_argument("name")
    asked = options.parse_args()
    run, folder = open_run(asked.run), DATA / "recorded" / asked.name
    run.check()
    (folder / "cells").mkdir(parents=True)
    plan = json.loads((run.folder / "plan.json").read_text(encoding="utf-8"))
    (folder / "plan.json").write_text(json.dumps(without_paths(plan), indent=1) + "\n", encoding="utf-8")
    for path in sorted((run.folder / "cells").glob("*.json")):
        cell = json.loads(path.read_text(encoding="utf-8"))
        cell["provenance"] = without_paths(cell["provenance"])
        packed = gzip.compress(json.dumps(cell, separators=(",", ":")).encode(), mtime=0)
        (folder / "cells" / f"{path.name}.gz").write_bytes(packed)
    for kind in ("scores/*.jsonl", "audits/*.json"):
        for path in run.folder.glob(kind):
            (folder / path.parent.name).mkdir(exist_ok=True)
            (folder / path.parent.name / path.name).write_bytes(path.read_bytes())
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{folder}: {len(open_run(folder).measurements())} cells, {size / 1e6:.1f} MB")


def without_paths(value: Any) -> Any:
    """``value`` with every absolute path in its texts cut to the last part."""
    if isinstance(value, dict):
        return {key: without_paths(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [without_paths(entry) for entry in value]
    return _PATH.sub(r"\1", value) if isinstance(value, str) else value


if __name__ == "__main__":
    main()
