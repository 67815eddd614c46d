"""What is asked for: a drafter, a K, how tokens are sampled, which engine serves.

All classes are frozen, keyword-only and validated once, when they are made; :func:`read` builds them
from plain data (YAML, JSON) and refuses unknown keys.

*Conventions*: K is ``num_speculative_tokens``; K = 0 is the baseline, which has no drafter.
Times in seconds.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from labkit.errors import ConfigError, did_you_mean

__all__ = ["METHODS", "Drafter", "SpecConfig", "Sampling", "Simulation", "EngineConfig", "read", "digest"]

#: vLLM's speculative methods that labkit knows how to ask for (vLLM 0.32, ``config/speculative.py``),
#: and whether each needs a model of its own: True, False, or None where it may have one.
METHODS: Mapping[str, bool | None] = {
    "ngram": False, "ngram_gpu": False, "suffix": False, "draft_model": True, "eagle": True,
    "eagle3": True, "medusa": True, "mlp_speculator": True, "dflash": True, "dspark": True, "mtp": None,
}  # fmt: skip

T = TypeVar("T")
_SECRET = re.compile(r"api[-_]?key|(^|[-_])token$|secret|password", re.IGNORECASE)
_RESERVED = {"method", "model", "num_speculative_tokens"}
STRICT = ConfigDict(extra="forbid")


@dataclass(frozen=True, kw_only=True)
class Drafter:
    """Whatever proposes tokens. ``options`` go into vLLM's speculative config as they are."""

    __pydantic_config__ = STRICT

    method: str
    model: str | None = None
    name: str = ""
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            allowed = ", ".join(METHODS)
            raise ConfigError(
                f"unknown drafting method {self.method!r}; allowed: {allowed}{did_you_mean(self.method, METHODS)}"
            )
        needs_model = METHODS[self.method]
        if needs_model is True and not self.model:
            raise ConfigError(f"method {self.method!r} needs a model: give the draft's folder or hub id as 'model'")
        if needs_model is False and self.model:
            raise ConfigError(f"method {self.method!r} drafts without a model; got model {self.model!r}: leave it out")
        if taken := _RESERVED & self.options.keys():
            raise ConfigError(
                f"options of a drafter cannot hold {', '.join(map(repr, sorted(taken)))}: the drafter has "
                "fields for method and model, K is set by the plan"
            )
        if not self.name:
            object.__setattr__(self, "name", Path(self.model).name if self.model else self.method)
        if self.name == "baseline":
            raise ConfigError("a drafter cannot be named 'baseline'; that is the name of K = 0")


@dataclass(frozen=True, kw_only=True)
class SpecConfig:
    """A drafter and its K, or the baseline (no drafter, K = 0)."""

    __pydantic_config__ = STRICT

    drafter: Drafter | None = None
    k: int = 0

    def __post_init__(self) -> None:
        if self.k < 0:
            raise ConfigError(f"K is num_speculative_tokens and cannot be negative; got {self.k}")
        if self.drafter and self.k == 0:
            raise ConfigError(
                f"K = 0 is the baseline and has no drafter; got K = 0 with {self.drafter.name!r}: "
                "use K ≥ 1, or drop the draft"
            )
        if self.k and not self.drafter:
            raise ConfigError(f"K = {self.k} needs a drafter; name one, or use K = 0 for the baseline")

    @property
    def name(self) -> str:
        return self.drafter.name if self.drafter else "baseline"

    @property
    def method(self) -> str | None:
        return self.drafter.method if self.drafter else None

    @property
    def label(self) -> str:
        return f"{self.name} K={self.k}" if self.drafter else "baseline"

    def for_vllm(self) -> dict[str, Any] | None:
        """The value of vLLM's ``--speculative-config``; None for the baseline."""
        if not self.drafter:
            return None
        config: dict[str, Any] = {"method": self.drafter.method, "num_speculative_tokens": self.k}
        if self.drafter.model:
            config["model"] = self.drafter.model
        return config | self.drafter.options


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Sampling of one cell. ``clean`` sends every value; ``as_served`` sends the temperature only and
    leaves the rest to the server's defaults (a model's generation config may hold penalties)."""

    __pydantic_config__ = STRICT

    temperature: float
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    mode: Literal["clean", "as_served"] = "clean"

    def __post_init__(self) -> None:
        if not 0 <= self.temperature <= 2:
            raise ConfigError(f"temperature must be in [0, 2]; got {self.temperature}")
        if not 0 < self.top_p <= 1:
            raise ConfigError(f"top_p must be in (0, 1]; got {self.top_p}")
        if self.top_k < 0:
            raise ConfigError(f"top_k must be ≥ 0, 0 meaning off; got {self.top_k}")

    def body(self) -> dict[str, Any]:
        """The request fields, as vLLM's OpenAI-compatible server names them."""
        if self.mode == "as_served":
            return {"temperature": self.temperature}
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "mode"}


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """Settings of the simulated engine (``engine/simulated/``).

    A step with B running requests and K drafts takes
    ``base + per_token·B·(K+1) + [K>0]·(draft_base + draft_per_token·K)`` seconds.
    ``agreement`` in [0, 1] says how close the drafter q is to the target p. ``faults`` are named in
    ``model.py`` and ``server.py`` there.
    """

    __pydantic_config__ = STRICT

    seed: int = 0
    agreement: float = 0.7
    base: float = 0.004
    per_token: float = 0.0002
    draft_base: float = 0.0005
    draft_per_token: float = 0.0005
    faults: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.agreement <= 1:
            raise ConfigError(f"agreement must be in [0, 1]; got {self.agreement}")


@dataclass(frozen=True, kw_only=True)
class EngineConfig:
    """Which engine serves the target, the same for the baseline and every drafter of a plan.

    ``kind``: ``vllm`` starts a server here, ``simulated`` starts the deterministic twin, ``remote``
    attaches to servers that run already: ``urls`` maps a :attr:`SpecConfig.label` to its URL.
    ``args`` are handed to the vLLM server as they are; ``env`` is added to its environment.
    """

    __pydantic_config__ = STRICT

    target: str
    kind: Literal["vllm", "simulated", "remote"] = "vllm"
    urls: dict[str, str] = field(default_factory=dict)
    port: int | None = None
    max_model_len: int = 2048
    max_num_seqs: int = 64
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    start_timeout: float = 600.0
    simulation: Simulation = field(default_factory=Simulation)

    def __post_init__(self) -> None:
        if self.kind not in (kinds := ("vllm", "simulated", "remote")):
            raise ConfigError(f"unknown engine kind {self.kind!r}; allowed: {', '.join(kinds)}")
        flags = [arg.split("=")[0] for arg in self.args if arg.startswith("-")]
        if secret := [name for name in (*flags, *self.env) if _SECRET.search(name)]:
            raise ConfigError(
                f"a plan is stored and shared, so it cannot hold {secret[0]!r}; set it in your environment instead "
                "(vLLM reads VLLM_API_KEY and HF_TOKEN, labkit sends LABKIT_API_KEY)"
            )
        if self.kind == "remote" and not self.urls:
            raise ConfigError("a remote engine needs 'urls': a URL for each of 'baseline', '<drafter> K=<k>', …")


def read(cls: type[T], data: Any, *, where: str) -> T:
    """Build a dataclass of this package from plain data; ``where`` names the source in errors."""
    try:
        return TypeAdapter(cls).validate_python(data)
    except ConfigError as error:  # a rule of the dataclass itself
        raise ConfigError(f"{where}: {error}") from None
    except ValidationError as error:
        errors = error.errors()
        # an unknown key is the likelier slip than the required key it left unset
        first = next((e for e in errors if e["type"] == "unexpected_keyword_argument"), errors[0])
        place = [str(part) for part in first["loc"] if "[" not in str(part)]  # pydantic names a union's branches
        path = ".".join(place) or "top level"
        if first["type"] == "unexpected_keyword_argument":
            key, allowed = str(first["loc"][-1]), _field_names(cls, first["loc"][:-1])
            raise ConfigError(
                f"{where}: unknown key {path!r}; allowed: {', '.join(allowed)}{did_you_mean(key, allowed)}"
            ) from None
        raise ConfigError(f"{where}: {path}: {first['msg']}; got {first.get('input')!r}") from None


def _field_names(cls: type, path: Sequence[str | int]) -> list[str]:
    """Names of the fields of the dataclass that sits at ``path`` inside ``cls``."""
    for part in path:
        if isinstance(part, str):
            hint = get_type_hints(cls)[part]
            cls = next(kind for kind in (hint, *get_args(hint)) if is_dataclass(kind))
    return [f.name for f in fields(cls)]


def digest(*parts: Any) -> str:
    """A short stable hash of dataclasses and JSON-like values: 12 hexadecimal digits."""
    return hashlib.sha256(json.dumps(_canonical(parts), sort_keys=True).encode()).hexdigest()[:12]


def _canonical(value: Any) -> Any:
    """The same form for what is equal: 1.0 as 1, tuples as lists, keys as text, dataclasses as mappings."""
    if is_dataclass(value) and not isinstance(value, type):
        return _canonical(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): _canonical(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(entry) for entry in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
