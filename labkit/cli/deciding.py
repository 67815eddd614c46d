"""Commands that decide: score the outputs of a run, and say what to switch on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labkit.cli.output import Json, print_json
from labkit.errors import ConfigError, LabError

if TYPE_CHECKING:
    from labkit.analysis.outlook import Outlook
    from labkit.analysis.recommend import Candidate, Recommendation
    from labkit.store import Run

__all__ = ["recommend", "score"]

#: What the verdict of a confirming run means.
_CONFIRMED = {
    "faster": "confirmed, it is faster",
    "not proven": "not confirmed, the interval covers 1",
    "slower": "refuted, it is slower",
    "no evidence": "not confirmed",
}
Folder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or 'latest'.")]


def score(run: Folder, as_json: Json = False) -> None:
    """Score a run's baseline outputs with its drafters: every K of them without an engine per K."""
    from labkit.measure.scored import score_run
    from labkit.store import open_run

    made = score_run(open_run(run), say=lambda line: print(line, file=sys.stderr))
    print_json({"scores": list(map(str, made))}) if as_json else print(*made, sep="\n")


def recommend(
    run: Folder,
    temperature: Annotated[float | None, typer.Option(help="Only this temperature.")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Only so many users.")] = None,
    up_to: Annotated[int, typer.Option(metavar="K", help="Predict K up to this.")] = 8,
    measured: Annotated[bool, typer.Option("--measured", help="Leave predictions out.")] = False,
    confirm: Annotated[
        int | None, typer.Option(metavar="BLOCKS", min=1, help="Then measure the first choice in so many blocks.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Which drafter and K to switch on at each load of a run, or none, and why."""
    from labkit.analysis.guarded import guarded
    from labkit.analysis.objections import Evidence, weighed
    from labkit.analysis.outlook import outlook
    from labkit.analysis.recommend import recommend_by_load
    from labkit.measure.scored import read_scores
    from labkit.store import open_run

    opened = open_run(run)
    cells = opened.measurements()
    found = outlook(cells, read_scores(opened), up_to=up_to)
    candidates = [c for c in found.candidates() if c.measured or not measured]
    evidence = Evidence(audits=opened.audits(), guards=guarded(cells))
    loads = recommend_by_load(weighed(candidates, evidence))
    wanted = {
        load: made for load, made in loads.items() if temperature in (None, load[0]) and concurrency in (None, load[1])
    }
    if loads and not wanted:
        known = "; ".join(f"T = {t:g} with {c} users" for t, c in loads)
        raise ConfigError(f"nothing was measured at that load; {opened.folder} has {known}")
    if not as_json:
        _print(wanted, found)
    chosen = next(((load, made.choice) for load, made in wanted.items() if made.choice), None)
    try:
        confirmed = _confirmed(opened, *chosen, blocks=confirm) if confirm and chosen else None
    except LabError as error:
        if as_json:
            print_json(_plain(wanted, found) | {"confirmed": {"error": str(error)}})
        raise
    if as_json:
        print_json(_plain(wanted, found) | ({"confirmed": confirmed} if confirmed else {}))
    elif confirmed:
        print(f"{confirmed['cell']} in {confirmed['run']}: {_CONFIRMED[confirmed['verdict']]}.")
        print(*(f"  {line}" for line in confirmed["why"]), sep="\n")
    elif confirm:
        print("There is no choice to confirm: off.")


def _confirmed(run: Run, load: tuple[float, int], choice: Candidate, *, blocks: int) -> dict[str, Any]:
    """The choice measured against the baseline in interleaved blocks, in a run folder of its own."""
    from labkit.analysis.outlook import measured_outcomes
    from labkit.analysis.recommend import recommend as decide
    from labkit.config import SpecConfig
    from labkit.measure.progress import each_cell
    from labkit.measure.sweep import sweep

    drafter = next(d for d in run.plan.drafters if d.name == choice.drafter)
    plan = run.plan.with_(temperatures=(load[0],), concurrencies=(load[1],))
    plan = plan.confirming(SpecConfig(drafter=drafter, k=choice.k), blocks=blocks)
    done = sweep(plan, progress=each_cell(lambda line: print(line, file=sys.stderr)))
    done.check()
    made = decide([outcome.candidate for outcome in measured_outcomes(done.measurements())])
    return {"run": str(done.folder), "cell": choice.label} | made.plain()


def _plain(loads: dict[tuple[float, int], Recommendation], found: Outlook) -> dict:
    """The first load at the top (the coldest and least busy), every load under ``loads``."""
    from labkit.analysis.recommend import recommend as decide

    first = next(iter(loads.values()), None) or decide([])
    each = [{"temperature": t, "concurrency": c} | made.plain() for (t, c), made in loads.items()]
    return first.plain() | {"loads": each, "unknown": list(found.unknown)}


def _print(loads: dict[tuple[float, int], Recommendation], found: Outlook) -> None:
    from labkit.analysis.recommend import recommend as decide

    for load, made in loads.items() or [(None, decide([]))]:
        where = f"T = {load[0]:g}, {load[1]} {'user' if load[1] == 1 else 'users'}: " if load else ""
        print(f"{where}{made.choice.label if made.choice else 'off'} ({made.verdict})")
        print(*(f"  {line}" for line in made.why), sep="\n")
    if found.unknown:
        print("Not known:", *(f"  {line}" for line in found.unknown), sep="\n")
