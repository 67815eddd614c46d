"""Facts about a server that anyone can read over HTTP: model, K, version."""

from __future__ import annotations

import os
from dataclasses import dataclass

import httpx

from labkit.engine.metrics_page import parse_page

__all__ = ["Probe", "probe", "base_url", "api_key"]


@dataclass(frozen=True, kw_only=True)
class Probe:
    """``k`` is the number of positions the server counts, registered when it starts; 0 where it counts
    none, which is the baseline."""

    model: str
    max_model_len: int | None
    k: int
    version: str | None


def api_key() -> str | None:
    """The key to send, from the environment alone: ``LABKIT_API_KEY``, else ``VLLM_API_KEY``, which a server
    started here reads too."""
    return os.environ.get("LABKIT_API_KEY") or os.environ.get("VLLM_API_KEY")


def base_url(url: str) -> str:
    """``url`` without a trailing ``/v1`` or slash."""
    return url.rstrip("/").removesuffix("/v1").rstrip("/")


def probe(url: str, *, model: str | None = None, timeout: float = 5.0) -> Probe:
    """Ask a server what it serves.

    Raises:
        httpx.HTTPError: it does not answer, or not as an OpenAI-compatible server does.
    """
    headers = {"Authorization": f"Bearer {key}"} if (key := api_key()) else {}
    verify = url.startswith("https")
    with httpx.Client(base_url=base_url(url), timeout=timeout, verify=verify, headers=headers) as http:
        served = http.get("/v1/models").raise_for_status().json()["data"]
        chosen = next((entry for entry in served if entry["id"] == model), served[0])
        page = http.get("/metrics").raise_for_status().text
        version = http.get("/version")
    counters = parse_page(page).get(chosen["id"])
    return Probe(
        model=chosen["id"],
        max_model_len=chosen.get("max_model_len"),
        k=(counters.max_position or 0) if counters else 0,
        version=version.json().get("version") if version.is_success else None,
    )
