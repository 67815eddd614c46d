"""Where things lie: the checkout's ``data/`` and ``runs/``, from whichever folder a kernel was started."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["DATA", "find", "runs_root"]

_CHECKOUT = Path(__file__).resolve().parent.parent
DATA = _CHECKOUT / "data"


def find(path: str | Path) -> Path:
    """``path`` as given if it exists, else the same path inside the checkout (a notebook's kernel starts in
    the notebook's folder)."""
    path = Path(path).expanduser()
    inside = _CHECKOUT / path
    return inside if not path.exists() and inside.exists() else path


def runs_root() -> Path:
    """``LABKIT_RUNS``, else ``runs/`` of the checkout, else of the current folder."""
    if chosen := os.environ.get("LABKIT_RUNS"):
        return Path(chosen)
    return (_CHECKOUT if (_CHECKOUT / "pyproject.toml").exists() else Path()) / "runs"
