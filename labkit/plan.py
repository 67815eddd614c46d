"""A plan: the cells to measure, and in which order.

A *cell* is (target, drafter, K, temperature, concurrency, workload) measured once; a *block* is one
pass over all engines of the plan.  The baseline is in every block, at every temperature and
concurrency, so that each speedup compares cells of one session.  The order of engines inside a block
and of cells inside an engine is random but seeded.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import yaml

from labkit.config import STRICT, Drafter, EngineConfig, Sampling, SpecConfig, digest, read
from labkit.errors import ConfigError
from labkit.paths import find

__all__ = ["WorkloadSpec", "Cell", "Plan", "load_plan"]


@dataclass(frozen=True, kw_only=True)
class WorkloadSpec:
    """Which prompts, and how long outputs may get.

    ``source`` is ``"shipped"`` or a file that ``labkit.importers`` reads. ``per_category`` prompts of
    each category are taken (None: all), the first ones of the file, ``languages`` in turn.
    """

    __pydantic_config__ = STRICT

    source: str = "shipped"
    categories: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    per_category: int | None = None
    max_tokens: int = 128

    def __post_init__(self) -> None:
        if self.max_tokens < 2:
            raise ConfigError(
                f"max_tokens must be ≥ 2 (speed is measured after the first token); got {self.max_tokens}"
            )
        if self.per_category is not None and self.per_category < 1:
            raise ConfigError(f"per_category must be ≥ 1; got {self.per_category}")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What is asked of one measurement. :attr:`id` is a hash of exactly that."""

    target: str
    spec: SpecConfig
    sampling: Sampling
    concurrency: int
    workload: WorkloadSpec
    block: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ConfigError(f"concurrency is the number of users at once, ≥ 1; got {self.concurrency}")

    @property
    def id(self) -> str:
        return digest(self)

    @property
    def label(self) -> str:
        at = f"T={self.sampling.temperature:g}, concurrency {self.concurrency}"
        return f"block {self.block + 1}, {self.spec.label}, {at}"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything a sweep measures. ``k``: one list for all drafters, or a list for each by its name.
    ``salt`` keeps prompts of different cells apart in the prefix cache (vLLM's ``cache_salt``: the text itself
    is the same in every arm); switch it off to study the cache."""

    __pydantic_config__ = STRICT

    engine: EngineConfig
    drafters: tuple[Drafter, ...] = ()
    k: tuple[int, ...] | dict[str, tuple[int, ...]] = ()
    temperatures: tuple[float, ...] = (0.0,)
    concurrencies: tuple[int, ...] = (1,)
    workload: WorkloadSpec = field(default_factory=WorkloadSpec)
    blocks: int = 3
    seed: int = 0
    sampling: Literal["clean", "as_served"] = "clean"
    salt: bool = True
    warmup: Literal["cell", "engine"] = "cell"
    name: str = "sweep"

    def __post_init__(self) -> None:
        if bool(self.drafters) != bool(self.k):
            raise ConfigError(
                "a plan with drafters needs 'k', and 'k' needs drafters; for a baseline alone leave both out"
            )
        names = [drafter.name for drafter in self.drafters]
        if isinstance(self.k, dict) and set(self.k) != set(names):
            raise ConfigError(f"'k' names {sorted(self.k)}, the drafters are {sorted(names)}; give each a list")
        for values in self.k.values() if isinstance(self.k, dict) else [self.k]:
            if any(k < 1 for k in values):
                raise ConfigError(f"'k' lists K ≥ 1 (the baseline K = 0 is always measured); got {list(values)}")
            if len(set(values)) < len(values):
                raise ConfigError(f"'k' lists a value twice: {list(values)}; a cell is measured once a block")
        if self.blocks < 1 or any(c < 1 for c in self.concurrencies):
            raise ConfigError(f"blocks and concurrencies must be ≥ 1; got {self.blocks} and {list(self.concurrencies)}")
        if "/" in self.name or not self.name:
            raise ConfigError(f"a plan's name becomes part of a folder's name; got {self.name!r}: leave '/' out")
        if len(set(names)) < len(names):
            raise ConfigError(f"drafters need different names; got {names}: set 'name'")
        for label in ("temperatures", "concurrencies"):
            values = getattr(self, label)
            if not values:
                raise ConfigError(f"'{label}' is empty; give at least one value")
            if len(set(values)) < len(values):
                raise ConfigError(f"'{label}' lists a value twice: {list(values)}; a cell is measured once a block")
        for temperature in self.temperatures:
            Sampling(temperature=temperature, mode=self.sampling)

    @property
    def id(self) -> str:
        return digest(self)

    @property
    def specs(self) -> list[SpecConfig]:
        """The baseline and every drafter at every K."""
        lists = self.k if isinstance(self.k, dict) else dict.fromkeys((d.name for d in self.drafters), self.k)
        return [SpecConfig(), *(SpecConfig(drafter=d, k=k) for d in self.drafters for k in lists[d.name])]

    def blocks_in_order(self) -> list[list[tuple[SpecConfig, list[Cell]]]]:
        """Per block, the engines in the order they start, each with its cells in order."""
        order = random.Random(self.seed)
        blocks = []
        for block in range(self.blocks):
            engines = [(spec, self._cells(spec, block)) for spec in self.specs]
            order.shuffle(engines)
            for _, cells in engines:
                order.shuffle(cells)
            blocks.append(engines)
        return blocks

    def cells(self) -> list[Cell]:
        return [cell for block in self.blocks_in_order() for _, cells in block for cell in cells]

    def _cells(self, spec: SpecConfig, block: int) -> list[Cell]:
        return [
            Cell(
                target=self.engine.target,
                spec=spec,
                sampling=Sampling(temperature=temperature, mode=self.sampling),
                concurrency=concurrency,
                workload=self.workload,
                block=block,
                seed=self.seed,
            )
            for temperature, concurrency in itertools.product(self.temperatures, self.concurrencies)
        ]

    def with_(self, **changes: Any) -> Plan:
        return replace(self, **{key: value for key, value in changes.items() if value is not None})

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def load_plan(path: str | Path) -> Plan:
    """Read a plan from YAML or JSON. Relative model folders stay as written."""
    path = find(path)
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            f"no plan at {path}; write one (README, 'Measure your own') or use data/plans/demo.yaml"
        ) from None
    except OSError as error:
        raise ConfigError(f"cannot read a plan from {path}: {error.strerror}; give a YAML file") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not readable as YAML: {' '.join(str(error).split())}") from None
    if not isinstance(data, dict):
        raise ConfigError(f"{path} holds no mapping; a plan is 'key: value' lines, engine first")
    return read(Plan, data, where=str(path))
