"""Train one drafter from nothing to a folder that vLLM serves; every stage goes on where a stop left it.

texts (through a server) → features (one pass of the target) → training → package with its card → model
folder.  Everything lies in one folder: ``texts.jsonl``, ``held_out.jsonl``, ``features/``, ``checkpoint.pt``,
``package/`` and ``model/``.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig

from labkit.config import Drafter, EngineConfig, SpecConfig, digest
from labkit.drafters.card import Card
from labkit.drafters.package import assemble, write_package
from labkit.engine import launch
from labkit.errors import ConfigError, WorkloadError
from labkit.importers import Prompt
from labkit.paths import DATA
from labkit.plan import Plan, WorkloadSpec
from labkit.training.batches import Batches
from labkit.training.describe import describe, package_tensors
from labkit.training.eagle import Eagle3Head
from labkit.training.evaluate import agreement
from labkit.training.features import Features, device, extract, fast_bfloat16
from labkit.training.fit import Schedule, fit
from labkit.training.plan import DEPTHS, MIN_ANSWER, Training, check_size, checked_target
from labkit.training.prompts import training_prompts
from labkit.training.small_draft import SmallDraft
from labkit.training.teacher import Teacher, choose_vocabulary
from labkit.training.texts import TEMPERATURES, Text, collect_texts, read_texts
from labkit.workloads import load_workload

__all__ = ["Trained", "serving_plan", "train"]

#: The learning curve: how many points, drawn from how many held-out texts; the card's figures use all texts.
CURVE_POINTS, CURVE_TEXTS = 12, 60
USERS = 96
#: Length of the answers in ``data/training/*.jsonl.xz``.
SHIPPED_MAX_TOKENS = 192


@dataclass(frozen=True, kw_only=True)
class Trained:
    """``model``: the folder vLLM loads; ``package``: the small form; ``history``: a row a step."""

    card: Card
    package: Path
    model: Path
    history: list[dict[str, Any]]


def train(
    asked: Training,
    folder: str | Path,
    *,
    texts_from: str | Path | None = None,
    say: Callable[[str], None] = print,
    seen: Callable[[dict[str, Any]], None] = lambda row: None,
) -> Trained:
    """Train what is ``asked`` in ``folder``, or go on there; ``texts_from`` is another training's folder whose
    texts and features are used, and added to where some are missing. ``seen`` is called with every row of the
    history.

    Raises:
        ConfigError: the target has no tokenizer or is no Llama-like model, or ``folder`` holds another training.
        WorkloadError: no answer is long enough.
        LabError: the engine that writes the texts fails.
    """
    folder, target = Path(folder), checked_target(asked.target)
    check_size(asked, target)
    _claim(folder, asked)
    data = _same_target(Path(texts_from), asked) if texts_from else folder
    texts = _collect(asked, data / "texts.jsonl", _wanted(asked), TEMPERATURES, say)
    unseen_texts = _collect(asked, data / "held_out.jsonl", _held_out(asked), (0.0,), say)
    say(f"reading the target's hidden states on {len(texts)} texts")
    features = extract(texts, target, data / "features")
    unseen = extract(unseen_texts, target, data / "features-held-out")
    torch.manual_seed(asked.seed)
    model, vocabulary = _model(asked, target, features)
    batches = Batches(features, batch_tokens=asked.batch_tokens, seed=asked.seed)
    schedule = Schedule(steps=max(1, round(asked.epochs * len(batches))))
    say(f"training on {device()}: {schedule.steps} steps, {len(features.answer_tokens)} answer tokens an epoch")
    few = np.unique(np.linspace(0, len(unseen) - 1, CURVE_TEXTS).astype(int))
    history = fit(
        model,
        batches,
        schedule,
        checkpoint=folder / "checkpoint.pt",
        key=digest(asdict(asked), features.key),
        evaluate=lambda: asdict(agreement(model, unseen, depths=DEPTHS, texts=few)),
        evaluate_every=max(1, schedule.steps // CURVE_POINTS),
        seen=seen,
    )
    card = describe(
        asked, target, model, vocabulary=vocabulary, features=features, held_out=unseen,
        held_out_texts=unseen_texts, history=history, name=folder.name,
    )  # fmt: skip
    write_package(folder / "package", card, package_tensors(model, vocabulary))
    shutil.rmtree(folder / "model", ignore_errors=True)
    (folder / "model").mkdir()
    assemble(folder / "package", target, folder / "model")
    return Trained(card=card, package=folder / "package", model=folder / "model", history=history)


def serving_plan(trained: Trained, *, k: Sequence[int] = (1, 3), per_category: int = 2, max_tokens: int = 64) -> Plan:
    """A plan that serves a trained drafter beside the baseline, on measured prompts, greedy, one user."""
    drafter = Drafter(method=trained.card.method, model=str(trained.model.resolve()), name=trained.card.name)
    return Plan(
        name="just-trained",
        engine=EngineConfig(target=trained.card.target),
        drafters=(drafter,),
        k=tuple(k),
        workload=WorkloadSpec(per_category=per_category, max_tokens=max_tokens),
        blocks=1,
    )


def _claim(folder: Path, asked: Training) -> None:
    """Make ``folder`` the place of this training, or find that it is."""
    mark, wanted = folder / "training.json", json.loads(json.dumps(asdict(asked)))
    if mark.exists() and (there := json.loads(mark.read_text())) != wanted:
        changed = [f"{key} is {there.get(key)!r}, not {new!r}" for key, new in wanted.items() if there.get(key) != new]
        raise ConfigError(f"{folder} holds another training: {'; '.join(changed)}; give another --out")
    folder.mkdir(parents=True, exist_ok=True)
    mark.write_text(json.dumps(wanted, indent=1))


def _same_target(texts_from: Path, asked: Training) -> Path:
    """``texts_from``, if it is a training's folder for the same target."""
    mark = texts_from / "training.json"
    if not mark.exists():
        raise ConfigError(f"{texts_from} is no training's folder (it has no training.json); give another --texts")
    if (there := json.loads(mark.read_text())["target"]) != asked.target:
        raise ConfigError(f"the texts of {texts_from} were written by {there!r}, not by {asked.target!r}")
    return texts_from


def _wanted(asked: Training) -> tuple[Prompt, ...]:
    return training_prompts(asked.per_category, seed=asked.seed)


def _held_out(asked: Training) -> tuple[Prompt, ...]:
    return load_workload(WorkloadSpec(per_category=asked.held_out, max_tokens=asked.max_tokens)).prompts


def _collect(asked, path, prompts, temperatures, say) -> list[Text]:
    """The target's answers, without their loops; an engine is started only where some are missing."""
    have = _shipped(asked, path.name)
    have |= {text.prompt_id: text for text in read_texts(path)} if path.exists() else {}
    if any(prompt.id not in have for prompt in prompts):
        say(f"the target writes {len(prompts)} texts ({path})")
        args = ("--dtype", "bfloat16") if device() == "cpu" and fast_bfloat16() else ()
        config = EngineConfig(target=asked.target, max_num_seqs=USERS, args=args)
        with launch(config, SpecConfig(k=0), log_path=path.with_name("engine.log")) as engine:
            missing = [prompt for prompt in prompts if prompt.id not in have]
            have |= collect_texts(
                engine, missing, path, max_tokens=asked.max_tokens, concurrency=USERS, temperatures=temperatures
            )
    texts = [have[prompt.id].without_loop() for prompt in prompts]
    if kept := [text for text in texts if len(text.output_ids) >= MIN_ANSWER]:
        return kept
    raise WorkloadError(f"no answer in {path} has {MIN_ANSWER} tokens; drafters cannot learn from this target")


def _shipped(asked: Training, name: str) -> dict[str, Text]:
    """The demo target's answers that come with labkit, by prompt."""
    path = DATA / "training" / f"{name}.xz"
    if asked.target != "demo" or asked.max_tokens != SHIPPED_MAX_TOKENS or not path.exists():
        return {}
    return {text.prompt_id: text for text in read_texts(path)}


def _model(asked: Training, target: Path, features: Features) -> tuple[torch.nn.Module, np.ndarray | None]:
    config = AutoConfig.from_pretrained(target)
    if asked.method == "draft_model":
        picked = np.linspace(0, config.num_hidden_layers - 1, asked.draft_layers).round().astype(int)
        teacher = Teacher(target, eps=config.rms_norm_eps)
        return SmallDraft(target, teacher, layers=picked, intermediate_size=asked.intermediate_size).to(device()), None
    vocabulary = choose_vocabulary(features.answer_tokens, coverage=asked.coverage)
    teacher = Teacher(target, vocabulary, eps=config.rms_norm_eps)
    return Eagle3Head(config, len(features.layers), teacher, depths=DEPTHS).to(device()), vocabulary
