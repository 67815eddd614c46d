"""The tables against the vLLM that is installed, and migrated commands before its own parser."""

import json
import os
import shlex
import subprocess
import sys

import pytest

from labkit.preflight.legacy import migrate
from labkit.preflight.vllm_flags import KINDS, SHORT, SPECULATIVE_KEYS, SPECULATIVE_METHODS
from tests.preflight.test_legacy import ARTICLE, CALL

PROGRAM = """
import dataclasses, json, sys, typing
commands = json.loads(sys.stdin.read())
sys.argv = ["vllm", "serve"]  # its parser looks here
from vllm.config import SpeculativeConfig
from vllm.config.speculative import SpeculativeMethod
from vllm.entrypoints.launchers.cli_args import make_arg_parser
from vllm.utils.argparse_utils import FlexibleArgumentParser

parser = make_arg_parser(FlexibleArgumentParser())
actions = [(a.option_strings, type(a).__name__, a.nargs) for a in parser._actions]
parsed = [parser.parse_args(["serve", *words][1:]).speculative_config for words in commands]
print(json.dumps({
    "actions": actions, "parsed": parsed,
    "keys": [f.name for f in dataclasses.fields(SpeculativeConfig)],
    "methods": [m for m in typing.get_args(SpeculativeMethod)],
}))
"""
COMMANDS = [
    ARTICLE,
    CALL.replace("zzz=args.x, ", "").replace("DTYPE", "'auto'"),
    "vllm serve T --speculative-model [ngram] --num-speculative-tokens 4 --ngram-prompt-lookup-max 5 --swap-space 4",
    "vllm serve T --speculative_config \"{'method': 'mtp', 'num_speculative_tokens': 1, 'disable_logprobs': True}\"",
    "vllm serve T --enable-chunked-prefill True --task generate --guided-decoding-backend xgrammar --worker-use-ray "
    "--limit-mm-per-prompt image=2 --disable-mm-preprocessor-cache --disable-log-requests",
]


@pytest.fixture(scope="module")
def vllm():
    """What the installed vLLM says: its flags, keys and methods, and the speculative config of each command."""
    migrated = [shlex.split(migrate(command).command)[2:] for command in COMMANDS]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM], input=json.dumps(migrated), capture_output=True, text=True,
        timeout=300, env={**os.environ, "VLLM_PLUGINS": "", "VLLM_LOGGING_LEVEL": "ERROR"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.engine
def test_the_flags_are_those_of_the_installed_vllm(vllm):
    kinds, short = {}, {}
    for options, action, nargs in vllm["actions"]:
        names = [option[2:] for option in options if option.startswith("--")]
        if not names or action == "_HelpAction":
            continue
        alone = "alone" if action == "_StoreTrueAction" else "flag" if action == "BooleanOptionalAction" else None
        kinds[names[0]] = alone or {"+": "many", "?": "maybe", None: "one"}[nargs]
        short |= {option[1:]: names[0] for option in options if not option.startswith("--")}
    assert kinds == dict(KINDS)
    assert short == dict(SHORT)


@pytest.mark.engine
def test_the_keys_and_methods_are_those_of_the_installed_vllm(vllm):
    own = {"target_model_config", "target_parallel_config", "draft_model_config", "draft_parallel_config"}
    assert set(vllm["keys"]) - own - {"tensor_parallel_size"} == SPECULATIVE_KEYS
    assert {name for name in vllm["methods"] if not name.endswith("_mtp")} == SPECULATIVE_METHODS


@pytest.mark.engine
def test_its_parser_takes_what_was_migrated(vllm):
    assert vllm["parsed"] == [migrate(command).speculative_config or None for command in COMMANDS]
