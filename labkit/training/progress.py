"""Progress of a training in lines: ten of them, however long it is."""

from __future__ import annotations

from collections.abc import Callable

from labkit.training.fit import Row

__all__ = ["each_tenth_step"]


def each_tenth_step(say: Callable[[str], None] = print) -> Callable[[Row], None]:
    """A callback for rows of a training's history that says one line per tenth of the steps."""
    own: list[Row] = []  # of this session: what a checkpoint held took no time now

    def seen(row: Row) -> None:
        own.append(row)
        step, steps = row["step"], row["steps"]
        if step * 10 // steps == (step - 1) * 10 // steps:
            return
        seconds = sum(r["seconds"] for r in own)
        depths = "/".join(f"{row[key]:.2f}" for key in sorted(row) if key.startswith("top1_"))
        say(
            f"step {step}/{steps}: loss {row['loss']:.2f}, agreement by depth {depths}, "
            f"{sum(r['tokens'] for r in own) / seconds:.0f} tokens/s, "
            f"{(steps - step) * seconds / len(own) / 60:.0f} min left"
        )

    return seen
