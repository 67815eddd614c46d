"""The command line: parse, call, print. Exit 0 fine, 1 a failed measurement, an incompatible launch, a regression or a
fault that an audit found, 2 wrong usage."""

from __future__ import annotations

import sys

import typer

from labkit.cli.auditing import audit
from labkit.cli.batching import batch
from labkit.cli.comparing import compare
from labkit.cli.counting import metrics, replay
from labkit.cli.deciding import recommend, score
from labkit.cli.drafting import drafters, models
from labkit.cli.measuring import measure, sweep
from labkit.cli.migrating import migrate
from labkit.cli.preflighting import preflight, presets
from labkit.cli.reporting import report
from labkit.errors import LabError

__all__ = ["app", "main"]

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)
app.add_typer(models, name="models")
app.add_typer(drafters, name="drafters")
for command in (
    metrics, replay, preflight, presets, migrate, measure, sweep, score, recommend, audit, compare, report, batch,
):  # fmt: skip
    app.command()(command)


@app.callback()
def _root() -> None:
    """The interactive tuning lab for vLLM speculative decoding."""


def main() -> None:
    """Entry point. A user's mistake is one message, never a traceback."""
    try:
        app()
    except LabError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except SystemExit as end:
        if end.code == 130:  # typer's answer to an interrupt
            print("interrupted; finished cells are kept, go on with --resume", file=sys.stderr)
        raise
