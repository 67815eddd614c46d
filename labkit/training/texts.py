"""The target's own answers to the training prompts: the text that drafters learn from.

Collected through a server, as everything is.  One JSON object a line, appended as answers come in, so that
a run that was stopped goes on where it was.
"""

from __future__ import annotations

import asyncio
import json
import lzma
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from labkit.config import Sampling
from labkit.engine.base import Engine
from labkit.engine.http import api_key
from labkit.errors import MeasurementError, WorkloadError
from labkit.importers import Prompt
from labkit.measure.client import Client
from labkit.measure.loop import run_sync
from labkit.repetition import NGRAM

__all__ = ["Text", "TEMPERATURES", "collect_texts", "read_texts"]

#: Each answer is drawn at one of these, chosen by its prompt's id: most text is greedy, as most figures are.
TEMPERATURES = (0.0, 0.8, 0.0, 0.8, 0.0)


@dataclass(frozen=True, kw_only=True)
class Text:
    """A prompt and the target's answer, as token ids; the prompt's hold the chat template."""

    prompt_id: str
    category: str
    temperature: float
    prompt_ids: tuple[int, ...]
    output_ids: tuple[int, ...]

    def without_loop(self) -> Text:
        """The answer up to where it begins to repeat itself: loops teach nothing but looping."""
        return Text(**{**asdict(self), "output_ids": _cut_loop(self.output_ids)})


def collect_texts(
    engine: Engine,
    prompts: Sequence[Prompt],
    path: Path,
    *,
    max_tokens: int,
    concurrency: int = 64,
    temperatures: Sequence[float] = TEMPERATURES,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Text]:
    """Answers to all ``prompts`` by their ids; those that ``path`` holds already are kept.

    Raises:
        MeasurementError: a request failed; what came before it is kept in ``path``.
    """
    _drop_cut_line(path)
    have = {text.prompt_id: text for text in read_texts(path)} if path.exists() else {}
    run_sync(_collect(engine, prompts, path, have, max_tokens, concurrency, tuple(temperatures), progress))
    return have


async def _collect(engine, prompts, path, have, max_tokens, concurrency, temperatures, progress) -> None:
    gate = asyncio.Semaphore(concurrency)
    path.parent.mkdir(parents=True, exist_ok=True)
    async with Client(engine.url, engine.info.model, api_key=api_key()) as client:

        async def one(prompt: Prompt, file) -> None:
            async with gate:
                temperature = random.Random(prompt.id).choice(temperatures)
                record = await client.ask(
                    prompt,
                    list(prompt.messages),
                    sampling=Sampling(temperature=temperature).body(),
                    max_tokens=max_tokens,
                )
            if record.error or record.prompt_token_ids is None or record.output_token_ids is None:
                raise MeasurementError(f"{prompt.id}: {record.error or 'the server sends no token ids'}")
            text = Text(
                prompt_id=prompt.id,
                category=prompt.category,
                temperature=temperature,
                prompt_ids=record.prompt_token_ids,
                output_ids=record.output_token_ids,
            )
            file.write(json.dumps(asdict(text)) + "\n")
            file.flush()
            have[prompt.id] = text
            progress(len(have), len(prompts))

        with path.open("a", encoding="utf-8") as file:
            try:
                async with asyncio.TaskGroup() as group:
                    for prompt in prompts:
                        if prompt.id not in have:
                            group.create_task(one(prompt, file))
            except ExceptionGroup as failed:  # one cause is enough to read; the others are mostly the same
                raise failed.exceptions[0] from None


def _drop_cut_line(path: Path) -> None:
    """Take away a last line that a stop cut off, else the next text would be glued to it."""
    written = path.read_bytes() if path.exists() else b""
    if written and not written.endswith(b"\n"):
        os.truncate(path, written.rfind(b"\n") + 1)


def read_texts(path: Path) -> list[Text]:
    """Texts of a file, compressed (``.xz``) or not; a last line that was cut off by a stop is left out.

    Raises:
        WorkloadError: the file is missing, or another line is broken.
    """
    if not path.exists():
        raise WorkloadError(f"no texts at {path}; give a file that 'labkit drafters train' wrote")
    data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    lines = data.decode("utf-8", errors="replace").splitlines(keepends=True)
    texts = []
    for number, line in enumerate(lines, start=1):
        try:
            fields = json.loads(line)
            ids = {name: tuple(fields.pop(name)) for name in ("prompt_ids", "output_ids")}
            texts.append(Text(**fields, **ids))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            if number == len(lines) and not line.endswith("\n"):
                break
            raise WorkloadError(f"{path}, line {number}: no text of labkit's ({error})") from None
    return texts


def _cut_loop(ids: tuple[int, ...]) -> tuple[int, ...]:
    """``ids`` without what follows the first n-gram that comes for the third time."""
    seen: dict[tuple[int, ...], int] = {}
    for end in range(NGRAM, len(ids) + 1):
        gram = ids[end - NGRAM : end]
        seen[gram] = seen.get(gram, 0) + 1
        if seen[gram] == 3:
            return ids[:end]
    return ids
