"""Launch commands of every kind and version, and properties that hold for any text."""

import contextlib
import json
import re
import shlex
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.errors import ConfigError
from labkit.preflight.legacy import migrate
from labkit.preflight.retired import DEAD_FLAGS, RENAMED, RETIRED
from labkit.preflight.vllm_flags import KINDS

ARTICLE = """\
# 启动 vLLM 服务，开启投机解码
python3 -m vllm.entrypoints.openai.api_server \\
    # 目标模型
    --model /models/Qwen2.5-72B-Instruct \\
    --tensor-parallel-size 4 \\
    --gpu-memory-utilization 0.90 \\
    # 草稿模型：必须与目标模型使用同一个 tokenizer（don't mix）
    --speculative-model /models/Qwen2.5-0.5B-Instruct \\
    --num-speculative-tokens 5 \\
    # 草稿模型的张量并行
    --speculative-draft-tensor-parallel-size 1 \\
    --use-v2-block-manager \\
    --port 8000
"""


def config_in(command):
    """The speculative config as a shell and vLLM would read it from the command."""
    words = shlex.split(command)
    return json.loads(words[words.index("--speculative-config") + 1])


def said(made, *words):
    return any(all(word in note for word in words) for note in made.notes)


def test_the_command_of_the_article():
    made = migrate(ARTICLE)
    assert shlex.split(made.command)[:-4] == [
        "vllm", "serve", "/models/Qwen2.5-72B-Instruct", "--tensor-parallel-size", "4",
        "--gpu-memory-utilization", "0.90",
    ]  # fmt: skip
    assert made.command.endswith("--port 8000")
    drafter = {"model": "/models/Qwen2.5-0.5B-Instruct", "num_speculative_tokens": 5}
    assert config_in(made.command) == made.speculative_config == drafter
    assert shlex.join(shlex.split(made.command)) == made.command
    assert said(made, "--use-v2-block-manager dropped", "block manager")
    assert said(made, "vllm serve", "python3 -m vllm.entrypoints.openai.api_server")
    dropped = "--speculative-draft-tensor-parallel-size dropped: vLLM 0.32 ends with an error unless a draft model runs"
    assert said(made, dropped, "(here 1 and 4); left out, it does")
    assert not said(made, "draft_tensor_parallel_size")
    assert made.errors == ()
    assert migrate(made.command).command == made.command
    in_one_line = " ".join(re.sub(r"#[^\n]*|\\", "", ARTICLE).split())
    assert migrate(in_one_line).command == made.command


@pytest.mark.parametrize(
    ("flags", "size"),
    [
        ("-tp 4 --speculative-draft-tensor-parallel-size 4", 4),
        ("--speculative-draft-tensor-parallel-size 1", 1),
        ("-tp 4 --speculative-draft-tensor-parallel-size 1", None),
        ("-tp 4 --speculative-draft-tensor-parallel-size 2", None),
        ("-tp $N --speculative-draft-tensor-parallel-size 1", 1),
    ],
)
def test_the_drafts_parallelism_is_kept_where_vllm_takes_it(flags, size):
    """A draft model runs on as many GPUs as the target (vllm/v1/spec_decode/draft_model.py)."""
    made = migrate(f"vllm serve T {flags} {LEGACY}")
    assert made.speculative_config.get("draft_tensor_parallel_size") == size
    assert said(made, "-size dropped: ") is (size is None)
    assert said(made, "cannot be read here") is ("$N" in flags)


@pytest.mark.parametrize(("size", "kept"), [(1, True), (4, True), (2, False)])
def test_a_heads_parallelism_is_one_or_the_targets(size, kept):
    config = {"method": "eagle3", "model": "D", "num_speculative_tokens": 3, "draft_tensor_parallel_size": size}
    made = migrate(speculating(json.dumps(config), "-tp", "4"))
    assert ("draft_tensor_parallel_size" in made.speculative_config) is kept
    assert said(made, "'draft_tensor_parallel_size' dropped: vLLM 0.32 takes 1 or the target's 4 alone") is not kept


def test_the_command_of_the_field_notes():
    made = migrate(
        "vllm serve T --speculative-model D --num-speculative-tokens 4 --speculative-draft-tensor-parallel-size 1 "
        "--ngram-prompt-lookup-max 5 --use-v2-block-manager"
    )
    config = '{"model":"D","num_speculative_tokens":4,"draft_tensor_parallel_size":1}'
    assert made.command == f"vllm serve T --speculative-config '{config}'"
    assert said(made, "--use-v2-block-manager dropped", "block manager")
    assert said(made, "--ngram-prompt-lookup-max dropped", "ngram key conflicts with a model")


LEGACY = "--speculative-model D --num-speculative-tokens 3"
CONFIG = {"model": "D", "num_speculative_tokens": 3}
JSON = """--speculative-config '{"model":"D","num_speculative_tokens":3}'"""


@pytest.mark.parametrize(
    ("command", "migrated"),
    [
        (f"vllm serve T {LEGACY}", f"vllm serve T {JSON}"),
        (f"vllm serve --model T {LEGACY}", f"vllm serve T {JSON}"),
        (f"vllm serve {LEGACY} --model=T", f"vllm serve T {JSON}"),
        (f"python -m vllm.entrypoints.openai.api_server --model T {LEGACY}", f"vllm serve T {JSON}"),
        (f"/opt/v/bin/python3.11 -u -m vllm.entrypoints.api_server --model T {LEGACY}", f"vllm serve T {JSON}"),
        (f"python -m vllm.entrypoints.cli.main serve T {LEGACY}", f"vllm serve T {JSON}"),
        (f"A=1 B='x y' vllm serve T {LEGACY}", f"A=1 B='x y' vllm serve T {JSON}"),
        (f"nohup vllm serve T {LEGACY} > log.txt 2>&1 &", f"nohup vllm serve T {JSON} > log.txt 2>&1 &"),
        (f"cd /x && vllm serve T {LEGACY} | tee log", f"cd /x && vllm serve T {JSON} | tee log"),
        (f"--model T {LEGACY}", f"vllm serve T {JSON}"),
        ("vllm serve T --speculative_model D --num_speculative_tokens=3", f"vllm serve T {JSON}"),
        ("vllm serve T --num-speculative-tokens 3 --speculative-model D", f"vllm serve T {JSON}"),
        ("vllm serve T --spec-model D --num-speculative-tokens 3", f"vllm serve T {JSON}"),
        (f"vllm bench latency --model T {LEGACY}", f"vllm bench latency --model T {JSON}"),
        (f"$ vllm serve T {LEGACY}", f"vllm serve T {JSON}"),
        (f"!vllm serve T {LEGACY}", f"vllm serve T {JSON}"),
    ],
)
def test_shell_commands(command, migrated):
    made = migrate(command)
    assert made.command == migrated
    assert made.speculative_config == CONFIG
    assert migrate(made.command).command == made.command


@pytest.mark.parametrize(
    "text",
    [
        f"vllm serve T \\\n  {LEGACY}",
        "vllm serve T \\\n  --speculative-model D \\\n  # 注释\n  --num-speculative-tokens 3\n",
        "vllm serve T \\\n  --speculative-model D \\ # 注释\n  --num-speculative-tokens 3\n",
        "vllm serve T \\  \n  --speculative-model D  # trailing \\\n  --num-speculative-tokens 3 \\\n",
        "vllm serve T\\\n--speculative-model D\\\n--num-speculative-tokens 3",
        "#!/bin/sh\n# it's a comment\nvllm serve T\n--speculative-model D\n\n# 中文\n--num-speculative-tokens 3",
        "vllm serve T \\\r\n  --speculative-model D \\\r\n  --num-speculative-tokens 3\r\n",
        "vllm serve T —speculative-model D –num-speculative-tokens 3",
        "vllm serve T\u00a0--speculative-model D\u3000--num-speculative-tokens 3",
    ],
)
def test_text_as_it_is_pasted(text):
    assert migrate(text).command == f"vllm serve T {JSON}"


@pytest.mark.parametrize(
    ("front", "program", "tail"),
    [
        ("docker run --gpus all -v /a:/b -p 8000:8000 --ipc=host --rm -it vllm/vllm-openai:latest", "--model T", ""),
        ("sudo podman run -d --name v -e A=1 vllm/vllm-openai", "--model T", ""),
        ("docker run vllm/vllm-openai", "", ""),
        ("docker run -p8000:8000 my/image", "--model T", ""),
        ("docker run --entrypoint vllm vllm/vllm-openai serve", "T", ""),
        ("docker exec -it box vllm serve", "T", " --port 1"),
        ("srun -n 1 vllm serve", "T", ""),
    ],
)
def test_containers_keep_what_stands_around(front, program, tail):
    made = migrate(f"{front} {program} {LEGACY}{tail}")
    assert made.command.split() == f"{front} {program} {JSON}{tail}".split()


def test_a_module_in_a_container_becomes_the_command():
    made = migrate(f"docker run img python3 -m vllm.entrypoints.openai.api_server --model T {LEGACY}")
    assert made.command == f"docker run img vllm serve T {JSON}"
    other = f"docker run --entrypoint python3 img -m vllm.entrypoints.openai.api_server --model T {LEGACY}"
    assert migrate(other).command == other.replace(LEGACY, JSON), "the entry point is not ours to change"


def test_an_image_of_an_earlier_version_is_named():
    made = migrate(f"docker run vllm/vllm-openai:v0.6.3.post1 --model T {LEGACY}")
    assert said(made, "vllm/vllm-openai:v0.6.3.post1", "earlier vLLM")
    assert not said(migrate(f"docker run vllm/vllm-openai:v0.32.0 --model T {LEGACY}"), "earlier vLLM")


def test_a_script_inside_a_word():
    made = migrate(f"docker run img bash -lc 'cd /x && vllm serve T {LEGACY}'")
    *front, inner = shlex.split(made.command)
    assert front == ["docker", "run", "img", "bash", "-lc"]
    assert inner == f"cd /x && vllm serve T {JSON}"
    assert made.speculative_config == CONFIG
    assert migrate(made.command).command == made.command


def test_variables_of_the_shell_go_on_being_replaced():
    made = migrate('CUDA=$GPUS vllm serve $MODEL --speculative-model "$DRAFT" --num-speculative-tokens ${K:-4} -x ~/y')
    config = """'{"model":"'"$DRAFT"'","num_speculative_tokens":"'"${K:-4}"'"}'"""
    assert made.command == f"CUDA=$GPUS vllm serve $MODEL --speculative-config {config} -x ~/y"
    assert made.speculative_config == {"model": "$DRAFT", "num_speculative_tokens": "${K:-4}"}
    assert migrate(made.command).command == made.command
    home = migrate("vllm serve T --speculative-model ~/D --num-speculative-tokens 3")
    assert """'{"model":"'"$HOME"'/D",""" in home.command, "a shell leaves ~ inside quotes alone"


def test_a_config_that_only_the_shell_knows():
    command = 'vllm serve T --speculative-config "$SPEC" --port 1'
    made = migrate(command)
    assert (made.command, made.speculative_config) == (command, {})
    assert said(made, "$SPEC", "not looked at")
    with pytest.raises(ConfigError, match=r"\$SPEC, which only the shell can read.*write the JSON out"):
        migrate(f"{command} --num-speculative-tokens 3")


def test_a_number_that_only_the_shell_knows():
    command = """vllm serve T --speculative-config '{"method":"ngram","num_speculative_tokens":'$K'}'"""
    made = migrate(command)
    assert made.command == command
    assert made.speculative_config == {"method": "ngram", "num_speculative_tokens": "$K"}


@pytest.mark.parametrize(
    "command",
    [
        f"vllm serve T {JSON} --port 8000",
        'vllm serve "T" --speculative-config "{\\"method\\": \\"ngram\\", \\"num_speculative_tokens\\": 3}"',
        "vllm serve T -sc.method ngram -sc.num_speculative_tokens 3 -tp 2 -O3",
        "vllm serve T --spec-method ngram --spec-tokens 3",
        "A=1 vllm serve T --no-enable-prefix-caching --served-model-name a b --max-model-len 4k",
        f"docker run --gpus all vllm/vllm-openai:latest --model T {JSON}",
        "vllm serve --config a.yaml",
        "vllm serve T --gpu-memory-util 0.9",
    ],
)
def test_a_command_of_today_comes_back_as_it_was(command):
    made = migrate(command)
    assert made.command == command
    assert not said(made, "dropped")
    assert not said(made, "does not know it")


def test_several_lines_of_today_become_one():
    assert migrate(f"vllm serve T \\\n  {JSON} \\\n  --port 1").command == f"vllm serve T {JSON} --port 1"


NGRAM = "vllm serve T --speculative-model [ngram] --num-speculative-tokens 4"


@pytest.mark.parametrize(
    ("command", "config", "note"),
    [
        (NGRAM, {"method": "ngram", "num_speculative_tokens": 4}, '"method":"ngram"'),
        (
            f"{NGRAM} --ngram-prompt-lookup-max 5 --ngram-prompt-lookup-min 2",
            {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 5, "prompt_lookup_min": 2},
            "--ngram-prompt-lookup-min → ",
        ),
        (
            f"{NGRAM} --ngram-prompt-lookup-max 5",
            {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 5, "prompt_lookup_min": 1},
            '"prompt_lookup_min":1 written out: that is what versions with this flag took',
        ),
        (
            f"{NGRAM} -spec-draft-tp 1",
            {"method": "ngram", "num_speculative_tokens": 4},
            "-spec-draft-tp dropped: ngram drafts without a model",
        ),
        (
            f"vllm serve T {LEGACY} --speculative-max-model-len 2048 --speculative-model-quantization fp8",
            CONFIG | {"max_model_len": 2048, "quantization": "fp8"},
            "--speculative-max-model-len → ",
        ),
        (f"vllm serve T {LEGACY} --num-speculative-tokens 7", {"model": "D", "num_speculative_tokens": 7}, "→"),
        ("vllm serve T --speculative-model D", {"model": "D"}, "num_speculative_tokens is not given"),
        ("vllm serve T --num-speculative-tokens 3", {"num_speculative_tokens": 3}, "no drafter is named"),
        ("vllm serve T --speculative-draft-tensor-parallel-size 1", {}, "nothing was speculated"),
        ("vllm serve T --speculative-model None --use-v2-block-manager", {}, "it says nothing"),
        (
            "vllm serve T --speculative-model D --num-speculative-tokens 0",
            {},
            "num_speculative_tokens 0 is the baseline",
        ),
        (
            "vllm serve T --speculative-model yuhuili/EAGLE-LLaMA3-8B --num-speculative-tokens 3",
            {"model": "yuhuili/EAGLE-LLaMA3-8B", "num_speculative_tokens": 3},
            "guesses the method",
        ),
    ],
)
def test_flags_of_speculation(command, config, note):
    made = migrate(command)
    assert made.speculative_config == config
    assert said(made, note)
    assert config_in(made.command) == config if config else "--speculative-config" not in made.command


@pytest.mark.parametrize("flag", sorted(DEAD_FLAGS))
def test_settings_of_speculation_that_are_gone(flag):
    value = {"flag": "", "one": " 0.3", "maybe": " True"}[DEAD_FLAGS[flag][0]]
    made = migrate(f"vllm serve T {LEGACY} --{flag}{value} --port 1")
    assert made.command == f"vllm serve T {JSON} --port 1"
    assert said(made, f"--{flag} dropped: ")


def test_disabling_by_batch_size_had_no_effect():
    made = migrate(f"vllm serve T {LEGACY} --speculative-disable-by-batch-size 8")
    assert said(made, "--speculative-disable-by-batch-size dropped", "accepted", "no effect")


def speculating(config, *more):
    return shlex.join(["vllm", "serve", "T", "--speculative-config", config, *more])


@pytest.mark.parametrize(
    ("config", "today", "note"),
    [
        ("{'model': 'D', 'num_speculative_tokens': 3}", CONFIG, "was no JSON"),
        ("{model: D, num_speculative_tokens: 3,}", CONFIG, "was no JSON"),
        ("{model:D,num_speculative_tokens:3}", CONFIG, "was no JSON"),
        ('{"model":"D","num_speculative_tokens":3,"disable_by_batch_size":8}', CONFIG, "no effect"),
        ('{"model":"D","num_speculative_tokens":3,"speculative_token_tree":"[]"}', CONFIG, "token trees"),
        ('{"speculative_model":"D","num_speculative_tokens":3}', CONFIG, "its name in vLLM 0.32"),
        (
            '{"model":"D","num_speculative_tokens":3,"tensor_parallel_size":1}',
            CONFIG | {"draft_tensor_parallel_size": 1},
            "'draft_tensor_parallel_size'",
        ),
        (
            '{"method":"[ngram]","num_speculative_tokens":3}',
            {"method": "ngram", "num_speculative_tokens": 3},
            "brackets",
        ),
        (
            '{"model":"[ngram]","num_speculative_tokens":3,"ngram_prompt_lookup_max":4}',
            {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 4},
            "drafts without a model",
        ),
        (
            '{"method":"qwen3_next_mtp","num_speculative_tokens":1}',
            {"method": "mtp", "num_speculative_tokens": 1},
            "mtp",
        ),
        ('{"method":"ngram","num_speculative_tokens":0}', {}, "baseline"),
    ],
)
def test_keys_and_values_of_earlier_versions_in_the_config(config, today, note):
    made = migrate(speculating(config))
    assert made.speculative_config == today
    assert said(made, note)
    assert config_in(made.command) == today if today else made.command == "vllm serve T"


@pytest.mark.parametrize(
    ("config", "note"),
    [
        ('{"method":"ngram","num_spec_tokens":3}', r"unknown key 'num_spec_tokens' .*an 'num_speculative_tokens'\?"),
        ('{"method":"ngrm","num_speculative_tokens":3}', r"unknown method 'ngrm', .*; did you mean 'ngram'\?"),
        ('{"model":"D","num_speculative_tokens":3,"zzz":1}', r"unknown key 'zzz' in the speculative config, on which"),
    ],
)
def test_what_nobody_knows_in_the_config_is_an_error_and_nothing_is_lost(config, note):
    made = migrate(speculating(config))
    assert made.command == speculating(config)
    assert made.plain()["errors"] == list(made.errors)
    with pytest.raises(ConfigError, match=note):
        made.check()
    assert migrate(made.command).errors == made.errors


def test_unknown_keys_of_every_server_in_a_script_are_errors():
    first, second = (speculating(json.dumps({"method": "ngram", key: 1})) for key in ("a_b", "c_d"))
    made = migrate(f"{first}; {second}")
    assert [error.split("'")[1] for error in made.errors] == ["a_b", "c_d"]


def test_a_command_without_unknown_keys_has_no_errors():
    migrate(ARTICLE).check()


def test_a_lookup_window_in_the_config_stays_as_it_is():
    """No version is told by it, and today's takes the largest size alone."""
    made = migrate(speculating('{"method":"ngram","num_speculative_tokens":3,"prompt_lookup_max":5}'))
    assert "prompt_lookup_min" not in made.speculative_config
    assert said(made, "prompt_lookup_min is not given", "takes prompt_lookup_max")


@pytest.mark.parametrize(
    ("more", "config", "note"),
    [
        (["--num-speculative-tokens", "9"], CONFIG, "--speculative-config already has 'num_speculative_tokens'"),
        (["--spec-tokens", "9"], CONFIG, "--speculative-config says 3 for num_speculative_tokens"),
        (["--speculative-config.max_model_len", "99"], CONFIG | {"max_model_len": 99}, "dotted keys alone"),
        (["-sc", '{"method":"suffix"}'], {"method": "suffix"}, "more than once: the last one counts"),
    ],
)
def test_speculation_said_in_two_ways(more, config, note):
    made = migrate(speculating(json.dumps(CONFIG), *more))
    assert config_in(made.command) == made.speculative_config == config
    assert said(made, note)


def test_dots_keep_what_they_nest():
    made = migrate("vllm serve T --speculative-config.draft_load_config.load_format dummy -sc.draft_load_config.x+ a,b")
    assert made.speculative_config == {"draft_load_config": {"load_format": "dummy", "x": ["a", "b"]}}


@pytest.mark.parametrize(
    ("flags", "today", "note"),
    [
        ("--num-scheduler-steps 8 --swap-space 4", "", "--num-scheduler-steps dropped"),
        (
            "--disable-log-requests --enable-reasoning --reasoning-parser r",
            "--reasoning-parser r",
            "--reasoning-parser",
        ),
        ("--worker-use-ray", "--distributed-executor-backend ray", "present name"),
        ("--guided-decoding-backend xgrammar", "--structured-outputs-config.backend xgrammar", "structured outputs"),
        ("--task embed", "--runner pooling --convert embed", "--runner pooling"),
        ("--enable-chunked-prefill=False", "--no-enable-chunked-prefill", "takes no value"),
        ("--enforce-eager True --port 1", "--enforce-eager --port 1", "takes no value"),
        ("--disable-log-stats false", "", "left out"),
        ("--limit-mm-per-prompt image=2,video=1", """--limit-mm-per-prompt '{"image":2,"video":1}'""", "JSON now"),
        ("--worker-use-ray False", "", "--worker-use-ray dropped"),
        ("--rope-theta 1e6", "--rope-theta 1e6", "--hf-overrides"),
        ("--task odd", "--task odd", "--task kept"),
    ],
)
def test_other_flags_of_earlier_versions(flags, today, note):
    made = migrate(f"vllm serve T {flags}")
    assert made.command == f"vllm serve T {today}".strip()
    assert said(made, note)
    assert migrate(made.command).command == made.command


@pytest.mark.parametrize("flag", sorted(set(RETIRED) - set(RENAMED)))
def test_every_retired_flag_has_a_reason(flag):
    value = {"flag": [], "one": ["1"], "maybe": ["True"], "many": ["a", "b"]}[RETIRED[flag].kind]
    made = migrate(shlex.join(["vllm", "serve", "T", f"--{flag}", *value, "--port", "1"]))
    assert said(made, f"--{flag} ", ": ")
    assert made.command.startswith("vllm serve T")
    assert made.command.endswith("--port 1"), "no value was left behind, and none of the next flag taken"


def test_no_flag_is_of_today_and_retired():
    assert set(KINDS) & {*RETIRED, *RENAMED, *DEAD_FLAGS} == set()


def test_unknown_flags_are_kept_with_a_note():
    made = migrate(f"vllm serve T --tensor-paralel-size 4 {LEGACY} --zzz a b --qqq=1 -zz")
    assert made.command == f"vllm serve T --tensor-paralel-size 4 {JSON} --zzz a b --qqq=1 -zz"
    assert said(made, "--tensor-paralel-size kept", "did you mean '--tensor-parallel-size'?")
    assert said(made, "--zzz kept")
    assert said(made, "--qqq kept")


def test_secrets_stay_and_the_environment_is_advised():
    made = migrate("vllm serve T --api-key sk-123 --hf-token hf_9")
    assert made.command == "vllm serve T --api-key sk-123 --hf-token hf_9"
    assert said(made, "--api-key", "VLLM_API_KEY")
    assert said(made, "--hf-token", "HF_TOKEN")
    assert not said(made, "sk-123")
    assert not said(made, "hf_9")


def test_a_variable_without_effect():
    made = migrate("VLLM_USE_V1=0 vllm serve T")
    assert made.command == "VLLM_USE_V1=0 vllm serve T"
    assert said(made, "VLLM_USE_V1", "no effect")


def test_two_models():
    made = migrate("vllm serve A --model B")
    assert made.command == "vllm serve A --model B"
    assert said(made, "given twice")
    assert migrate("vllm serve --model A --model B").command == "vllm serve B"


def test_a_yaml_config():
    made = migrate(
        "# 配置\nmodel: T\nport: 8000\nspeculative_model: D  # 草稿\nnum-speculative-tokens: 3\nenforce-eager: true\n"
        "enable-prefix-caching: false\nserved-model-name: [a, b c]\nhf-overrides: {a: 1}\nseed:\nzzz: -1\n"
    )
    assert made.command == (
        f"vllm serve T --port 8000 {JSON} --enforce-eager --no-enable-prefix-caching --served-model-name a 'b c' "
        """--hf-overrides '{"a": 1}' --zzz=-1"""
    )
    assert made.speculative_config == CONFIG
    assert said(made, "in the file: speculative-config: {")
    assert said(made, "seed left out")
    assert said(made, "zzz kept")
    assert migrate(made.command).command == made.command


def test_a_yaml_config_with_an_apostrophe():
    assert migrate("model: it's\nport: 1\n").command == """vllm serve 'it'"'"'s' --port 1"""


def test_a_command_with_a_colon_in_front_is_a_command():
    assert migrate(f"model: docker run vllm --model T {LEGACY}").command.startswith("model: docker run vllm --model T")


def test_a_yaml_config_of_today():
    made = migrate("model: T\nspeculative-config:\n  model: D\n  num_speculative_tokens: 3\n")
    assert made.command == """vllm serve T --speculative-config '{"model": "D", "num_speculative_tokens": 3}'"""
    assert not said(made, "in the file")


CALL = """
from vllm import LLM, SamplingParams
DRAFT = "D"  # 草稿模型
if True:
    llm = LLM(
        model="T", tensor_parallel_size=2, speculative_model=DRAFT, num_speculative_tokens=3,
        use_v2_block_manager=True, dtype=DTYPE, enforce_eager=False, zzz=args.x, hf_overrides=dict(a=[1, -2.5]),
        seed=None, quantization="fp8", **more,
    )
print(llm.generate("x", SamplingParams(temperature=0)))
"""


def test_a_python_call():
    made = migrate(CALL)
    assert made.command == (
        f"""vllm serve T --tensor-parallel-size 2 {JSON} --dtype "$DTYPE" --no-enforce-eager --zzz args.x """
        """--hf-overrides '{"a": [1, -2.5]}' --quantization fp8"""
    )
    assert made.speculative_config == CONFIG
    assert said(made, "in Python: speculative_config={'model': 'D', 'num_speculative_tokens': 3}")
    assert said(made, "use_v2_block_manager dropped")
    assert said(made, "**more was not read")
    assert said(made, "args.x is no literal")
    assert migrate(made.command).command == made.command


@pytest.mark.parametrize(
    "call",
    [
        "LLM('T', speculative_config={'model': 'D', 'num_speculative_tokens': 3})",
        "    vllm.LLM(model='T', speculative_config=dict(model='D', num_speculative_tokens=3))",
        "k = 3\nEngineArgs(model='T', speculative_config={'model': 'D', 'num_speculative_tokens': k})",
        "await f(AsyncEngineArgs(model='T', **{'speculative_model': 'D', 'num_speculative_tokens': 3}))",
    ],
)
def test_calls_that_say_the_same(call):
    made = migrate(call)
    assert made.command.startswith("vllm serve T --speculative-config")
    assert made.speculative_config == config_in(made.command) == CONFIG


def test_the_source_is_not_executed(tmp_path):
    mark = tmp_path / "ran"
    migrate(f"open({str(mark)!r}, 'w')\nLLM(model=open({str(mark)!r}, 'w').name)")
    migrate(f"touch {mark}; vllm serve `touch {mark}` --speculative-model $(touch {mark})")
    assert not mark.exists()


def test_several_servers_in_a_script():
    made = migrate(f"vllm serve T {LEGACY} &\nvllm serve U --num-speculative-tokens 9 --speculative-model E &\nwait")
    first, second, last = made.command.splitlines()
    assert first == f"vllm serve T {JSON} &"
    assert config_in(second) == {"model": "E", "num_speculative_tokens": 9}
    assert last == "wait"
    assert made.speculative_config == CONFIG
    assert said(made, "several servers")
    other = migrate(f"docker run alpine -v; vllm serve B; vllm serve T {LEGACY}")
    assert other.command == f"docker run alpine -v ; vllm serve B ; vllm serve T {JSON}"
    assert other.speculative_config == CONFIG, "the first that speculates"
    assert migrate(made.command).command == made.command


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "nothing to migrate; expected one of: vllm serve"),
        ("  \n\t", "nothing to migrate"),
        ("pip install vllm", "no vLLM launch in this text; expected one of"),
        ("docker run ubuntu ls", "no vLLM launch"),
        ("LLM(model='T'", "as Python it has a syntax error"),
        ("vllm serve T --foo 'bar", "the quote ' of line 1 is never closed"),
        ('vllm serve T \\\n --foo "bar', 'the quote " of line 2 is never closed'),
        ("vllm serve T --speculative-model", "--speculative-model needs a value"),
        ("vllm serve T --speculative-model --port 1", "--speculative-model needs a value"),
        ("vllm serve T --num-speculative-tokens five", "--num-speculative-tokens takes a whole number; got 'five'"),
        ("vllm serve T --spec-tokens x", "--spec-tokens takes a whole number; got 'x'"),
        ("vllm serve T --speculative-config", "--speculative-config needs a value"),
        ("vllm serve T --speculative-config nonsense", "takes a JSON object such as .*; got 'nonsense'"),
        ("vllm serve T --speculative-config '[1]'", "takes a JSON object"),
        ("model: T\n  port: 1: 2", "begins like a YAML config and cannot be read; line 2: "),
        ("services:\n  v:\n    command: vllm", "manifest of containers; give the command"),
        ("vllm serve \udcff", "not UTF-8"),
        ("""vllm serve T --speculative-config '{"model":"\\ud800"}'""", "not UTF-8"),
        ("docker run vllm/vllm-openai /bin/bash -c ls", "no vLLM launch"),
    ],
)
def test_a_users_mistake_is_said(text, message):
    with pytest.raises(ConfigError, match=message):
        migrate(text)


# What a command asks for, as the rules look at it.


def test_the_launch_of_a_command():
    launch = migrate(
        "VLLM_USE_V2_MODEL_RUNNER=0 vllm serve T -tp 4 -pp=2 --max-model-len 8K --max-num-seqs 32 --enable-lora "
        "--gpu-memory-utilization 0.8 --generation-config vllm --speculative-model D --num-speculative-tokens 3"
    ).launch()
    assert (launch.target, launch.draft, launch.k, launch.method) == ("T", "D", 3, None)
    assert (launch.tp, launch.pp, launch.dp, launch.runner) == (4, 2, 1, "v1")
    assert (launch.max_model_len, launch.max_num_seqs, launch.gpu_memory_utilization) == (8192, 32, 0.8)
    assert (launch.lora, launch.eager, launch.plain_sampling) == (True, False, True)


@pytest.mark.parametrize(
    "text",
    [
        f"docker run vllm/vllm-openai --model T {LEGACY}",
        f"vllm serve U & vllm serve T {LEGACY}",
        "model: T\nspeculative_model: D\nnum_speculative_tokens: 3\n",
        "LLM('T', speculative_model='D', num_speculative_tokens=3)",
        "vllm serve T --spec-model D --spec-tokens 3",
    ],
)
def test_a_launch_is_that_of_the_server_that_speculates(text):
    launch = migrate(text).launch()
    assert (launch.target, launch.draft, launch.k) == ("T", "D", 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("vllm serve --port 1", "names no model"),
        ("vllm serve T -tp $N", r"-tp is '\$N', which only the shell can read; write the number out"),
        ("vllm serve T -tp four", "-tp is 'four'; write the number out"),
        ('vllm serve T --speculative-config "$S"', r"--speculative-config is \$S, which only the shell can read"),
        ("vllm serve T --spec-model D --spec-tokens $K", "the command: k: .*; got "),
        (speculating('{"method":"ngrm","num_speculative_tokens":3}'), "unknown drafting method 'ngrm'"),
    ],
)
def test_what_a_command_does_not_tell_is_no_guess(text, message):
    with pytest.raises(ConfigError, match=message):
        migrate(text).launch()


# Properties. Pieces that matter to a reader of shell text are much likelier here than in any text.

PIECES = st.sampled_from(
    ["vllm serve T", "vllm", "serve", "python -m vllm.entrypoints.openai.api_server", "--model T", "docker run", "img",
     *(f"--{flag}" for flag in (*RENAMED, *DEAD_FLAGS, "speculative-config", "use-v2-block-manager", "zzz", "task")),
     "--speculative-config.model D", "-sc", '{"model": "D"}', "'{\"method\":\"ngram\"}'", "{", "}", "5", "D", "true",
     "[ngram]", "$X", "${X}", "$(a b)", "`", "'", '"', "\\", "\\\n", "\n", "# 注释", "#", ";", "&&", "|", ">", "2>&1",
     "(", ")", "<model>", "=", "–", "~", "*", "\u00a0", "model: T", "speculative_model: D\n", "LLM(", "LLM(model='T')",
     "bash -c \"vllm serve T --speculative-model D\"", "$'", "-", "--", ""]
)  # fmt: skip
TEXTS = st.lists(st.one_of(PIECES, PIECES, st.text(max_size=6)), max_size=14).flatmap(
    lambda parts: st.sampled_from([" ", "", "\n", " \\\n"]).map(lambda between: between.join(parts))
)
VALUES = st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)


@settings(max_examples=600, deadline=None)
@given(TEXTS)
def test_any_text_is_migrated_or_refused_with_words(text):
    try:
        made = migrate(text)
    except ConfigError:
        return
    again = migrate(made.command)
    assert (again.command, again.speculative_config) == (made.command, made.speculative_config)
    with contextlib.suppress(ConfigError):
        made.launch()


@settings(max_examples=300, deadline=None)
@given(st.text())
def test_any_characters_are_no_crash(text):
    with contextlib.suppress(ConfigError):
        migrate(text)


NAMES = st.text(alphabet=string.ascii_lowercase, min_size=1, max_size=8).map(lambda name: f"--zz-{name}")


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(NAMES, st.lists(VALUES.filter(lambda text: not text.startswith(("-", "–", "—"))), max_size=2))),
    st.sampled_from(["vllm serve T", "python3 -m vllm.entrypoints.openai.api_server --model T", "docker run vllm"]),
)
def test_no_unknown_flag_is_lost(flags, front):
    words = [word for name, values in flags for word in (name, *values)]
    made = migrate(f"{front} --speculative-model D {shlex.join(words)} --num-speculative-tokens 3")
    found = shlex.split(made.command)
    assert any(found[at : at + len(words)] == words for at in range(len(found)))
    assert all(said(made, f"{name} kept") for name, _ in flags)
    assert made.speculative_config == CONFIG


@settings(max_examples=300, deadline=None)
@given(VALUES, st.integers(1, 99), st.booleans())
def test_values_come_through_the_shell_and_json_unharmed(model, k, equals):
    if model.startswith("-") or model in ("None", "ngram", "[ngram]"):
        model = f"m{model}"
    given_as = [f"--speculative-model={model}"] if equals else ["--speculative-model", model]
    made = migrate(shlex.join(["vllm", "serve", "T", *given_as, f"--num-speculative-tokens={k}"]))
    assert config_in(made.command) == made.speculative_config == {"model": model, "num_speculative_tokens": k}


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(set(KINDS) - {"model", "config", "limit-mm-per-prompt", "api-key"})), unique=True)
)
def test_flags_of_today_come_back_as_they_were(names):
    value = {"flag": [], "alone": [], "one": ["1"], "many": ["a", "b"], "maybe": ["h"]}
    special = {"speculative-config": ['{"max_model_len":9}'], "spec-tokens": ["3"]}
    words = [word for name in names for word in (f"--{name}", *special.get(name, value[KINDS[name]]))]
    command = shlex.join(["vllm", "serve", "T", *words])
    assert migrate(command).command == command
