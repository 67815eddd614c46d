"""Launch commands of earlier vLLM versions, in the words of the present one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labkit.cli.output import Json, print_json
from labkit.errors import ConfigError

if TYPE_CHECKING:
    from labkit.preflight.legacy import Migration

__all__ = ["migrate"]


def migrate(
    command: Annotated[
        str,
        typer.Argument(
            metavar="COMMAND",
            help="The command as one argument, a file that holds it (shell, YAML config, Python), or - for stdin.",
        ),
    ],
    as_json: Json = False,
) -> None:
    """Rewrite a vLLM launch command of any version for vLLM 0.32, each change with its reason. Exit 2 where a key
    or method is left that vLLM does not have."""
    from labkit.preflight.legacy import migrate as migrated

    made = migrated(_text(command))
    print_json(made.plain()) if as_json else _print(made)
    made.check()


def _text(command: str) -> str:
    if command == "-":
        return _decoded(sys.stdin.buffer.read(), "what came from stdin")
    path = Path(command)
    try:
        is_file = "\n" not in command and path.is_file()
    except (OSError, ValueError):  # a command is often too long for a path
        is_file = False
    try:
        return _decoded(path.read_bytes(), str(path)) if is_file else command
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}; give a file that can be read") from None


def _decoded(data: bytes, what: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{what} is not UTF-8 text ({error.reason} at byte {error.start})") from None


def _print(made: Migration) -> None:
    print(made.command)
    if made.notes:
        print()
    for note in made.notes:
        print(f"  {note}")
