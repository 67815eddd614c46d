"""A server that runs already, attached by URL. It is never stopped from here."""

from __future__ import annotations

import time

import httpx

from labkit.config import SpecConfig
from labkit.engine.base import EngineInfo
from labkit.engine.http import base_url, get
from labkit.engine.probe import Probe, probe
from labkit.errors import ConfigError, EngineError

__all__ = ["RemoteEngine"]


class RemoteEngine:
    """An attached server. Its method is "unknown": a server does not tell it over HTTP.

    Raises:
        ConfigError: ``url`` is no http(s) URL, the server does not serve ``model``, or runs another K than
            ``spec`` asks for.
        EngineError: nothing answers there as an OpenAI-compatible server does.
    """

    def __init__(self, url: str, spec: SpecConfig | None = None, *, model: str | None = None) -> None:
        if not url.startswith(("http://", "https://")):
            raise ConfigError(f"{url!r} is no URL; expected http://host:port")
        self.url, self._model = base_url(url), model
        facts = self._ask()
        if spec is not None and facts.k != spec.k:
            raise ConfigError(
                f"{self.url} counts {facts.k} positions, so it runs K = {facts.k}; the cell asks for {spec.label}"
            )
        self.info = EngineInfo(
            kind="remote",
            model=facts.model,
            requested=spec,
            method="unknown" if facts.k else None,
            k=facts.k,
            version=facts.version,
            device="unknown",
            started_at=time.time(),
        )

    def _ask(self) -> Probe:
        try:
            return probe(self.url, model=self._model)
        except (httpx.HTTPError, httpx.InvalidURL, LookupError, TypeError, ValueError) as error:
            raise EngineError(f"{self.url} does not answer as a vLLM server: {error or type(error).__name__}") from None

    def alive(self) -> bool:
        try:
            return get(self.url, "/health", timeout=5).is_success
        except httpx.HTTPError:
            return False

    def last_words(self) -> str:
        return ""

    def close(self) -> None:
        pass

    def __enter__(self) -> RemoteEngine:
        return self

    def __exit__(self, *_: object) -> None:
        pass
