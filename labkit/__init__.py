"""labkit: the interactive tuning lab for vLLM speculative decoding.

    run = labkit.sweep("data/plans/demo.yaml")     # measure; or labkit.recorded("demo"), labkit.open_run("runs/…")
    labkit.preflight.look("vllm serve …").verdict  # before a GPU is spent
    labkit.tables.speedups(run.measurements())     # numbers with intervals
    labkit.figures.speedup_by_k(…)                 # drawn
    labkit.audit(run)                              # is it lossless?
    labkit.summary(run)                            # the verdict

Importing labkit loads neither vLLM nor plotly, ipywidgets or papermill.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [
    "Drafter", "LabError", "Plan", "audit", "each_tenth", "facts", "figures", "findings", "finish", "load_plan",
    "open_or_sweep", "open_run", "panel", "preflight", "recorded", "show", "summary", "sweep", "tables", "training",
]  # fmt: skip

_WHERE = {
    "labkit.auditing": ("audit",),
    "labkit.config": ("Drafter",),
    "labkit.errors": ("LabError",),
    "labkit.plan": ("Plan", "load_plan"),
    "labkit.store": ("open_run", "recorded"),
    "labkit.measure.sweep": ("open_or_sweep", "sweep"),
    "labkit.measure.progress": ("each_tenth",),
    "labkit.view.panel": ("panel",),
    "labkit.view.present": ("facts", "finish", "show", "summary"),
}

if TYPE_CHECKING:
    from labkit import preflight, training
    from labkit.auditing import audit
    from labkit.config import Drafter
    from labkit.errors import LabError
    from labkit.measure.progress import each_tenth
    from labkit.measure.sweep import open_or_sweep, sweep
    from labkit.plan import Plan, load_plan
    from labkit.store import open_run, recorded
    from labkit.view import figures, findings, tables
    from labkit.view.panel import panel
    from labkit.view.present import facts, finish, show, summary


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used (PEP 562), so that importing labkit stays light."""
    if name not in __all__:
        raise AttributeError(f"module 'labkit' has no attribute {name!r}")
    home = next((module for module, names in _WHERE.items() if name in names), None)
    if home:
        return getattr(importlib.import_module(home), name)
    return importlib.import_module(f"labkit.{name}" if name in ("preflight", "training") else f"labkit.view.{name}")
