"""Before any accelerator time is spent: what can be known from files, commands, rules and versions alone.

A command, in whatever version's words:
    shell.py, shell_reading.py     words of a shell; yaml_config.py and python_call.py the other forms
    invocation.py, arguments.py    where vLLM is started in it, and its arguments
    legacy.py                      all of it in today's words: modern.py flags, speculative.py the drafter,
                                   tidy_config.py its config; tables in retired.py and vllm_flags.py
A launch and what is known of it:
    launch.py                      what is about to be started; server_flags.py reads it from arguments
    models.py                      what a model's folder says, weights aside
    vocabulary.py                  ids and tokens of a folder's tokenizer, vocabulary_files.py the formats
    tokenizer.py                   target and draft compared id by id; pruned.py the draft vocabularies of heads
    conditions_*.py, rules.py      what a rule looks at, and what vLLM does about it (data/rules.yaml)
    check.py                       all of it for one launch: a verdict with its findings
    plan_check.py                  the same for every engine of a plan
    looking.py                     the same for a command or a preset
    presets.py                     known pairs with their commands and verdicts (data/presets/)
    own_words.py                   what an installed vLLM itself says

No vLLM, no network and no weights are needed.
"""

from labkit.preflight.check import Report, preflight
from labkit.preflight.launch import Launch
from labkit.preflight.legacy import Migration, migrate
from labkit.preflight.looking import Look, look
from labkit.preflight.plan_check import PlanCheck
from labkit.preflight.presets import Preset, load_preset, load_presets
from labkit.preflight.rules import load_rules

__all__ = [
    "Launch", "Look", "Migration", "PlanCheck", "Preset", "Report", "load_preset", "load_presets", "load_rules", "look",
    "migrate", "preflight",
]  # fmt: skip
