"""Conditions on target and draft: vocabularies, hidden states, windows, methods and their configs.

Every condition takes a Case and answers None where it does not hold, else the fields that its rule's words
name. It only measures; what vLLM does about it stands in ``data/rules.yaml``.
"""

from __future__ import annotations

from labkit.preflight.case import HEADS, READS_TARGET, Case

__all__ = ["CONDITIONS"]

Fields = dict[str, object] | None


def config_unread(case: Case) -> Fields:
    """Models of which nothing is known here."""
    names = [model.name for model in (case.target, case.draft) if model and not model.config]
    return {"models": " and ".join(names), "first": names[0]} if names else None


def vocab_size(case: Case) -> Fields:
    """A draft model with a vocabulary of another size, and no mapping between the two."""
    sizes = case.target.vocab_size, case.draft.vocab_size if case.draft else None
    if case.method != "draft_model" or None in sizes or sizes[0] == sizes[1] or case.option("use_heterogeneous_vocab"):
        return None
    padding = case.tokenizer is not None and case.tokenizer.verdict == "padding_only"
    return {"target": sizes[0], "draft": sizes[1], "why": "padding only" if padding else "other rows"}


def tokenizer_differs(case: Case) -> Fields:
    found = case.tokenizer
    if found is None or found.verdict != "incompatible" or case.option("use_heterogeneous_vocab"):
        return None
    ids = ", ".join(map(str, found.differing_ids[:8])) + (" …" if len(found.differing_ids) > 8 else "")
    return {"count": len(found.differing_ids), "ids": ids, "kind": "special " if found.only_special else "",
            "examples": "; ".join(found.examples[:2])}  # fmt: skip


def tokenizer_unread(case: Case) -> Fields:
    return {"why": case.unread} if case.unread else None


def encoding_differs(case: Case) -> Fields:
    """The ids mean the same, but text is cut differently."""
    found = case.tokenizer
    if found is None or found.verdict == "incompatible" or not found.agreement or min(found.agreement.values()) == 1:
        return None
    return {"rates": ", ".join(f"{rate:.1%} ({language})" for language, rate in found.agreement.items()),
            "parts": ", ".join(found.differing_parts) or "none"}  # fmt: skip


def heterogeneous_vocab(case: Case) -> Fields:
    """The draft's tokens are mapped onto the target's."""
    if not case.option("use_heterogeneous_vocab") or case.method != "draft_model":
        return None
    return {"differing": len(case.tokenizer.differing_ids) if case.tokenizer else "an unknown number of"}


def heterogeneous_vocab_misused(case: Case) -> Fields:
    if not case.option("use_heterogeneous_vocab"):
        return None
    sampled = case.option("draft_sample_method") or "greedy"
    if case.method == "draft_model" and sampled == "greedy":
        return None
    return {"method": case.method, "sampled": sampled}


def hidden_size(case: Case) -> Fields:
    if case.method not in HEADS or case.draft is None:
        return None
    wanted, reads = case.target.hidden_size, case.draft.reads_hidden
    return {"target": wanted, "head": reads} if wanted and reads and wanted != reads else None


def pruned_vocabulary(case: Case) -> Fields:
    """A head that proposes only some of the target's tokens."""
    pruned = case.tokenizer.pruned if case.tokenizer else None
    if not pruned or not pruned["valid"]:
        return None
    covers = pruned["covers"]
    shown = "how many of a text's tokens that covers is not known here"
    if covers:
        shown = "of the sample's tokens it covers " + ", ".join(
            f"{share:.0%} ({lang})" for lang, share in covers.items()
        )
    return {"size": pruned["draft_vocab_size"], "target": case.target.vocab_size, "shown": shown}


def pruned_vocabulary_broken(case: Case) -> Fields:
    pruned = case.tokenizer.pruned if case.tokenizer else None
    return {"why": pruned["why"]} if pruned and not pruned["valid"] else None


def window_short(case: Case) -> Fields:
    """Sequences can grow beyond what the draft was made for."""
    if case.method not in ("draft_model", *HEADS) or case.draft is None:
        return None
    window = case.option("max_model_len") or case.draft.window
    asked, served = case.launch.request_tokens, case.launch.max_model_len or case.target.window
    longest = min(filter(None, (asked, served)), default=None)
    if not window or not longest or longest + (case.k if asked else 0) <= window:
        return None
    return {"window": window, "longest": longest}


def window_option(case: Case) -> Fields:
    """The draft's window set beyond that of a model."""
    asked, served = case.option("max_model_len"), case.launch.max_model_len or case.target.window
    limits = [n for n in (served, case.draft.window if case.draft else None) if n]
    return {"asked": asked, "limit": min(limits)} if asked and limits and asked > min(limits) else None


def method_from_path(case: Case) -> Fields:
    """The draft's path makes vLLM run another method than the one asked for."""
    if case.asked == case.method:
        return None
    named = case.launch.method is not None
    if not named and case.draft is not None and case.draft.is_head:
        return None  # nobody asked, and the path says what the config says
    return {"asked": case.asked, "method": case.method, "draft": case.draft.name}


def head_as_draft_model(case: Case) -> Fields:
    if case.method != "draft_model" or case.draft is None or not case.draft.is_head:
        return None
    return {"draft": case.draft.name, "architecture": ", ".join(case.draft.architectures) or "unnamed"}


def head_architecture(case: Case) -> Fields:
    """A head whose architecture vLLM does not have for the method."""
    if case.method not in ("eagle", "eagle3") or case.draft is None or not case.draft.architectures:
        return None
    if "speculators_config" in case.draft.config:  # a format of its own, which vLLM translates
        return None
    name = case.draft.architectures[0]
    return None if name in case.lists[f"{case.method}_heads"] else {"method": case.method, "architecture": name}


def eagle3_target(case: Case) -> Fields:
    """A target that is not known to hand out its inner hidden states."""
    if case.method != "eagle3" or not case.target.architectures:
        return None
    name = case.target.architectures[0]
    return None if name in case.lists["eagle3_targets"] else {"architecture": name}


def mtp_missing(case: Case) -> Fields:
    if case.method != "mtp":
        return None
    model = case.draft or case.target
    if not model.config:
        return None
    known = {model.model_type, *model.architectures} & set(case.lists["mtp_models"])
    if known and model.mtp_layers != 0:
        return None
    return {"model": model.model_type or "unnamed", "layers": "no MTP layers" if known else "no MTP of this family"}


def mtp_indivisible(case: Case) -> Fields:
    layers = (case.draft or case.target).mtp_layers
    if case.method != "mtp" or not layers or case.k <= layers or case.k % layers == 0:
        return None
    return {"k": case.k, "layers": layers}


def mtp_beyond_depth(case: Case) -> Fields:
    layers = (case.draft or case.target).mtp_layers
    if case.method != "mtp" or not layers or case.k <= layers or case.k % layers:
        return None
    return {"k": case.k, "layers": layers}


def vocabulary_of_head(case: Case) -> Fields:
    """A head made for a vocabulary of another size."""
    sizes = case.target.vocab_size, case.draft.vocab_size if case.draft else None
    if case.method not in READS_TARGET or None in sizes or sizes[0] == sizes[1]:
        return None
    return {"target": sizes[0], "head": sizes[1]}


CONDITIONS = {
    made.__name__: made
    for made in (
        config_unread, vocab_size, tokenizer_differs, tokenizer_unread, encoding_differs, heterogeneous_vocab,
        heterogeneous_vocab_misused, hidden_size, pruned_vocabulary, pruned_vocabulary_broken, window_short,
        window_option, method_from_path, head_as_draft_model, head_architecture, eagle3_target, mtp_missing,
        mtp_indivisible, mtp_beyond_depth, vocabulary_of_head,
    )
}  # fmt: skip
