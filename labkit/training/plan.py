"""What to train, and whether it can be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from labkit.drafters.demo import locate
from labkit.drafters.pairing import read_config
from labkit.errors import ConfigError, did_you_mean

__all__ = ["DEPTHS", "METHODS", "MIN_ANSWER", "Training", "check_size", "checked_target"]

METHODS = ("eagle3", "draft_model")
#: Depths that an EAGLE-3 head is unrolled for, and the largest K that offline figures are given for.
DEPTHS = 4
#: Shorter answers are left out: they hold no draft of every depth.
MIN_ANSWER = 9


@dataclass(frozen=True, kw_only=True)
class Training:
    """``per_category``: training prompts of each category; ``held_out``: measured prompts of each category
    for the offline figures, all without; ``coverage``: share of answer tokens that an EAGLE-3 head's reduced
    vocabulary covers; ``intermediate_size``: width of a draft model's MLPs."""

    method: str
    target: str = "demo"
    per_category: int = 1200
    held_out: int | None = None
    max_tokens: int = 192
    epochs: float = 3
    batch_tokens: int = 2048
    seed: int = 0
    coverage: float = 0.98
    draft_layers: int = 2
    intermediate_size: int = 768

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ConfigError(
                f"labkit cannot train a {self.method!r} drafter; it trains {', '.join(METHODS)}"
                f"{did_you_mean(self.method, METHODS)}"
            )
        for name in ("per_category", "max_tokens", "epochs", "batch_tokens", "draft_layers", "intermediate_size"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be above 0")
        if self.max_tokens < MIN_ANSWER:
            raise ConfigError(
                f"max_tokens is {self.max_tokens}; answers of less than {MIN_ANSWER} tokens teach nothing"
            )
        if self.held_out is not None and self.held_out < 1:
            raise ConfigError(f"held_out is {self.held_out}; it must be above 0, or left out for all measured prompts")
        if self.seed < 0:
            raise ConfigError(f"seed is {self.seed}; it must be 0 or above")
        if not 0 < self.coverage <= 1:
            raise ConfigError(f"coverage is {self.coverage}; it is a share, above 0 and at most 1")


def checked_target(target: str) -> Path:
    """The folder of a target that drafters can be trained for.

    Raises:
        ConfigError: no local folder, no tokenizer, another architecture than a Llama's.
    """
    folder = Path(locate(target, role="target"))
    if not folder.is_dir():
        raise ConfigError(f"training reads the target's weights, and {target!r} is no local folder; download it first")
    kind = read_config(folder).get("model_type")
    if kind != "llama":
        raise ConfigError(f"{target} is a {kind!r} model; labkit trains drafters for model_type 'llama'")
    if not (folder / "tokenizer.json").exists():
        raise ConfigError(f"the target folder {target} has no tokenizer.json; put the model's tokenizer files there")
    return folder


def check_size(asked: Training, target: Path) -> None:
    """Raise a ConfigError if a draft model is asked for that is larger than the target it is cut from."""
    if asked.method != "draft_model":
        return
    has = read_config(target)
    for name, key in (("draft_layers", "num_hidden_layers"), ("intermediate_size", "intermediate_size")):
        if getattr(asked, name) > has[key]:
            raise ConfigError(f"{name} is {getattr(asked, name)}; the draft is cut from {target}, which has {has[key]}")
