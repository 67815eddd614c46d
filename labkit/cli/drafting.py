"""Commands that make models: the demo's, and trained drafters with their cards."""

from __future__ import annotations

import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from labkit.cli.output import Json, print_json

__all__ = ["models", "drafters"]

models = typer.Typer(no_args_is_help=True, help="Models that come with labkit.")
drafters = typer.Typer(no_args_is_help=True, help="Small drafters: train them, read their cards.")


@models.command("demo")
def models_demo(as_json: Json = False) -> None:
    """Fetch and convert the demo target, assemble the demo drafters."""
    from labkit.drafters.demo import make_demo

    made = make_demo(say=(lambda _: None) if as_json else print)
    if as_json:
        print_json({name: str(folder) for name, folder in made.items()})


@drafters.command("train")
def drafters_train(
    method: Annotated[str, typer.Option(help="eagle3 (or eagle) or draft_model.")],
    target: Annotated[str, typer.Option(help="Folder of a Llama-like model, or 'demo'.")] = "demo",
    out: Annotated[Path | None, typer.Option(help="Folder of this training; runs/drafters/METHOD without it.")] = None,
    texts: Annotated[Path | None, typer.Option(help="Folder of another training whose texts are used again.")] = None,
    per_category: Annotated[int, typer.Option(help="Training prompts of each category.")] = 1200,
    max_tokens: int = 192,
    epochs: float = 3,
    seed: int = 0,
    held_out: Annotated[
        int | None, typer.Option(help="Measured prompts per category to judge by; all without.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a drafter on text that the target writes itself. A stopped training goes on where it was."""
    from labkit.paths import runs_root
    from labkit.training import Training, each_tenth_step, train

    asked = Training(
        method="eagle3" if method == "eagle" else method, target=target, per_category=per_category,
        max_tokens=max_tokens, epochs=epochs, seed=seed, held_out=held_out,
    )  # fmt: skip
    say = (lambda line: print(line, file=sys.stderr, flush=True)) if as_json else partial(print, flush=True)
    folder = out or runs_root() / "drafters" / asked.method
    done = train(asked, folder, texts_from=texts, say=say, seen=each_tenth_step(say))
    if as_json:
        print_json({"model": str(done.model), "package": str(done.package), "card": asdict(done.card)})
        return
    print(f"card: {done.package / 'card.json'}\nserve it: labkit measure --target {target} --method {asked.method} "
          f"--draft {done.model} --k 3")  # fmt: skip


@drafters.command("cards")
def drafters_cards(
    packages: Annotated[list[Path] | None, typer.Argument(help="Package folders; the shipped ones without.")] = None,
    as_json: Json = False,
) -> None:
    """What each drafter is, what it was trained on, and how much of it the target accepts."""
    from labkit.drafters.card import read_card
    from labkit.drafters.package import shipped

    cards = [read_card(package) for package in packages or shipped().values()]
    print_json([asdict(card) for card in cards]) if as_json else print("\n\n".join(map(str, cards)))
