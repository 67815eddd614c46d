"""Commands that set runs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labkit.cli.output import Json, print_json
from labkit.errors import ConfigError, MeasurementError

if TYPE_CHECKING:
    from labkit.analysis.compare import Compared, Comparison
    from labkit.records import Measurement
    from labkit.store import Run

__all__ = ["compare"]

_CELL = ["drafter", "k", "temperature", "concurrency"]


def compare(
    before: Annotated[Path, typer.Argument(metavar="RUN_A", help="A run folder, 'latest', or a recorded run.")],
    after: Annotated[Path, typer.Argument(metavar="RUN_B", help="The run to judge against it.")],
    confidence: Annotated[float, typer.Option(help="Of the interval of each figure.")] = 0.95,
    as_json: Json = False,
) -> None:
    """What changed from RUN_A to RUN_B, cell by cell; exit 1 where RUN_B is worse beyond chance."""
    from labkit.analysis.compare import compare as compare_runs
    from labkit.store import open_run
    from labkit.view.comparison import changes_of, sentences

    runs = open_run(before), open_run(after)
    found = compare_runs(*(run.measurements() for run in runs), confidence=confidence)
    if as_json:
        print_json({"before": str(runs[0].folder), "after": str(runs[1].folder)} | _plain(found, sentences(found)))
    else:
        print(*sentences(found), *(f"Differs: {line}." for line in found.setup), "", sep="\n")
        print(_shown(changes_of(found)))
    if found.regressions:
        raise typer.Exit(1)
    _check(found, runs)


def _check(found: Comparison, runs: Sequence[Run]) -> None:
    """Raise where "no regression" would promise more than was seen.

    Raises:
        MeasurementError: cells are missing, or were discarded in the run that is judged; names them.
        ConfigError: no figure could be judged.
    """
    from labkit.analysis.bootstrap import MIN_UNITS

    for run in runs:
        run.check()
    if lost := [f"  {m.cell.label}: {_causes(m)}" for m in runs[1].measurements() if m.discarded]:
        raise MeasurementError("cells of the run that is judged were discarded:\n" + "\n".join(lost))
    if found.verdict == "unknown":
        raise ConfigError(
            f"nothing could be judged: no cell has {MIN_UNITS} prompts that both runs finished in every block; "
            "measure the same prompts in both"
        )


def _causes(m: Measurement) -> str:
    return "; ".join(f"{flag.name}: {flag.reason}" for flag in m.flags)


def _plain(found: Comparison, said: list[str]) -> dict[str, Any]:
    return {
        "verdict": found.verdict,
        "noticed_from": _number(found.noticed_from),
        "summary": said,
        "regressions": [_figure(f) for f in found.regressions],
        "improvements": [_figure(f) for f in found.improvements],
        "figures": [_figure(f) for f in found.figures],
        "drifts": [asdict(drift) | {"relative": drift.relative} for drift in found.drifts],
        "setup": found.setup,
        "not_compared": found.unmatched,
    }


def _figure(f: Compared) -> dict[str, Any]:
    drafter, method, k, temperature, concurrency = f.after_key
    cell = {"drafter": drafter, "method": method, "k": k, "temperature": temperature, "concurrency": concurrency}
    values = {"before": f.before, "after": f.after, "change": [f.change.low, f.change.mid, f.change.high], "p": f.p}
    known = {name: _number(value) for name, value in values.items()}
    return cell | {"figure": f.figure, "position": f.position, "relative": f.relative} | known | {
        "verdict": f.verdict, "prompts": f.prompts, "blocks": f.blocks, "launches": f.launches, "flags": f.flags,
    }  # fmt: skip


def _number(value: Any) -> Any:
    """JSON has no NaN: what is unknown is null."""
    if isinstance(value, list):
        return [_number(each) for each in value]
    return value if isfinite(value) else None


def _shown(table: Any) -> str:
    """A line for each cell and figure; shares of draft positions are in the JSON."""
    rows = table[table["figure"] != "joint_rate"]
    columns = [*_CELL, "figure", "before", "after", "change", "low", "high", "verdict"]
    return rows[columns].to_string(index=False, float_format=lambda value: f"{value:.3f}")
