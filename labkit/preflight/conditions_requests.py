"""Conditions on requests, memory and the names of options.

Every condition takes a Case and answers None where it does not hold, else the fields that its rule's words
name.
"""

from __future__ import annotations

from labkit.errors import did_you_mean
from labkit.preflight.case import Case
from labkit.preflight.vllm_flags import SPECULATIVE_KEYS

__all__ = ["CONDITIONS"]

Fields = dict[str, object] | None
GIB = 2**30


def structured_outputs(case: Case) -> Fields:
    backend = case.launch.structured_outputs
    return {"backend": backend} if case.method and backend and backend != "lm-format-enforcer" else None


def structured_outputs_refused(case: Case) -> Fields:
    return {} if case.method and case.launch.structured_outputs == "lm-format-enforcer" else None


def sampling_refused(case: Case) -> Fields:
    """Sampling parameters that a speculating server answers with an error."""
    if not case.method:
        return None
    named = [name for name in ("min_p", "logit_bias") if case.sampling(name)]
    return {"names": " and ".join(named)} if named else None


def penalties(case: Case) -> Fields:
    """Penalties that requests carry, or that the target's generation config adds to each."""
    if not case.method:
        return None
    neutral = {"repetition_penalty": 1, "presence_penalty": 0, "frequency_penalty": 0}
    found = {name: case.sampling(name) for name, none in neutral.items() if case.sampling(name) not in (None, none)}
    return {"found": ", ".join(f"{name} {value}" for name, value in found.items())} if found else None


def padded_batch_off(case: Case) -> Fields:
    parallel = case.option("parallel_drafting")
    off = case.option("disable_padded_drafter_batch") and (case.method == "draft_model" or parallel)
    return {"method": case.method} if off else None


def disable_by_batch_size(case: Case) -> Fields:
    value = case.option("disable_by_batch_size")
    return None if value is None else {"value": value}


def tensor_parallel_size_key(case: Case) -> Fields:
    return {} if case.option("tensor_parallel_size") is not None else None


def unknown_key(case: Case) -> Fields:
    """Keys of the speculative config that vLLM does not have, rules of their own apart."""
    own_rules = {"tensor_parallel_size", "disable_by_batch_size"}
    strange = [key for key in case.launch.options if key not in SPECULATIVE_KEYS | own_rules]
    if not strange:
        return None
    return {"keys": ", ".join(map(repr, strange)), "close": did_you_mean(strange[0], SPECULATIVE_KEYS)}


def memory_short(case: Case) -> Fields:
    """Weights leave no room for one sequence of full length."""
    fields = _memory(case)
    return fields if fields and fields["fits"] < fields["needed"] else None


def memory(case: Case) -> Fields:
    fields = _memory(case)
    return fields if fields and fields["fits"] >= fields["needed"] else None


def memory_unknown(case: Case) -> Fields:
    return {} if case.launch.gpu_memory_gib and _memory(case) is None else None


def _memory(case: Case) -> dict[str, int] | None:
    """Tokens of KV cache that fit beside the weights on all GPUs of one replica, and those of one sequence."""
    launch, models = case.launch, [case.target, *([case.draft] if case.draft else [])]
    length = launch.max_model_len or case.target.window
    weights = [model.weight_bytes for model in models]
    tokens = [model.kv_bytes_per_token for model in models]
    if not launch.gpu_memory_gib or not length or None in weights or None in tokens:
        return None
    total = launch.gpu_memory_gib * GIB * launch.gpu_memory_utilization * launch.tp * launch.pp
    left = max(0, total - sum(weights))
    return {"fits": int(left / sum(tokens)), "needed": length, "left": round(left / GIB, 1),
            "total": round(total / GIB, 1), "weights": round(sum(weights) / GIB, 1)}  # fmt: skip


CONDITIONS = {
    made.__name__: made
    for made in (
        structured_outputs, structured_outputs_refused, sampling_refused, penalties, padded_batch_off,
        disable_by_batch_size, tensor_parallel_size_key, unknown_key, memory_short, memory, memory_unknown,
    )
}  # fmt: skip
