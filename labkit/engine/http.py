"""One way to ask a server for a page: trimmed URL, the key from the environment, certificates only for https."""

from __future__ import annotations

import os

import httpx

__all__ = ["api_key", "base_url", "get"]


def api_key() -> str | None:
    """The key to send, from the environment alone: ``LABKIT_API_KEY``, else ``VLLM_API_KEY``, which a server
    started here reads too."""
    return os.environ.get("LABKIT_API_KEY") or os.environ.get("VLLM_API_KEY")


def base_url(url: str) -> str:
    """``url`` without a trailing ``/metrics``, ``/v1`` or slash."""
    return url.rstrip("/").removesuffix("/metrics").removesuffix("/v1").rstrip("/")


def get(url: str, path: str, *, timeout: float) -> httpx.Response:
    """``path`` of the server at ``url``. Reading the certificate store takes longer than most pages, so it is
    read only for https.

    Raises:
        httpx.HTTPError, httpx.InvalidURL: no answer, or a status other than 2xx.
    """
    headers = {"Accept": "*/*"} | ({"Authorization": f"Bearer {key}"} if (key := api_key()) else {})
    answer = httpx.get(f"{base_url(url)}{path}", timeout=timeout, headers=headers, verify=url.startswith("https"))
    return answer.raise_for_status()
