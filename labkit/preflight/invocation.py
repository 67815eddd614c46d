"""Where in a command vLLM is started, and what its arguments are.

Understood are ``vllm serve`` (and vLLM's other commands), ``python -m`` with vLLM's modules, and
``docker run … IMAGE …``, each behind whatever stands in front: variables, ``nohup``, ``srun``, a container engine.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from labkit.preflight.arguments import read_arguments
from labkit.preflight.shell import Word
from labkit.preflight.vllm_flags import VERSION

__all__ = ["Invocation", "find_invocation", "image_invocation"]

_COMMANDS = {"serve", "bench", "chat", "complete", "run-batch", "snapshot", "launch"}
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*(?:\.exe)?|py")
_ENGINES = {"docker", "podman", "nerdctl"}
#: Options of ``docker run`` without a value; every other one has one.
_ALONE = {
    "--detach", "--interactive", "--tty", "--rm", "--privileged", "--init", "--read-only", "--publish-all", "--quiet",
    "--no-healthcheck", "--oom-kill-disable", "--sig-proxy", "--disable-content-trust", "--replace", "--rmi",
    "--tls-verify", "--no-hosts", "--env-host", "--http-proxy", "--help",
}  # fmt: skip
_VARIABLES = {
    "VLLM_USE_V1": "there is one engine now, and the variable is gone",
    "VLLM_ATTENTION_BACKEND": "the variable is gone; today's way is --attention-backend",
}


@dataclass(frozen=True, kw_only=True)
class Invocation:
    """``program`` as it is written today. ``serves``: its arguments are those of the server, so that unknown ones
    can be told; ``model_first``: it takes the model as a positional, not as ``--model``."""

    before: tuple[Word, ...]
    program: tuple[Word, ...]
    arguments: tuple[Word, ...]
    serves: bool = True
    model_first: bool = True
    notes: tuple[str, ...] = ()


def find_invocation(words: Sequence[Word]) -> Invocation | None:
    """The launch in one command, if it starts vLLM itself."""
    for at, word in enumerate(words):
        if _base(word) in ("vllm", "vllm.exe") and _text(words, at + 1) in _COMMANDS:
            return _launch(words, at, words[at : at + 2], at + 2)
        if word.text == "-m" and _text(words, at + 1).split(".")[0] == "vllm":
            return _module(words, at)
    return None


def image_invocation(words: Sequence[Word]) -> Invocation | None:
    """The launch by an image's own entry point: ``docker run … IMAGE --model …``."""
    at = _image(words)
    if at is None:
        return None
    image, following, first = words[at].text, words[at + 1 :], _text(words, at + 1)
    serves = "vllm" in image.lower() or first == "serve" or any(a.name == "model" for a in read_arguments(following))
    if not serves or re.fullmatch(r"(?:.*/)?(?:ba|da|z)?sh|-l?c", first):
        return None
    serve = following[:1] if first == "serve" else ()
    old = re.search(r":v?0\.([0-9]{1,4})", image)
    earlier = bool(old) and int(old[1]) < int(VERSION.split(".")[1])
    note = f"the image {image} holds an earlier vLLM than {VERSION}, which this command is for; take a newer tag"
    return _launch(words, at + 1, serve, at + 1 + len(serve), model_first=bool(serve), notes=[note] if earlier else [])


def _launch(
    words: Sequence[Word],
    start: int,
    program: Sequence[Word],
    end: int,
    *,
    serves: bool | None = None,
    model_first: bool = True,
    notes: Sequence[str] = (),
) -> Invocation:
    serves = serves if serves is not None else (not program or program[-1].text == "serve")
    return Invocation(
        before=tuple(words[:start]), program=tuple(program), arguments=tuple(words[end:]), serves=serves,
        model_first=model_first and serves, notes=(*notes, *_of_variables(words[:start])),
    )  # fmt: skip


def _module(words: Sequence[Word], at: int) -> Invocation:
    module = words[at + 1].text
    start = at
    while start and words[start - 1].text.startswith("-"):  # python -u -m
        start -= 1
    if not start or not _PYTHON.fullmatch(_base(words[start - 1])):  # docker run --entrypoint python3 IMAGE -m …
        return _launch(words, at, words[at : at + 2], at + 2, serves=module.endswith("server"), model_first=False)
    python = words[start - 1].text
    vllm = Word(text="vllm")
    if module in ("vllm", "vllm.entrypoints.cli.main") and _text(words, at + 2) in _COMMANDS:
        note = f"{python} -m {module} → vllm, its own command"
        return _launch(words, start - 1, (vllm, words[at + 2]), at + 3, notes=[note])
    if not module.endswith("server"):
        return _launch(words, start - 1, words[start - 1 : at + 2], at + 2, serves=False)
    note = f"{python} -m {module} → vllm serve, the server's command; it runs in the environment of that Python"
    if module.count(".") == 2:
        note = f"{python} -m {module} → vllm serve: the demonstration server is gone, this one speaks OpenAI's protocol"
    return _launch(words, start - 1, (vllm, Word(text="serve")), at + 2, notes=[note])


def _image(words: Sequence[Word]) -> int | None:
    """Where the image stands in ``docker run [options] IMAGE …``."""
    engine = next((i for i, word in enumerate(words) if _base(word) in _ENGINES), None)
    run = next((i for i, word in enumerate(words) if engine is not None and i > engine and word.text == "run"), None)
    if run is None:
        return None
    at = run + 1
    while at < len(words) and words[at].text.startswith("-"):
        option = words[at].text
        bundle = re.fullmatch(r"-[ditPq]+", option)
        attached = "=" in option or (not option.startswith("--") and len(option) > 2)
        at += 1 if bundle or attached or option in _ALONE else 2
    return at if at < len(words) else None


def _of_variables(before: Sequence[Word]) -> list[str]:
    named = [re.match(r"(?:-e|--env=)?([A-Z][A-Z0-9_]*)=", word.text) for word in before]
    names = [found[1] for found in named if found]
    return [f"{name} kept, but it has no effect: {_VARIABLES[name]}" for name in names if name in _VARIABLES]


def _text(words: Sequence[Word], at: int) -> str:
    return words[at].text if at < len(words) else ""


def _base(word: Word) -> str:
    return re.split(r"[/\\]", word.text)[-1]
