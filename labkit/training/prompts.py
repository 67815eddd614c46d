"""Training prompts, filled from templates and slots in ``data/training/*.yaml``; never measured.

They share no template and no text with the measured prompts of ``data/prompts/``, so that acceptance on
those is acceptance on unseen prompts.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import yaml

from labkit.errors import WorkloadError
from labkit.importers import Prompt
from labkit.paths import DATA

__all__ = ["training_prompts", "training_categories"]

_SLOT = re.compile(r"\{([a-z_]+)\}")
_HAN = re.compile(r"[\u4e00-\u9fff]")


def training_categories() -> list[str]:
    return sorted(path.stem for path in (DATA / "training").glob("*.yaml"))


def training_prompts(per_category: int, *, seed: int = 0) -> tuple[Prompt, ...]:
    """``per_category`` distinct prompts of each category, in turn, the same for the same seed.

    A larger ``per_category`` keeps the prompts of a smaller one, so generated text can be added to.

    Raises:
        WorkloadError: a category cannot fill that many.
    """
    columns = [_filled(DATA / "training" / f"{name}.yaml", per_category, seed) for name in training_categories()]
    return tuple(prompt for row in zip(*columns, strict=True) for prompt in row)


def _filled(path: Path, count: int, seed: int) -> list[Prompt]:
    source = yaml.safe_load(path.read_text(encoding="utf-8"))
    templates, slots, pick = source["templates"], source["slots"], random.Random(f"{path.stem}:{seed}")
    texts: dict[str, None] = {}
    for _ in range(20 * count):
        if len(texts) == count:
            break
        texts[_fill(pick.choice(templates), slots, pick)] = None
    else:
        raise WorkloadError(f"{path.name} gives {len(texts)} distinct prompts, {count} were asked for")
    return [_prompt(path.stem, f"s{seed}-{i:05}", text) for i, text in enumerate(texts)]


def _fill(template: str, slots: dict[str, list[str]], pick: random.Random) -> str:
    return _SLOT.sub(lambda found: str(pick.choice(slots[found[1]])), template)


def _prompt(category: str, number: str, text: str) -> Prompt:
    language = "zh" if _HAN.search(text) else "en"
    return Prompt(
        id=f"training-{category}-{number}",
        category=category,
        language=language,
        messages=({"role": "user", "content": text},),
    )
