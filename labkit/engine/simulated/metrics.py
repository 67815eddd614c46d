"""The metrics page of the simulated server: vLLM's names and labels (the contract is in
``metrics_page.py``), drawn from plain counts when it is asked for."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from labkit.engine.simulated.model import Step

__all__ = ["MetricsPage", "Tally"]


@dataclass
class Tally:
    """Counts since the start. ``accepted_per_pos`` has K entries, none without speculation."""

    accepted_per_pos: list[int] = field(default_factory=list)
    drafts: int = 0
    draft_tokens: int = 0
    accepted_tokens: int = 0
    generation_tokens: int = 0
    prompt_tokens: int = 0
    prefix_cache_queries: int = 0
    prefix_cache_hits: int = 0
    running: int = 0
    waiting: int = 0
    requests: int = 0

    def observe(self, step: Step) -> None:
        self.generation_tokens += len(step.tokens)
        if step.drafted:
            self.drafts += 1
            self.draft_tokens += step.drafted
            self.accepted_tokens += step.accepted
            for position in range(step.accepted):
                self.accepted_per_pos[position] += 1


class MetricsPage(Collector):
    """``text()`` is the page. Faults: ``extra_load``, ``stuck_running``, ``no_spec_metrics``."""

    def __init__(self, tally: Tally, *, model_name: str, faults: Collection[str] = ()) -> None:
        self._tally, self._model_name, self._faults = tally, model_name, faults
        self._created = time.time()
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        tally = self._tally
        stuck = "stuck_running" in self._faults and tally.requests
        yield self._gauge("num_requests_running", tally.running or int(bool(stuck)))
        yield self._gauge("num_requests_waiting", tally.waiting)
        others = tally.generation_tokens // 10 if "extra_load" in self._faults else 0
        yield self._counter("generation_tokens", tally.generation_tokens + others)
        yield self._counter("prompt_tokens", tally.prompt_tokens)
        yield self._counter("prefix_cache_queries", tally.prefix_cache_queries)
        yield self._counter("prefix_cache_hits", tally.prefix_cache_hits)
        if tally.accepted_per_pos and "no_spec_metrics" not in self._faults:
            yield self._counter("spec_decode_num_drafts", tally.drafts)
            yield self._counter("spec_decode_num_draft_tokens", tally.draft_tokens)
            yield self._counter("spec_decode_num_accepted_tokens", tally.accepted_tokens)
            yield self._per_position()

    def _gauge(self, name: str, value: int) -> Metric:
        family = GaugeMetricFamily(f"vllm:{name}", name.replace("_", " "), labels=["engine", "model_name"])
        family.add_metric(["0", self._model_name], value)
        return family

    def _counter(self, name: str, value: int) -> Metric:
        family = CounterMetricFamily(f"vllm:{name}", name.replace("_", " "), labels=["engine", "model_name"])
        family.add_metric(["0", self._model_name], value, created=self._created)
        return family

    def _per_position(self) -> Metric:
        name, labels = "spec_decode_num_accepted_tokens_per_pos", ["engine", "model_name", "position"]
        family = CounterMetricFamily(f"vllm:{name}", name.replace("_", " "), labels=labels)
        for position, count in enumerate(self._tally.accepted_per_pos):
            family.add_metric(["0", self._model_name, str(position)], count, created=self._created)
        return family
