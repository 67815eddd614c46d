"""What every command prints with."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

__all__ = ["Json", "print_json", "print_fields"]

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def print_json(data: Any) -> None:
    print(json.dumps(data, ensure_ascii=False, indent=1, default=str))


def print_fields(data: dict[str, Any]) -> None:
    width = max(map(len, data))
    for key, value in data.items():
        shown = [f"{v:.3f}" if isinstance(v, float) else v for v in value] if isinstance(value, list) else value
        print(f"{key:<{width}}  {shown:.4f}" if isinstance(shown, float) else f"{key:<{width}}  {shown}")
