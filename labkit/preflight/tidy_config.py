"""A speculative config → the keys and values of vLLM 0.32, and remarks on what it would do with them.

Three steps, each saying what it changed: :func:`tidy` renames and drops keys, :func:`settle` resolves what does not
fit the drafter or the target, :func:`remarks` tells what the user should know of the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labkit.errors import did_you_mean
from labkit.preflight.retired import DEAD_KEYS, RENAMED
from labkit.preflight.vllm_flags import SPECULATIVE_KEYS, SPECULATIVE_METHODS, VERSION, method_in_path

if TYPE_CHECKING:
    from labkit.preflight.speculative import Speculation

__all__ = ["remarks", "settle", "tidy"]

#: Names that stood or still stand for keys: the flags of earlier versions, and slips vLLM itself warns of.
_KEY_NAMES = {flag.replace("-", "_"): key for flag, key in RENAMED.items()}
_KEY_NAMES |= {"tensor_parallel_size": "draft_tensor_parallel_size"}
_NGRAM = ("ngram", "ngram_gpu")
_LOOKUP = {"prompt_lookup_max", "prompt_lookup_min"}
_OF_A_DRAFT = {"draft_tensor_parallel_size", "max_model_len", "quantization"}
_TP = "draft_tensor_parallel_size"


def tidy(made: Speculation) -> None:
    """Rename and drop keys, settle ngram and MTP names, and leave speculation out at K = 0."""
    _keys(made)
    _method(made)
    k = made.config.get("num_speculative_tokens")
    if not isinstance(k, bool) and k in (0, "0"):
        made.config = {}
        made.change("speculation left out: num_speculative_tokens 0 is the baseline, and vLLM refuses it as a number")


def settle(made: Speculation, given: Mapping[str, str], target_tp: int | None) -> None:
    """Leave out what does not fit the drafter or the target, and write out what earlier versions took for granted.
    ``given``: the flag of an earlier version that a key came from."""
    for key, why in _conflicts(made.config, given.keys()).items():
        _drop(made, key, why, given)
    if why := _wrong_parallelism(made.config, target_tp):
        _drop(made, _TP, why, given)
    if made.config.get("method") in _NGRAM and "prompt_lookup_max" in given and "prompt_lookup_min" not in made.config:
        made.config["prompt_lookup_min"] = 1
        made.change(
            '"prompt_lookup_min":1 written out: that is what versions with this flag took where none was given; vLLM '
            f"{VERSION} would look for prompt_lookup_max tokens exactly"
        )


def remarks(config: dict[str, Any], target_tp: int | None) -> list[str]:
    """What the user should know of a config that is otherwise translated."""
    found = []
    model, method = config.get("model"), config.get("method")
    if not model and not method:
        found.append("no drafter is named: vLLM refuses num_speculative_tokens without a model or a method")
    if "num_speculative_tokens" not in config:
        found.append("num_speculative_tokens is not given; vLLM takes it from the draft's config or ends, so name it")
    if method in _NGRAM and "prompt_lookup_max" in config and "prompt_lookup_min" not in config:
        found.append(
            f"prompt_lookup_min is not given: vLLM {VERSION} takes prompt_lookup_max for it, though its documentation "
            "says 1; name it"
        )
    if model and not method and not _plain_draft(config):
        found.append('vLLM guesses the method from the draft\'s folder or config; say it with "method"')
    if _TP in config and target_tp is None and _plain_draft(config):
        found.append(
            f"{_TP} kept: the target's tensor-parallel size cannot be read here, and vLLM {VERSION} refuses a draft "
            "model with another"
        )
    return found


def _keys(made: Speculation) -> None:
    given, made.config = made.config, {}
    for key, value in given.items():
        name = key.replace("-", "_")  # vLLM takes both
        if (today := _KEY_NAMES.get(name, name)) != name and today not in given:
            made.change(f"{key!r} in the speculative config → {today!r}, its name in vLLM {VERSION}")
            made.config[today] = value
        elif today != name:
            made.change(f"{key!r} in the speculative config dropped: {today!r} is there and is its name now")
        elif name in DEAD_KEYS:
            made.change(f"{key!r} in the speculative config dropped: {DEAD_KEYS[name]}")
        else:
            made.config[key] = value
            if name not in SPECULATIVE_KEYS:
                made.errors.append(
                    f"unknown key {key!r} in the speculative config, on which vLLM {VERSION} ends with an error"
                    + did_you_mean(name, SPECULATIVE_KEYS)
                )


def _method(made: Speculation) -> None:
    config = made.config
    model, method = config.get("model"), config.get("method")
    if model in ("ngram", "[ngram]") and method in (None, "ngram", "[ngram]"):
        made.config = {"method": "ngram"} | {k: v for k, v in config.items() if k not in ("model", "method")}
        made.change(f'model {model!r} → "method":"ngram", which drafts without a model')
    elif method == "[ngram]":
        config["method"] = "ngram"
        made.change("method '[ngram]' → \"ngram\", its name without the brackets")
    elif isinstance(method, str) and method.endswith("_mtp"):
        config["method"] = "mtp"
        made.change(f'method {method!r} → "mtp", one name for every model\'s own heads; the old ones are deprecated')
    elif isinstance(method, str) and "$" not in method and method not in SPECULATIVE_METHODS:
        made.errors.append(
            f"unknown method {method!r}, on which vLLM {VERSION} ends with an error"
            + did_you_mean(method, SPECULATIVE_METHODS)
        )


def _conflicts(config: Mapping[str, Any], from_flags: set[str]) -> dict[str, str]:
    """Keys from flags that earlier versions ignored beside this drafter, and why."""
    if not (config.get("model") or config.get("method")):
        why = "no drafter is named, so nothing was speculated"
        unfit = set() if "num_speculative_tokens" in config else set(config)
    elif config.get("method") in _NGRAM:
        why, unfit = "ngram drafts without a model of its own", _OF_A_DRAFT
    else:
        why, unfit = "an ngram key conflicts with a model, which drafts by itself", _LOOKUP
    return {key: why for key in config if key in unfit and key in from_flags}


def _wrong_parallelism(config: Mapping[str, Any], target_tp: int | None) -> str:
    """Why vLLM refuses the draft's tensor-parallel size beside the target's; empty where it takes it, or where
    either is not known."""
    size = config.get(_TP)
    if not isinstance(size, int) or target_tp is None or size == target_tp or not config.get("model"):
        return ""
    if _plain_draft(config):
        return (
            f"vLLM {VERSION} ends with an error unless a draft model runs on as many GPUs as the target (here {size} "
            f"and {target_tp}); left out, it does"
        )
    return (
        "" if size == 1 else f"vLLM {VERSION} takes 1 or the target's {target_tp} alone; left out, it is the target's"
    )


def _plain_draft(config: Mapping[str, Any]) -> bool:
    """Whether the drafter is a whole model, as far as a command tells: heads are told by method or by name."""
    name = str(config.get("model") or "").lower()
    by_name = method_in_path(name) or any(part in name for part in ("eagle", "medusa", "mtp", "speculator"))
    return bool(name) and (config.get("method") == "draft_model" or (not config.get("method") and not by_name))


def _drop(made: Speculation, key: str, why: str, given: Mapping[str, str]) -> None:
    """Leave ``key`` out; the note that a flag had become it goes too."""
    del made.config[key]
    flag = given.get(key)
    made.notes = [note for note in made.notes if not flag or not note.startswith(f'{flag} → "{key}"')]
    made.change(f"{flag or repr(key)} dropped: {why}")
