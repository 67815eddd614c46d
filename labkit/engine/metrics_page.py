"""A vLLM metrics page (Prometheus text) as :class:`~labkit.records.Counters`.

Contract (vLLM 0.32): ``vllm:spec_decode_num_{drafts,draft_tokens,accepted_tokens}_total`` and
``…_num_accepted_tokens_per_pos_total{position}``, labels ``engine`` and ``model_name``; they exist only
when speculation is configured, and each has a ``_created`` twin that is no count.  Older pages leave out
``_total`` (inference-perf issue 455).  Accepted excludes the bonus token.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import httpx
from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.samples import Sample

from labkit.engine.http import base_url, get
from labkit.errors import ConfigError, EngineError, did_you_mean
from labkit.records import Counters, EngineCounters

__all__ = ["parse_page", "fetch_page", "fetch_counters", "select_model"]

_COUNTERS = {
    "vllm:spec_decode_num_drafts": "drafts",
    "vllm:spec_decode_num_draft_tokens": "draft_tokens",
    "vllm:spec_decode_num_accepted_tokens": "accepted_tokens",
    "vllm:generation_tokens": "generation_tokens",
    "vllm:prompt_tokens": "prompt_tokens",
    "vllm:prefix_cache_queries": "prefix_cache_queries",
    "vllm:prefix_cache_hits": "prefix_cache_hits",
}
_PER_POS = "vllm:spec_decode_num_accepted_tokens_per_pos"
_GAUGES = {"vllm:num_requests_running": "running", "vllm:num_requests_waiting": "waiting"}


def parse_page(text: str) -> dict[str, Counters]:
    """Counters per served ``model_name`` (LoRA adapters are models of their own), kept per engine.

    Raises:
        ConfigError: the text is no Prometheus page.
    """
    counts: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    per_pos: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    gauges: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for sample in _samples(text):
        name = sample.name.removesuffix("_total")
        model, engine = sample.labels.get("model_name", ""), sample.labels.get("engine", "0")
        try:
            if name in _COUNTERS:
                counts[model, engine][_COUNTERS[name]] = int(sample.value)
            elif name == _PER_POS:
                per_pos[model, engine][int(sample.labels["position"])] = int(sample.value)
            elif name in _GAUGES:
                gauges[model][_GAUGES[name]] += int(sample.value)
        except (ValueError, OverflowError, KeyError) as error:
            raise ConfigError(f"the metrics page holds {sample.name} {sample.labels} {sample.value}: {error}") from None
    pages: dict[str, dict[str, EngineCounters]] = defaultdict(dict)
    for model, engine in sorted({*counts, *per_pos}):
        by_position = per_pos.get((model, engine))
        row = tuple(by_position.get(i, 0) for i in range(max(by_position) + 1)) if by_position else None
        pages[model][engine] = EngineCounters(**counts[model, engine], accepted_per_pos=row)
    return {model: Counters(model_name=model, per_engine=engines, **gauges[model]) for model, engines in pages.items()}


def _samples(text: str) -> Iterable[Sample]:
    """Samples of either exposition format; OpenMetrics ends with ``# EOF`` and may carry exemplars."""
    parse = (openmetrics if text.rstrip().endswith("# EOF") else parser).text_string_to_metric_families
    try:
        return [sample for family in parse(text) for sample in family.samples]
    except (ValueError, KeyError, IndexError) as error:
        raise ConfigError(
            f"this is no Prometheus metrics page ({error}); expected the text of a vLLM /metrics page"
        ) from None


def select_model(pages: dict[str, Counters], model: str | None, *, where: str) -> Counters:
    """The counters of ``model``, or of the only model served.

    Raises:
        ConfigError: the page has no vLLM counters, not this model, or several and none was named.
    """
    if not pages:
        raise ConfigError(f"{where} holds no vLLM counters (no series 'vllm:…_total'); is it a vLLM /metrics page?")
    if model is None and len(pages) == 1:
        return next(iter(pages.values()))
    if model not in pages:
        asked = "several models are served and none was named" if model is None else f"no model {model!r} on this page"
        raise ConfigError(f"{where}: {asked}; served: {', '.join(sorted(pages))}{did_you_mean(model or '', pages)}")
    return pages[model]


def fetch_page(url: str, *, timeout: float = 10.0) -> str:
    """The text of ``url``'s ``/metrics``; ``url`` with or without that ending.

    Raises:
        ConfigError: ``url`` is none.
        EngineError: no answer, or not 200.
    """
    try:
        return get(url, "/metrics", timeout=timeout).text
    except httpx.InvalidURL as error:
        raise ConfigError(f"{url!r} is no URL ({error}); expected http://host:port") from None
    except httpx.HTTPError as error:
        why = error or type(error).__name__
        raise EngineError(f"no metrics page at {base_url(url)}/metrics: {why}; is the server running?") from None


def fetch_counters(url: str, model: str | None = None, *, timeout: float = 10.0) -> Counters:
    return select_model(parse_page(fetch_page(url, timeout=timeout)), model, where=url)
