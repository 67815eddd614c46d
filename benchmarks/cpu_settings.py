"""What do the CPU settings of the engine give?

    python benchmarks/cpu_settings.py [--blocks 2] [--only NAME ...] [--speculative METHOD=MODEL:K]

Starts the demo target once a block under each setting, settings in turn, and measures decoding without
speculation: output tokens per second of one stream, milliseconds per step, and tokens per second of 16
streams.  Every figure is also given as a ratio to ``default`` of the same block.  With ``--speculative``
the same is measured with a drafter, for what a setting does to the speedup.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from labkit.config import Drafter, EngineConfig, Sampling, SpecConfig
from labkit.engine import launch
from labkit.errors import LabError
from labkit.measure.cell import measure_cell
from labkit.plan import Cell, WorkloadSpec
from labkit.workloads import load_workload

#: name → (server arguments, environment) added to labkit's own settings.
SETTINGS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "default": ((), {}),
    "no preload": ((), {"LD_PRELOAD": ""}),
    "bfloat16": (("--dtype", "bfloat16"), {}),
    "compile": (("--no-enforce-eager",), {}),
    "engine process": ((), {"VLLM_ENABLE_V1_MULTIPROCESSING": "1"}),
    "not bound": ((), {"VLLM_CPU_OMP_THREADS_BIND": "nobind"}),
    "passive wait": ((), {"KMP_BLOCKTIME": "0"}),
    "one thread": ((), {"OMP_NUM_THREADS": "1"}),
    "no async scheduling": (("--no-async-scheduling",), {}),
    "huge pages": ((), {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}),
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--blocks", type=int, default=2)
    options.add_argument("--only", nargs="*", choices=list(SETTINGS), default=list(SETTINGS))
    options.add_argument("--speculative", metavar="METHOD=MODEL:K")
    asked = options.parse_args()
    spec = speculation(asked.speculative)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in asked.only}
    with tempfile.TemporaryDirectory() as folder:
        for block in range(asked.blocks):
            for name in asked.only if block % 2 == 0 else reversed(asked.only):
                try:
                    found[name].append(figures(name, spec, Path(folder)))
                except LabError as error:
                    print(f"{name:20} does not run: {str(error).splitlines()[0]}", flush=True)
                    continue
                print(
                    f"{name:20} " + "  ".join(f"{key} {value:8.2f}" for key, value in found[name][-1].items()),
                    flush=True,
                )
    print("\nratio to default, median over blocks [min, max]")
    for name, rows in found.items():
        for key in rows[0] if rows and found.get("default") else ():
            ratios = [row[key] / base[key] for row, base in zip(rows, found["default"], strict=False)]
            print(f"{name:20} {key:16} {statistics.median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}]")


def speculation(asked: str | None) -> SpecConfig:
    if asked is None:
        return SpecConfig(k=0)
    method, rest = asked.split("=")
    model, k = rest.rsplit(":", 1)
    return SpecConfig(drafter=Drafter(method=method, model=model or None), k=int(k))


def figures(name: str, spec: SpecConfig, folder: Path) -> dict[str, float]:
    args, env = SETTINGS[name]
    config = EngineConfig(target="demo", max_num_seqs=16, args=args, env=env)
    asked = WorkloadSpec(per_category=2, max_tokens=32)
    workload = load_workload(asked)
    with launch(config, spec, log_path=folder / "engine.log") as engine:
        cells = {
            users: measure_cell(engine, Cell(target="demo", spec=spec, sampling=Sampling(temperature=0.0),
                                             concurrency=users, workload=asked), workload)
            for users in (1, 16)
        }  # fmt: skip
    one, many = cells[1], cells[16]
    seconds = sum(r.t_last - r.t_first for r in one.records if r.tpot is not None)
    tokens = sum(r.output_tokens - r.n_first for r in one.records if r.tpot is not None)
    steps = one.counters.total.drafts or tokens
    return {
        "tok/s": tokens / seconds,
        "ms/step": 1000 * seconds / steps,
        "tok/s at 16": sum(r.output_tokens or 0 for r in many.records) / many.wall_seconds,
    }


if __name__ == "__main__":
    main()
