"""Facts about a server that anyone can read over HTTP: model, K, version."""

from __future__ import annotations

from dataclasses import dataclass

import httpx

from labkit.engine.http import get
from labkit.engine.metrics_page import parse_page
from labkit.errors import ConfigError

__all__ = ["Probe", "probe"]


@dataclass(frozen=True, kw_only=True)
class Probe:
    """``k`` is the number of positions the server counts, registered when it starts; 0 where it counts
    none, which is the baseline."""

    model: str
    k: int
    version: str | None


def probe(url: str, *, model: str | None = None, timeout: float = 5.0) -> Probe:
    """Ask a server what it serves; ``model`` picks one of several.

    Raises:
        ConfigError: ``model`` is not served there.
        httpx.HTTPError, ValueError, LookupError, TypeError: it does not answer, or not as an
            OpenAI-compatible server does.
    """
    served = [entry["id"] for entry in get(url, "/v1/models", timeout=timeout).json()["data"]]
    if model is not None and model not in served:
        raise ConfigError(f"{url} serves {', '.join(served)}, not {model!r}")
    chosen = model or served[0]
    counters = parse_page(get(url, "/metrics", timeout=timeout).text).get(chosen)
    return Probe(model=chosen, k=(counters.max_position or 0) if counters else 0, version=_version(url, timeout))


def _version(url: str, timeout: float) -> str | None:
    try:
        return get(url, "/version", timeout=timeout).json().get("version")
    except (httpx.HTTPError, ValueError):
        return None
