"""papermill's way of running a notebook, with deadlines and with no secret in what it stores or echoes.

papermill may save the notebook at any moment, so what a cell shows is clean before it is kept. A stream is one output
from its first piece on: a secret that was printed in two pieces is looked for in the whole.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import Any, TextIO

import nbformat
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import Engine, papermill_engines

from labkit.errors import ConfigError
from labkit.view.leaks import Pieces, Secrets
from labkit.view.readable import last_state

__all__ = ["ENGINE", "NOT_OURS", "Echo", "Limits", "Watch"]

#: The name under which papermill knows the engine of this module.
ENGINE = "labkit"
#: Tags of the cells that papermill puts into its copy of a notebook.
NOT_OURS = {"injected-parameters", "papermill-error-cell-tag"}
_LATE_OUTPUT = 60  # seconds that outputs may come after the end of their cell
_SILENT = logging.getLogger("labkit.notebook")  # what went wrong is raised, and said once
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Deadlines in seconds: for the kernel to start, for one cell, for the whole notebook."""

    start: int = 120
    cell: float = 6 * 3600
    whole: float = 12 * 3600

    def __post_init__(self) -> None:
        for name in ("start", "cell", "whole"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"the limit of {name} must be above 0 seconds; got {getattr(self, name)}")


class Watch:
    """How far an execution came, and when it must end."""

    def __init__(self, limits: Limits, secrets: Secrets) -> None:
        self.limits, self.secrets = limits, secrets
        self.place = 0  # of the running cell in the source, from 1; 0 before any
        self._end = time.monotonic() + limits.whole

    def seconds(self) -> float:
        """What the cell that starts now may take."""
        return max(0.001, min(self.limits.cell, self._end - time.monotonic()))

    def passed(self) -> str:
        if time.monotonic() >= self._end:
            return f"it took longer than {self.limits.whole:g} s (--limit), and was in cell {self.place}"
        return f"cell {self.place} took longer than {self.limits.cell:g} s (--cell-limit)"


class Echo:
    """Hands what is printed on, by whole lines."""

    def __init__(self, to: TextIO, secrets: Secrets) -> None:
        self._to, self._pieces = to, Pieces(secrets)

    def write(self, text: str) -> None:
        self._to.write(self._pieces.add(text))

    def flush(self) -> None:
        self._to.flush()

    def end(self) -> None:
        self._to.write(self._pieces.rest)
        self.flush()


class _Stream:
    """One stream of a cell: ``output`` holds all that came of it, of lines that were written over the last state."""

    def __init__(self, name: str, secrets: Secrets) -> None:
        self.output = nbformat.v4.new_output("stream", name=name, text="")
        self._done, self._line, self._pieces = "", "", Pieces(secrets)

    def add(self, piece: str) -> None:
        *lines, line = (self._line + self._pieces.add(piece)).split("\n")
        self._done += "".join(f"{last_state(line)}\n" for line in lines)
        self._line = last_state(line)
        self.output.text = self._done + self._line + self._pieces.rest


class _Client(PapermillNotebookClient):
    def __init__(self, manager: Any, watch: Watch, **options: Any) -> None:
        self._watch = watch
        self._streams: dict[str, _Stream] = {}
        super().__init__(manager, timeout_func=self._starts, iopub_timeout=_LATE_OUTPUT, **options)

    def _starts(self, cell: nbformat.NotebookNode) -> float:
        """nbclient asks for the deadline of a cell when it starts it."""
        ours = [c for c in self.nb.cells if not NOT_OURS & set(c.metadata.get("tags", ()))]
        self._watch.place = next((i for i, own in enumerate(ours, 1) if own is cell), self._watch.place)
        return self._watch.seconds()

    def process_message(self, msg: dict[str, Any], *args: Any, **options: Any) -> Any:
        if msg["msg_type"] != "stream":  # a piece of a stream is no whole
            msg = msg | {"content": self._watch.secrets.clean_output(msg["content"])}
        return super().process_message(msg, *args, **options)

    def output(self, outs: list[nbformat.NotebookNode], *args: Any, **options: Any) -> nbformat.NotebookNode | None:
        """Keep what was shown; returns it as it came, for the echo."""
        shown = super().output(outs, *args, **options)
        if shown is not None and shown.output_type == "stream":
            outs.pop()
            stream = self._streams.get(shown.name)
            if stream is None or not any(kept is stream.output for kept in outs):  # another cell, or cleared
                stream = self._streams[shown.name] = _Stream(shown.name, self._watch.secrets)
                outs.append(stream.output)
            stream.add(shown.text)
        return shown


class _Engine(Engine):
    """papermill's own engine with the client above."""

    @classmethod
    def execute_managed_notebook(cls, manager: Any, kernel_name: str, **options: Any) -> None:
        client = _Client(
            manager, options["watch"], kernel_name=kernel_name, startup_timeout=options["start_timeout"],
            store_widget_state=options["store_widget_state"], stdout_file=options["stdout_file"], log=_SILENT,
        )  # fmt: skip
        client.execute()


papermill_engines.register(ENGINE, _Engine)
