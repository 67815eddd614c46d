"""Offline figures are what serving gives: the shipped head, step by step, on real vLLM."""

from pathlib import Path

import numpy as np

from labkit.config import Sampling
from labkit.drafters.demo import locate
from labkit.drafters.package import shipped
from labkit.measure.cell import measure_cell
from labkit.plan import Cell, WorkloadSpec
from labkit.workloads import load_workload
from tests.conftest import on_vllm

ASKED = WorkloadSpec(categories=("code", "text_to_sql", "creative"), languages=("en",), per_category=3, max_tokens=40)


def steps_of(runs, k):
    """Accepted drafts per step, by the run length at each start."""
    accepted, start = [], 0
    while start < len(runs):
        accepted.append(min(int(runs[start]), k))
        start += accepted[-1] + 1
    return accepted


@on_vllm("eagle3", "draft_model")
def test_a_server_accepts_what_was_found_offline(vllm, tmp_path, monkeypatch):
    """Per request the offline replay gives the server's own accepted counts; only a near tie may differ."""
    from labkit.training import features as reading
    from labkit.training.evaluate import run_lengths
    from labkit.training.load import load_trained
    from labkit.training.texts import Text

    monkeypatch.setattr(reading, "fast_bfloat16", lambda: False)  # the server computes in float32
    spec = vllm.info.requested
    cell = Cell(target="demo", spec=spec, sampling=Sampling(temperature=0.0), concurrency=1, workload=ASKED)
    records = measure_cell(vllm, cell, load_workload(ASKED), warm=False).records
    texts = [
        Text(prompt_id=r.prompt_id, category=r.category, temperature=0.0, prompt_ids=r.prompt_token_ids,
             output_ids=r.output_token_ids)
        for r in records
    ]  # fmt: skip
    target = Path(locate("demo"))
    model = load_trained(shipped()[spec.name], target)
    found = run_lengths(model, reading.extract(texts, target, tmp_path), depths=spec.k)
    same = total = 0
    for record, runs in zip(records, found, strict=True):
        offline, served = steps_of(runs, spec.k), list(record.per_step_accepted)
        offline, served = offline[:-1], served[: len(offline) - 1]  # max_tokens cuts into the last step
        same, total = same + sum(a == b for a, b in zip(offline, served, strict=False)), total + len(offline)
    assert total > 100
    assert same / total > 0.97
    assert np.sum([len(runs) for runs in found]) == sum(r.output_tokens - 1 for r in records)
