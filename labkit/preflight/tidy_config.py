"""A speculative config → the keys and values of vLLM 0.32, and remarks on what it would do with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labkit.errors import did_you_mean
from labkit.preflight.retired import DEAD_KEYS, RENAMED
from labkit.preflight.vllm_flags import SPECULATIVE_KEYS, SPECULATIVE_METHODS, VERSION

if TYPE_CHECKING:
    from labkit.preflight.speculative import Speculation

__all__ = ["remarks", "tidy"]

#: Names that stood or still stand for keys: the flags of earlier versions, and slips vLLM itself warns of.
_KEY_NAMES = {flag.replace("-", "_"): key for flag, key in RENAMED.items()}
_KEY_NAMES |= {"tensor_parallel_size": "draft_tensor_parallel_size"}


def tidy(made: Speculation) -> None:
    """Rename and drop keys, settle ngram and MTP names, and leave speculation out at K = 0."""
    _keys(made)
    _method(made)
    k = made.config.get("num_speculative_tokens")
    if not isinstance(k, bool) and k in (0, "0"):
        made.config = {}
        made.change("speculation left out: num_speculative_tokens 0 is the baseline, and vLLM refuses it as a number")


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
                made.notes.append(
                    f"{key!r} in the speculative config kept, but vLLM {VERSION} ends with an error on unknown keys"
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
        made.change("method '[ngram]' → \"ngram\"; vLLM refuses the brackets")
    elif isinstance(method, str) and method.endswith("_mtp"):
        config["method"] = "mtp"
        made.change(f'method {method!r} → "mtp", one name for every model\'s own heads; the old ones are deprecated')
    elif isinstance(method, str) and "$" not in method and method not in SPECULATIVE_METHODS:
        made.notes.append(
            f"method {method!r} kept, but vLLM {VERSION} ends with an error on it"
            + did_you_mean(method, SPECULATIVE_METHODS)
        )


def remarks(config: dict[str, Any], target_tp: int | None) -> list[str]:
    """What the user should know of a config that is otherwise translated."""
    found = []
    model, method = config.get("model"), config.get("method")
    if not model and not method:
        found.append("no drafter is named: vLLM refuses num_speculative_tokens without a model or a method")
    if "num_speculative_tokens" not in config:
        found.append("num_speculative_tokens is not given; vLLM takes it from the draft's config or ends, so name it")
    if method == "ngram" and "prompt_lookup_max" in config and "prompt_lookup_min" not in config:
        found.append(
            "prompt_lookup_min is not given: earlier versions took 1, vLLM now takes prompt_lookup_max; add "
            '"prompt_lookup_min":1 to draft from short matches as before'
        )
    name = str(model).lower()
    if not method and any(word in name for word in ("eagle", "medusa", "mtp", "dflash", "dspark")):
        found.append('vLLM guesses the method from the draft\'s folder; say it with "method"')
    return found + _parallelism(config, target_tp, named=bool(method), name=name)


def _parallelism(config: dict[str, Any], target_tp: int | None, *, named: bool, name: str) -> list[str]:
    size = config.get("draft_tensor_parallel_size")
    plain_draft = config.get("method") == "draft_model" or (not named and "eagle" not in name)
    if not isinstance(size, int) or target_tp is None or size == target_tp or not config.get("model"):
        return []
    if plain_draft:
        return [
            f"draft_tensor_parallel_size {size} kept, but a draft model must run at the target's tensor-parallel size "
            f"{target_tp} in vLLM {VERSION}, which otherwise ends with an error: leave it out or set {target_tp}"
        ]
    if size != 1:
        return [f"draft_tensor_parallel_size {size} kept, but vLLM {VERSION} takes 1 or the target's {target_tp} alone"]
    return []
