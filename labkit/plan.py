"""A plan: the cells to measure, and in which order.

A *cell* is (target, drafter, K, temperature, concurrency, workload) measured once; a *block* is one
pass over all engines of the plan.  The baseline is in every block, at every temperature and
concurrency, so that each speedup compares cells of one session.  The order of engines inside a block
and of cells inside an engine is random but seeded.
"""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import yaml

from labkit.config import STRICT, Drafter, EngineConfig, Sampling, SpecConfig, digest, read
from labkit.errors import ConfigError
from labkit.paths import find

__all__ = ["WorkloadSpec", "Cell", "Extra", "Plan", "load_plan"]

Ks = tuple[int, ...] | dict[str, tuple[int, ...]]


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
class Extra:
    """Cells beyond a plan's grid: ``k`` (one list for all drafters, or by name, where some may be missing), at the
    grid's temperatures and concurrencies unless others are given, and with fewer prompts of each category where
    ``per_category`` says so. Baselines are added where the grid has none."""

    __pydantic_config__ = STRICT

    k: Ks
    temperatures: tuple[float, ...] = ()
    concurrencies: tuple[int, ...] = ()
    per_category: int | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything a sweep measures. ``k``: one list for all drafters, or a list for each by its name; ``also``:
    cells beyond the grid of K, temperatures and concurrencies. ``salt`` keeps prompts of different cells apart in the
    prefix cache (vLLM's ``cache_salt``: the text itself is the same in every arm); switch it off to study the cache.
    ``together``: all engines of a block run at once and take one user's prompts in turn, see ``measure/turns.py``."""

    __pydantic_config__ = STRICT

    engine: EngineConfig
    drafters: tuple[Drafter, ...] = ()
    k: Ks = ()
    temperatures: tuple[float, ...] = (0.0,)
    concurrencies: tuple[int, ...] = (1,)
    also: tuple[Extra, ...] = ()
    workload: WorkloadSpec = field(default_factory=WorkloadSpec)
    blocks: int = 3
    seed: int = 0
    sampling: Literal["clean", "as_served"] = "clean"
    salt: bool = True
    warmup: Literal["cell", "engine"] = "cell"
    together: bool = False
    name: str = "sweep"

    def __post_init__(self) -> None:
        if bool(self.drafters) != bool(self.k):
            raise ConfigError(
                "a plan with drafters needs 'k', and 'k' needs drafters; for a baseline alone leave both out"
            )
        names = [drafter.name for drafter in self.drafters]
        if isinstance(self.k, dict) and set(self.k) != set(names):
            raise ConfigError(f"'k' names {sorted(self.k)}, the drafters are {sorted(names)}; give each a list")
        for part in (self, *self.also):
            _check_ks(part.k, names)
            for temperature in part.temperatures:
                Sampling(temperature=temperature, mode=self.sampling)
            if any(c < 1 for c in part.concurrencies):
                raise ConfigError(f"concurrencies must be ≥ 1; got {list(part.concurrencies)}")
        if self.together and (self.engine.port or any(c > 1 for p in (self, *self.also) for c in p.concurrencies)):
            raise ConfigError("'together' takes one user's prompts in turn, on many ports: concurrencies: [1], no port")
        if self.blocks < 1:
            raise ConfigError(f"blocks must be ≥ 1; got {self.blocks}")
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

    @property
    def id(self) -> str:
        return digest(self)

    @property
    def specs(self) -> list[SpecConfig]:
        """The baseline and every drafter at every K."""
        return list({cell.spec.label: cell.spec for cell in self._cells(0)}.values())

    def blocks_in_order(self) -> list[list[tuple[SpecConfig, list[Cell]]]]:
        """Per block, the engines in the order they start, each with its cells in order."""
        order = random.Random(self.seed)
        blocks = []
        for block in range(self.blocks):
            cells = self._cells(block)
            engines = [(spec, [cell for cell in cells if cell.spec == spec]) for spec in self.specs]
            order.shuffle(engines)
            for _, cells in engines:
                order.shuffle(cells)
            blocks.append(engines)
        return blocks

    def cells(self) -> list[Cell]:
        return [cell for block in self.blocks_in_order() for _, cells in block for cell in cells]

    def _cells(self, block: int) -> list[Cell]:
        """The cells of a block, the baseline's first, each once: where two parts ask for one, the one with more
        prompts."""
        cells: dict[tuple, Cell] = {}
        for part in (self, *self.also):
            for spec in [SpecConfig(), *self._drafted(part.k)]:
                for cell in self._part(part, spec, block):
                    place = (spec.label, cell.sampling.temperature, cell.concurrency)
                    cells[place] = max(cells.get(place, cell), cell, key=_prompts_of_a_category)
        return sorted(cells.values(), key=lambda cell: cell.spec.k > 0)

    def _drafted(self, ks: Ks) -> list[SpecConfig]:
        lists = ks if isinstance(ks, dict) else dict.fromkeys((d.name for d in self.drafters), ks)
        return [SpecConfig(drafter=d, k=k) for d in self.drafters for k in lists.get(d.name, ())]

    def _part(self, part: Plan | Extra, spec: SpecConfig, block: int) -> list[Cell]:
        fewer = part.per_category if isinstance(part, Extra) and spec.k else None
        workload = self.workload if fewer is None else replace(self.workload, per_category=fewer)
        return [
            Cell(
                target=self.engine.target,
                spec=spec,
                sampling=Sampling(temperature=temperature, mode=self.sampling),
                concurrency=concurrency,
                workload=workload,
                block=block,
                seed=self.seed,
            )
            for temperature, concurrency in itertools.product(
                part.temperatures or self.temperatures, part.concurrencies or self.concurrencies
            )
        ]

    def minimal(self, *, up_to: int = 8, per_category: int = 1) -> Plan:
        """The cheapest cells of one block from which every K up to ``up_to`` of every drafter can be answered: the
        baseline and each drafter at ``up_to``, whose steps replay into every smaller K; and at two smaller K with
        ``per_category`` prompts of each category for every user, enough to tell what a step costs and how wrong the
        fit is. Cells beyond the grid (``also``) are left out."""
        names = [drafter.name for drafter in self.drafters]
        if not names or up_to < 3:
            raise ConfigError(f"a minimal plan needs a drafter and K up to 3 at least; got {names} and {up_to}")
        few = min(per_category * max(self.concurrencies), self.workload.per_category or sys.maxsize)
        probe = Extra(k=(1, max(2, up_to // 2)), temperatures=self.temperatures[:1], per_category=few)
        return replace(self, k=(up_to,), also=(probe,), blocks=1, name=f"{self.name}-minimal")

    def confirming(self, spec: SpecConfig, *, blocks: int = 5) -> Plan:
        """``spec`` alone against the baseline, in ``blocks`` blocks: what a recommendation is confirmed with."""
        if not spec.drafter:
            raise ConfigError("the baseline needs no confirmation; name a drafter and its K")
        return replace(self, drafters=(spec.drafter,), k=(spec.k,), also=(), blocks=blocks, name=f"{self.name}-confirm")

    def with_(self, **changes: Any) -> Plan:
        return replace(self, **{key: value for key, value in changes.items() if value is not None})

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def _prompts_of_a_category(cell: Cell) -> float:
    return float("inf") if cell.workload.per_category is None else cell.workload.per_category


def _check_ks(ks: Ks, names: Sequence[str]) -> None:
    if isinstance(ks, dict) and (unknown := sorted(set(ks) - set(names))):
        raise ConfigError(f"'k' names {unknown}, the drafters are {sorted(names)}")
    for values in ks.values() if isinstance(ks, dict) else [ks]:
        if any(k < 1 for k in values):
            raise ConfigError(f"'k' lists K ≥ 1 (the baseline K = 0 is always measured); got {list(values)}")
        if len(set(values)) < len(values):
            raise ConfigError(f"'k' lists a value twice: {list(values)}; a cell is measured once a block")


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
