"""Preflight of a plan: what must not be started, known before anything is.

Cheap, for it reads files only and each pair once. Only engines that labkit starts with vLLM are looked at: a
simulated one has no models, and a server that runs already was accepted by its vLLM.
"""

from __future__ import annotations

from dataclasses import replace

from labkit.config import Sampling, SpecConfig
from labkit.plan import Plan
from labkit.preflight.case import Case
from labkit.preflight.check import Report, case_of, judge
from labkit.preflight.launch import launch_of

__all__ = ["PlanCheck"]


class PlanCheck:
    """Reports and refusals of a plan's engines, by drafter and K."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._cases = plan, dict[str, Case]()
        # what clean requests send stands above the model's generation config, which vLLM otherwise adds
        self._sampling = Sampling(temperature=0).body() if plan.sampling == "clean" else {}

    def report(self, spec: SpecConfig) -> Report | None:
        """Everything that is known of one engine of the plan; None where it is not looked at.

        Raises:
            ConfigError: a folder is missing or a file in it is damaged.
        """
        if self._plan.engine.kind != "vllm":
            return None
        launch = launch_of(self._plan.engine, spec, sampling=self._sampling)
        if spec.name not in self._cases:
            self._cases[spec.name] = case_of(launch)
        return judge(replace(self._cases[spec.name], launch=launch))

    def refused(self, spec: SpecConfig) -> tuple[str, ...]:
        """Why this engine cannot work as meant, a line each; empty where nothing says so, or nothing is looked at."""
        report = self.report(spec)
        return report.refused if report else ()

    def all_refused(self) -> dict[str, tuple[str, ...]]:
        """Refusals of all engines of the plan, by label; of the others nothing."""
        found = {spec.label: self.refused(spec) for spec in self._plan.specs}
        return {label: why for label, why in found.items() if why}
