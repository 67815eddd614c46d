"""Repairs of two faults of vLLM on a CPU that make speculative decoding wrong or crash.

A ``vllm.general_plugins`` entry point: vLLM calls :func:`register` in each of its processes.  Each repair
is applied only where its self-test shows the fault, only on a CPU, says so in the log, and is left out
when ``LABKIT_CPU_FIXES=0`` is set.

1. *Sampling parameters do not reach the rejection sampler.* ``cpu_triton_utils._expand_kernel_impl``
   writes into a cast copy of its output and drops it, so per-request temperature, top_k and top_p are
   uninitialised memory: wrong acceptance and wrong text at T > 0.
2. *top_k crashes the engine* on a step without drafts: ``apply_top_k_only`` takes a maximum over no rows.

Seen in vLLM 0.32.0.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

__all__ = ["register", "expand_is_broken", "top_k_is_broken"]

logger = logging.getLogger("vllm.labkit")
SWITCH = "LABKIT_CPU_FIXES"


def register() -> None:
    """Apply the repairs that this vLLM needs. Called by vLLM; safe to call several times."""
    from vllm.platforms import current_platform

    if not current_platform.is_cpu():
        return
    if os.environ.get(SWITCH, "1") == "0":
        logger.warning("labkit cpu fixes: switched off by %s=0", SWITCH)
        return
    try:
        applied = _apply()
    except (ImportError, AttributeError) as error:  # another vLLM: repair nothing rather than stop its start
        logger.warning("labkit cpu fixes: none, this vLLM is not known (%s)", error)
        return
    logger.warning("labkit cpu fixes: %s", "; ".join(applied) if applied else "none needed")


def _apply() -> list[str]:
    applied = []
    if expand_is_broken():
        _replace_expand()
        applied.append("sampling parameters reach the rejection sampler")
    if top_k_is_broken():
        _replace_top_k()
        applied.append("top_k on a step without drafts")
    return applied


def expand_is_broken() -> bool:
    """Whether ``expand_batch_to_tokens`` leaves its output untouched or wrong, seen with a sentinel."""
    import torch
    from vllm.platforms import current_platform
    from vllm.utils import cpu_triton_utils

    current_platform.import_kernels()
    out = torch.full((3,), -7.0)
    counts = torch.tensor([1, 3], dtype=torch.int32)
    try:
        cpu_triton_utils._expand_kernel_impl(out, torch.tensor([0.5, 0.0]), counts, 0, 1)
    except (RuntimeError, TypeError):
        return True
    return out.tolist() != [0.5, 1.0, 1.0]


def top_k_is_broken() -> bool:
    """Whether top_k sampling fails on zero rows."""
    import torch
    from vllm.v1.sample.ops import topk_topp_sampler

    try:
        topk_topp_sampler.apply_top_k_only(torch.zeros(0, 8), torch.zeros(0, dtype=torch.long))
    except (RuntimeError, IndexError):
        return True
    return False


def _expand(
    output: torch.Tensor,
    input_val: torch.Tensor,
    cu_num_tokens: torch.Tensor,
    replace_from: float,
    replace_to: float,
    MAX_NUM_TOKENS: int | None = None,
) -> None:
    """Repeat ``input_val`` [batch] as often as each request has tokens into ``output`` [tokens], with
    ``replace_from`` replaced by ``replace_to``; ``cu_num_tokens`` [batch] holds cumulative counts."""
    counts = cu_num_tokens.diff(prepend=cu_num_tokens.new_zeros(1))
    replaced = input_val.masked_fill(input_val == replace_from, replace_to)
    output.copy_(replaced.repeat_interleave(counts))


def _replace_expand() -> None:
    # vLLM loads plugins before the CPU platform registers this function as a kernel override
    from vllm.utils import cpu_triton_utils

    cpu_triton_utils._expand_kernel_impl = _expand


def _replace_top_k() -> None:
    from vllm.v1.sample.ops import topk_topp_sampler

    original = topk_topp_sampler.apply_top_k_only

    def apply_top_k_only(logits: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        return logits if logits.shape[0] == 0 else original(logits, k)

    topk_topp_sampler.apply_top_k_only = apply_top_k_only
