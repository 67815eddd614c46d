"""Flags that earlier vLLM servers took and 0.32 does not, with what became of them and why.

*Kinds* as in :mod:`labkit.preflight.vllm_flags`. ``instead`` holds the words that take the flag's place, ``{}``
standing for its value; without it the flag is dropped, unless ``kept``: then only the user can translate it.
The flags of speculation become keys of ``--speculative-config`` and stand in ``RENAMED`` and ``DEAD_KEYS``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["DEAD_FLAGS", "DEAD_KEYS", "RENAMED", "RETIRED", "RETIRED_SHORT", "TASKS", "Retired"]


@dataclass(frozen=True)
class Retired:
    kind: str
    why: str = ""
    instead: str = ""
    kept: bool = False


#: Flags of speculation → key of the config.
RENAMED: Mapping[str, str] = {
    "speculative-model": "model",
    "num-speculative-tokens": "num_speculative_tokens",
    "speculative-draft-tensor-parallel-size": "draft_tensor_parallel_size",
    "speculative-max-model-len": "max_model_len",
    "speculative-model-quantization": "quantization",
    "ngram-prompt-lookup-max": "prompt_lookup_max",
    "ngram-prompt-lookup-min": "prompt_lookup_min",
}

_LOSSY = "typical acceptance changed what the target says and went with the V0 engine; rejection sampling is exact"

#: Keys of the config (and, in ``DEAD_FLAGS``, flags) that vLLM 0.32 refuses, and why nothing is lost or what is.
DEAD_KEYS: Mapping[str, str] = {
    "disable_by_batch_size": "it was accepted but had no effect since the V1 engine, and is refused now; to draft less"
    " under load there is num_speculative_tokens_per_batch_size, to be measured first",
    "disable_mqa_scorer": "there is one way of scoring drafts now",
    "acceptance_method": _LOSSY,
    "posterior_threshold": _LOSSY,
    "posterior_alpha": _LOSSY,
    "disable_logprobs": "log probabilities are returned where a request asks for them",
    "disable_log_stats": "acceptance is counted with the server's other statistics",
    "enable_chunked_prefill": "the drafter follows the target",
    "speculative_token_tree": "the config has no token trees any more",
}

DEAD_FLAGS: Mapping[str, tuple[str, str]] = {  # flag → (kind, key)
    "speculative-disable-by-batch-size": ("one", "disable_by_batch_size"),
    "speculative-disable-mqa-scorer": ("flag", "disable_mqa_scorer"),
    "spec-decoding-acceptance-method": ("one", "acceptance_method"),
    "typical-acceptance-sampler-posterior-threshold": ("one", "posterior_threshold"),
    "typical-acceptance-sampler-posterior-alpha": ("one", "posterior_alpha"),
    "disable-logprobs-during-spec-decoding": ("maybe", "disable_logprobs"),
}

#: ``--task`` → the flags that say the same.
TASKS: Mapping[str, str] = {
    "auto": "",
    "generate": "--runner generate",
    "transcription": "--runner generate",
    "draft": "--runner draft",
    "embed": "--runner pooling --convert embed",
    "embedding": "--runner pooling --convert embed",
    "classify": "--runner pooling --convert classify",
    "score": "--runner pooling --convert classify",
    "reward": "--runner pooling",
}

_STEPS = "the V1 scheduler has no multi-step mode; it overlaps scheduling with the model by itself"
_SWAP = "the V1 engine recomputes preempted requests and swaps nothing"
_POOL = "the pool of tokenizer workers is gone"
_ADAPTERS = "prompt adapters are gone from vLLM; what they did is lost"
_OUTPUTS = "guided decoding became structured outputs"

RETIRED: Mapping[str, Retired] = {
    **{name: Retired("one") for name in RENAMED},
    **{name: Retired(kind, DEAD_KEYS[key]) for name, (kind, key) in DEAD_FLAGS.items()},
    "use-v2-block-manager": Retired("flag", "there is only one block manager since the first is gone"),
    "num-lookahead-slots": Retired("one", "the scheduler takes them from the speculative config"),
    "num-scheduler-steps": Retired("one", _STEPS),
    "multi-step-stream-outputs": Retired("maybe", _STEPS),
    "swap-space": Retired("one", _SWAP),
    "preemption-mode": Retired("one", _SWAP),
    "scheduler-delay-factor": Retired("one", "the V1 scheduler has no such delay"),
    "disable-async-output-proc": Retired("flag", "the V1 engine always overlaps it with the model"),
    "disable-frontend-multiprocessing": Retired(
        "flag", "VLLM_ENABLE_V1_MULTIPROCESSING=0 puts server and engine into one process today"
    ),
    "engine-use-ray": Retired("flag", "the engine is a process of its own, without Ray"),
    "worker-use-ray": Retired("flag", "the same by its present name", "--distributed-executor-backend ray"),
    "max-context-len-to-capture": Retired("one", "CUDA graphs are captured by batch size, not by length"),
    "max-seq-len-to-capture": Retired("one", "CUDA graphs are captured by batch size, not by length"),
    "device": Retired("one", "the device is that of the installed build"),
    "tokenizer-pool-size": Retired("one", _POOL),
    "tokenizer-pool-type": Retired("one", _POOL),
    "tokenizer-pool-extra-config": Retired("one", _POOL),
    "disable-log-requests": Retired("flag", "requests are not logged unless --enable-log-requests asks for it"),
    "enable-reasoning": Retired("flag", "--reasoning-parser alone switches it on"),
    "enable-prompt-adapter": Retired("flag", _ADAPTERS),
    "max-prompt-adapters": Retired("one", _ADAPTERS),
    "max-prompt-adapter-token": Retired("one", _ADAPTERS),
    "prompt-adapters": Retired("many", _ADAPTERS),
    "enable-lora-bias": Retired("flag", "vLLM has no biases of LoRA adapters any more"),
    "lora-extra-vocab-size": Retired("one", "vLLM has no added tokens of LoRA adapters any more"),
    "long-lora-scaling-factors": Retired("one", "vLLM has no Long LoRA any more"),
    "qlora-adapter-name-or-path": Retired("one", "vLLM has no adapter flag for QLoRA any more; see --lora-modules"),
    "logits-processor-pattern": Retired(
        "one", "requests cannot name logits processors any more; the server can: --logits-processors"
    ),
    "quantization-param-path": Retired("one", "vLLM reads the scales of the KV cache from the checkpoint"),
    "override-pooler-config": Retired("one", "the same by its present name", "--pooler-config {}"),
    "disable-mm-preprocessor-cache": Retired("flag", "a size of 0 switches it off", "--mm-processor-cache-gb 0"),
    "guided-decoding-backend": Retired("one", _OUTPUTS, "--structured-outputs-config.backend {}"),
    "guided-decoding-disable-any-whitespace": Retired(
        "flag", _OUTPUTS, "--structured-outputs-config.disable_any_whitespace true"
    ),
    "guided-decoding-disable-additional-properties": Retired(
        "flag", _OUTPUTS, "--structured-outputs-config.disable_additional_properties true"
    ),
    "guided-decoding-disable-fallback": Retired("flag", "a named backend is used for every request"),
    "task": Retired("one", "the runner says what a server is for, and convert how a model is adapted"),
    "rope-scaling": Retired("one", "it belongs into --hf-overrides, under the key the model's config has", kept=True),
    "rope-theta": Retired("one", "it belongs into --hf-overrides, under the key the model's config has", kept=True),
}

RETIRED_SHORT: Mapping[str, str] = {"spec-draft-tp": "speculative-draft-tensor-parallel-size"}
