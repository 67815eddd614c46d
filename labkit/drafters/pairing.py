"""Whether model folders are whole and a draft can sit beside a target: seen from files, before vLLM starts.

Only what would otherwise end in a traceback far inside vLLM; what fits but works badly is another question.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from labkit.errors import ConfigError

__all__ = ["check_folder", "check_pair", "read_config"]

_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tekken.json", "vocab.json")
#: Methods whose draft reads the target's hidden states.
_READS_HIDDEN = ("eagle", "eagle3")


def check_folder(folder: Path, *, role: str, tokenizer: bool) -> None:
    """Raise a ConfigError if a model folder's weights are cut off or its ``tokenizer`` is missing."""
    from safetensors import SafetensorError, safe_open

    if tokenizer and not any((folder / name).exists() for name in _TOKENIZERS):
        raise ConfigError(
            f"the {role} folder {folder} has no tokenizer (none of {', '.join(_TOKENIZERS)}); "
            "put the model's own tokenizer files there"
        )
    for path in sorted(folder.glob("*.safetensors")):
        try:
            with safe_open(path, framework="numpy"):
                pass
        except (SafetensorError, OSError) as error:
            raise ConfigError(
                f"the {role}'s weights {path} are damaged or cut off ({error}); get the file again"
            ) from None


def check_pair(target: Path, draft: Path, method: str) -> None:
    """Raise a ConfigError if ``draft`` cannot draft for ``target``: damaged, or made for another hidden size."""
    check_folder(draft, role="draft", tokenizer=method == "draft_model")
    if method not in _READS_HIDDEN:
        return
    wanted, has = read_config(target).get("hidden_size"), read_config(draft)
    reads = has.get("target_hidden_size") or has.get("hidden_size")
    if wanted and reads and wanted != reads:
        raise ConfigError(
            f"the {method} head {draft} reads hidden states of size {reads}, the target {target} has {wanted}; "
            "a head works only with the target it was trained for"
        )


def read_config(folder: Path) -> dict[str, Any]:
    """config.json of a model folder.

    Raises:
        ConfigError: it is missing or no JSON.
    """
    path = folder / "config.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise ConfigError(f"{folder} has no config.json; give a folder in Hugging Face layout") from None
    except ValueError as error:
        raise ConfigError(f"{path} is no JSON: {error}") from None
