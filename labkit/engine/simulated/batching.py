"""The engine loop of the simulated server: continuous batching in simulated time.

Each iteration takes every running request one step and then waits until the step would have been over.
Requests beyond ``max_num_seqs`` wait for a place.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Collection, Sequence

from labkit.config import Simulation
from labkit.engine.simulated.cache import PrefixCache
from labkit.engine.simulated.metrics import Tally
from labkit.engine.simulated.model import Generation, Model, Speculation, Step
from labkit.engine.simulated.requests import Call

__all__ = ["Engine", "Job", "step_seconds"]


def step_seconds(costs: Simulation, drafted: Sequence[int]) -> float:
    """Seconds of a step in which request i verifies ``drafted[i]`` drafts and gets one token besides.

    With K drafts for each of B requests this is ``base + per_token·B·(K+1) + [K>0]·(draft_base +
    draft_per_token·K)``.  Requests without drafts, in their prefill or where nothing was looked up, cost one
    token; drafting is paid for as long as the longest proposal takes.
    """
    longest = max(drafted)
    drafting = costs.draft_base + costs.draft_per_token * longest if longest else 0.0
    return costs.base + costs.per_token * (sum(drafted) + len(drafted)) + drafting


class Job:
    """A request in the engine. Iterating yields its steps when each is over."""

    def __init__(self, call: Call, generation: Generation) -> None:
        self.call, self.generation = call, generation
        self.steps: asyncio.Queue[Step] = asyncio.Queue()

    async def __aiter__(self) -> AsyncIterator[Step]:
        finished = False
        while not finished:
            step = await self.steps.get()
            finished = step.finish_reason is not None
            yield step


class Engine:
    """Runs jobs; ``tally`` is what it counts."""

    def __init__(
        self, simulation: Simulation, speculation: Speculation | None, *, faults: Collection[str], max_num_seqs: int
    ) -> None:
        self.speculation = speculation
        self.tally = Tally(accepted_per_pos=[0] * (speculation.k if speculation else 0))
        self.model = Model(simulation)
        self._costs, self._faults, self._max_num_seqs = simulation, faults, max_num_seqs
        self._cache = PrefixCache()
        self._waiting: deque[Job] = deque()
        self._running: list[Job] = []
        self._arrival = asyncio.Event()

    def submit(self, call: Call) -> Job:
        job = Job(call, Generation(self.model, call.request, self.speculation, self._faults))
        self._waiting.append(job)
        self._arrival.set()
        self._count()
        return job

    def abort(self, job: Job) -> None:
        """Take a job out, wherever it is; a finished one is out already."""
        for jobs in (self._waiting, self._running):
            if job in jobs:
                jobs.remove(job)
        self._count()

    async def run(self) -> None:
        """Serve until cancelled."""
        now = asyncio.get_running_loop().time
        due = now()
        while True:
            if not self._waiting and not self._running:
                self._arrival.clear()
                await self._arrival.wait()
                due = now()
            self._admit()
            steps = [(job, next(job.generation)) for job in self._running]
            if not steps:
                continue
            # from one due time to the next, so that late wake-ups do not add up
            due = max(due + step_seconds(self._costs, [step.drafted for _, step in steps]), now())
            await asyncio.sleep(due - now())
            for job, step in steps:
                if job in self._running:  # else it was aborted meanwhile
                    self._deliver(job, step)

    def _admit(self) -> None:
        while self._waiting and len(self._running) < self._max_num_seqs:
            job = self._waiting.popleft()
            self._running.append(job)
            prompt, salt = job.call.request.prompt, job.call.cache_salt
            self.tally.requests += 1
            self.tally.prompt_tokens += len(prompt)
            if job.call.prompt_logprobs is None:  # scoring needs every position computed
                self.tally.prefix_cache_queries += len(prompt)
                self.tally.prefix_cache_hits += self._cache.hits(prompt, salt)
            self._cache.store(prompt, salt)
        self._count()

    def _deliver(self, job: Job, step: Step) -> None:
        """Count before the client is told, so that its next look at the metrics page is up to date."""
        self.tally.observe(step)
        if step.finish_reason:
            request = job.generation.request
            self._cache.store([*request.prompt, *job.generation.output[:-1]], job.call.cache_salt)
            self.abort(job)
        job.steps.put_nowait(step)

    def _count(self) -> None:
        self.tally.running, self.tally.waiting = len(self._running), len(self._waiting)
