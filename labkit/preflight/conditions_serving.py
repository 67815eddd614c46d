"""Conditions on how a launch is served: K, parallelism, runner, graphs, memory, requests, option names.

Every condition takes a Case and answers None where it does not hold, else the fields that its rule's words
name. Conditions that need a number nobody gave do not hold.
"""

from __future__ import annotations

from itertools import pairwise

from labkit.preflight.case import READS_TARGET, Case
from labkit.preflight.launch import READ_FROM, release

__all__ = ["CONDITIONS"]

Fields = dict[str, object] | None
#: Methods whose drafter reads the target's inner layers.
_READS_INNER = ("eagle3", "dflash", "dspark")


def other_version(case: Case) -> Fields:
    return None if case.launch.release == release(READ_FROM) else {"read": READ_FROM}


def k_zero(case: Case) -> Fields:
    return {} if case.method and case.launch.k == 0 else None


def k_missing(case: Case) -> Fields:
    """MTP takes K from the checkpoint when it is left out."""
    return {} if case.method == "mtp" and case.launch.k is None else None


def draft_model(case: Case) -> Fields:
    return {} if case.method == "draft_model" else None


def mlp_speculator(case: Case) -> Fields:
    return {} if case.method == "mlp_speculator" else None


def suffix(case: Case) -> Fields:
    return {} if case.method == "suffix" else None


def ngram_without_lookup(case: Case) -> Fields:
    named = case.option("prompt_lookup_max") or case.option("prompt_lookup_min")
    return {} if case.method in ("ngram", "ngram_gpu") and not named else None


def ngram_lookup_wrong(case: Case) -> Fields:
    low, high = case.option("prompt_lookup_min"), case.option("prompt_lookup_max")
    if case.method not in ("ngram", "ngram_gpu"):
        return None
    below = any(n is not None and n < 1 for n in (low, high))
    crossed = low is not None and high is not None and low > high
    return {"low": low, "high": high} if below or crossed else None


def draft_tp_value(case: Case) -> Fields:
    tp = case.launch.tp
    return None if not case.method or case.draft_tp in (1, tp) else {"draft_tp": case.draft_tp, "tp": tp}


def draft_tp_of_draft_model(case: Case) -> Fields:
    differs = case.method == "draft_model" and case.draft_tp != case.launch.tp
    return {"draft_tp": case.draft_tp, "tp": case.launch.tp} if differs else None


def draft_tp_of_head(case: Case) -> Fields:
    differs = case.method in READS_TARGET and case.draft_tp == 1 != case.launch.tp
    return {"draft_tp": case.draft_tp, "tp": case.launch.tp, "method": case.method} if differs else None


def target_heads(case: Case) -> Fields:
    heads, tp = case.target.heads, case.launch.tp
    return {"heads": heads, "tp": tp} if heads and heads % tp else None


def draft_heads(case: Case) -> Fields:
    heads = case.draft.heads if case.draft and case.method in ("draft_model", *READS_TARGET) else None
    return {"heads": heads, "tp": case.draft_tp} if heads and heads % case.draft_tp else None


def pipeline_parallel(case: Case) -> Fields:
    """Speculation over pipeline stages, by methods that need nothing from inner layers, or under a target that does
    not tell its architecture."""
    inner = case.method in _READS_INNER and case.target.architectures
    if case.launch.pp == 1 or not case.method or inner:
        return None
    return {"pp": case.launch.pp, "method": case.method}


def pipeline_parallel_relayed(case: Case) -> Fields:
    """Heads that read inner layers, under a target that hands those states from stage to stage."""
    return _inner_over_pp(case, relays=True)


def pipeline_parallel_not_relayed(case: Case) -> Fields:
    return _inner_over_pp(case, relays=False)


def _inner_over_pp(case: Case, *, relays: bool) -> Fields:
    name = next(iter(case.target.architectures), "")
    if case.launch.pp == 1 or case.method not in _READS_INNER or not name:
        return None
    fields = {"pp": case.launch.pp, "method": case.method, "architecture": name}
    return fields if (name in case.lists["relays_hidden_states"]) == relays else None


def schedule_with_dp(case: Case) -> Fields:
    scheduled = case.option("num_speculative_tokens_per_batch_size") is not None
    return {"dp": case.launch.dp, "k": case.launch.k} if scheduled and case.launch.dp > 1 else None


def schedule(case: Case) -> Fields:
    made = case.option("num_speculative_tokens_per_batch_size")
    if made is None or case.launch.dp > 1 or _broken(made):
        return None
    return {"thresholds": ", ".join(str(entry[0]) for entry in sorted(made)[1:]) or "none"}


def schedule_broken(case: Case) -> Fields:
    made = case.option("num_speculative_tokens_per_batch_size")
    why = _broken(made) if made is not None else ""
    return {"why": why} if why else None


def _broken(made: object) -> str:
    """What vLLM would refuse in a K-by-batch schedule; empty for a good one."""
    whole = isinstance(made, list | tuple) and made
    if not whole or not all(isinstance(e, list | tuple) and len(e) == 3 for e in made):
        return "it must be a list of [first batch, last batch, K]"
    if not all(isinstance(number, int) for entry in made for number in entry):
        return "it must hold whole numbers"
    ranges = sorted(made)
    if any(low < 1 or low > high or k < 0 for low, high, k in ranges):
        return "a range must rise from 1 on and K must not be negative"
    if ranges[0][0] != 1:
        return "the first range must begin at batch size 1"
    crossing = any(after[0] <= before[1] for before, after in pairwise(ranges))
    return "ranges must not overlap" if crossing else ""


def runner_v2(case: Case) -> Fields:
    """Methods of which the second model runner has a version of its own."""
    named = case.launch.runner == "v2" and case.method in ("ngram", "ngram_gpu", "draft_model")
    return {"method": case.method} if named else None


def runner_v2_lacks(case: Case) -> Fields:
    if case.launch.runner != "v2" or not case.method:
        return None
    lacks = []
    if case.method in ("suffix", "medusa", "mlp_speculator"):
        lacks.append(f"method {case.method!r}")
    if case.option("parallel_drafting") and case.method not in ("dflash", "dspark"):
        lacks.append("parallel drafting")
    if case.option("use_heterogeneous_vocab"):
        lacks.append("use_heterogeneous_vocab")
    return {"lacks": ", ".join(lacks)} if lacks else None


def runner_v1_lacks(case: Case) -> Fields:
    return {} if case.launch.runner == "v1" and case.method == "dspark" else None


def graphs_too_small(case: Case) -> Fields:
    size = case.launch.max_cudagraph_capture_size
    short = size and case.k and size < case.k + 1 and not case.launch.eager
    return {"size": size, "needed": case.k + 1} if short else None


def graphs_left(case: Case) -> Fields:
    """The widest decode batch does not fit into the captured sizes."""
    seqs, size = case.launch.max_num_seqs, case.launch.max_cudagraph_capture_size or 512
    if not seqs or not case.k or case.launch.eager or size < case.k + 1 or seqs * (case.k + 1) <= size:
        return None
    return {"widest": seqs * (case.k + 1), "seqs": seqs, "each": case.k + 1, "size": size, "fits": size // (case.k + 1)}


def batched_tokens_short(case: Case) -> Fields:
    """No room for one token beside the extra slots that drafting takes."""
    tokens = case.launch.max_num_batched_tokens
    parallel = case.option("parallel_drafting") or case.method in ("dflash", "dspark")
    slots = {"draft_model": case.k if parallel else 1, "dflash": case.k}.get(case.method or "", 0)
    slots = slots or (case.k - 1 if parallel else 0)
    return {"tokens": tokens, "slots": slots} if tokens and case.method and tokens <= slots else None


def lora(case: Case) -> Fields:
    uses_weights = case.method and case.method not in ("ngram", "ngram_gpu", "suffix")
    return {"method": case.method} if case.launch.lora and uses_weights else None


def lora_batched_tokens(case: Case) -> Fields:
    tokens, seqs = case.launch.max_num_batched_tokens, case.launch.max_num_seqs
    if not (case.launch.lora and tokens and seqs and case.k) or tokens >= seqs * (case.k + 1):
        return None
    return {"tokens": tokens, "needed": seqs * (case.k + 1), "seqs": seqs, "each": case.k + 1}


CONDITIONS = {
    made.__name__: made
    for made in (
        other_version, k_zero, k_missing, draft_model, mlp_speculator, suffix, ngram_without_lookup,
        ngram_lookup_wrong, draft_tp_value, draft_tp_of_draft_model, draft_tp_of_head, target_heads, draft_heads,
        pipeline_parallel, pipeline_parallel_relayed, pipeline_parallel_not_relayed, schedule_with_dp, schedule,
        schedule_broken, runner_v2, runner_v2_lacks, runner_v1_lacks, graphs_too_small, graphs_left,
        batched_tokens_short, lora, lora_batched_tokens,
    )
}  # fmt: skip
