"""The demo models: a small real target, drafters trained for it, and one that cannot work.

Everything lands in a cache folder outside the checkout (``LABKIT_CACHE``, else the user's cache folder).  A
model folder appears under its final name only when it is whole, so an interrupted run leaves nothing that
looks finished.

*Names*: ``demo`` is the target, ``demo/<drafter>`` a drafter for it; they stand for folders wherever a model
is asked for.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import platformdirs
import psutil

from labkit.drafters.card import CARD
from labkit.drafters.convert import WHEEL, build_target, sha256
from labkit.drafters.package import WEIGHTS, assemble, shipped
from labkit.drafters.wrong_tokenizer import build_wrong_tokenizer
from labkit.errors import ConfigError

__all__ = ["WRONG", "cache_dir", "demo_models", "is_whole", "locate", "make_demo"]

#: A draft whose token ids mean other tokens than the target's, and the shipped draft it is made from.
WRONG, _WRONG_FROM = "demo/wrong-tokenizer", "demo/draft-2l"

_STAMP = "labkit.json"
_MAKING = ".making-"


def cache_dir() -> Path:
    """Where models are kept, outside any checkout."""
    return Path(os.environ.get("LABKIT_CACHE") or platformdirs.user_cache_dir("labkit"))


def demo_models() -> list[str]:
    """All demo names, in the order in which they are made."""
    drafts = [f"demo/{name}" for name in shipped()]
    return ["demo", *drafts, *([WRONG] if _WRONG_FROM in drafts else [])]


def locate(model: str, *, role: str = "model") -> str:
    """The folder or hub id that ``model`` stands for.

    Raises:
        ConfigError: a demo name that is unknown or not made yet, a folder that is missing or holds no
            model.
    """
    if model == "demo" or model.startswith("demo/"):
        if model not in (known := demo_models()):
            raise ConfigError(f"no {role} {model!r}; the demo has {', '.join(known)}")
        folder = _folder(model)
        if not is_whole(folder, source=_source(model)):
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


def is_whole(folder: Path, *, source: str, verify: bool = False) -> bool:
    """Whether ``folder`` is a finished demo model made from ``source``; ``verify`` also compares every hash."""
    stamp = folder / _STAMP
    if not stamp.exists():
        return False
    made = json.loads(stamp.read_text())
    if made["source"] != source or any(not (folder / name).exists() for name in made["files"]):
        return False
    return not verify or all(sha256(folder / name) == wanted for name, wanted in made["files"].items())


def make_demo(say: Callable[[str], None] = print) -> dict[str, Path]:
    """Make the demo target and its drafters where they are missing, damaged or older than what is shipped;
    returns their folders.

    Raises:
        LabError: the wheel cannot be fetched or its content is not what was published.
        ConfigError: a shipped drafter is damaged.
    """
    os.environ.setdefault("TQDM_DISABLE", "1")  # read when transformers is imported: no progress bars
    made = {}
    for model in demo_models():
        folder, source = _folder(model), _source(model)
        made[model] = folder
        if is_whole(folder, source=source, verify=True):
            say(f"{model}: already there, verified ({folder})")
            continue
        say(f"{model}: making it in {folder}")
        _install(folder, _builder(model), source)
    return made


def _builder(model: str) -> Callable[[Path], None]:
    if model == "demo":
        return build_target
    if model == WRONG:
        return partial(build_wrong_tokenizer, _folder(_WRONG_FROM))
    return partial(assemble, shipped()[model.removeprefix("demo/")], _folder("demo"))


def _source(model: str) -> str:
    """What a model is made from; another source makes the model anew."""
    if model == "demo":
        return WHEEL
    package = shipped()[(_WRONG_FROM if model == WRONG else model).removeprefix("demo/")]
    config = json.loads((package / CARD).read_text(encoding="utf-8"))["config"]
    return f"{package.name} {sha256(package / WEIGHTS)} {json.dumps(config, sort_keys=True)}"


def _folder(model: str) -> Path:
    return cache_dir() / "models" / ("demo-target" if model == "demo" else f"demo-{model.removeprefix('demo/')}")


def _install(folder: Path, build: Callable[[Path], None], source: str) -> None:
    """Build into a temporary folder beside ``folder``, stamp it, move it into place."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    _clear_interrupted(folder.parent)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{_MAKING}{os.getpid()}-") as scratch:
        new = Path(scratch) / "model"
        new.mkdir()
        build(new)
        files = {path.name: sha256(path) for path in sorted(new.iterdir())}
        (new / _STAMP).write_text(json.dumps({"source": source, "files": files}, indent=1))
        if folder.exists():
            shutil.rmtree(folder)
        new.rename(folder)


def _clear_interrupted(models: Path) -> None:
    """Remove what a killed process left half-made; the name says whose it was."""
    for left in models.glob(f"{_MAKING}*"):
        if not psutil.pid_exists(int(left.name.removeprefix(_MAKING).split("-")[0])):
            shutil.rmtree(left, ignore_errors=True)
