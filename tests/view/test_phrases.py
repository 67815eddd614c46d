"""Another language: the engine, and that nothing labkit writes into a report is left in English."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from string import Formatter

import nbformat
import pandas as pd
import pytest

import labkit
from labkit.analysis.bootstrap import Interval
from labkit.analysis.compare import Compared, Comparison
from labkit.analysis.drift import Drift
from labkit.analysis.recommend import BARRED, Candidate, recommend
from labkit.errors import ConfigError
from labkit.preflight import load_presets, load_rules, migrate
from labkit.preflight.retired import DEAD_KEYS, RETIRED
from labkit.preflight.rules import LEVELS, STATES
from labkit.records import FLAGS
from labkit.references import load_references
from labkit.view import findings, tables
from labkit.view.board_state import board_state
from labkit.view.comparison import changes_of, sentences
from labkit.view.comparison_figure import change_by_cell
from labkit.view.findings import sample_note
from labkit.view.lab import Lab
from labkit.view.learning import learning_curve, learning_table
from labkit.view.packed import unpack
from labkit.view.phrases import Phrases, phrases
from labkit.view.present import facts, show, summary
from labkit.view.report import build_report
from labkit.view.selection import Selection
from labkit.view.zh import PHRASES
from labkit.view.zh.launching import LAUNCHING
from labkit.view.zh.migration import MIGRATION
from labkit.view.zh.rules import RULES
from tests.drafters.test_card import CARD
from tests.preflight.test_legacy import ARTICLE
from tests.view.test_static_board import LOADS

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
ZH = phrases("zh")
#: Names, units and commands: the same in any language.
NAMES = {
    "TPOT", "TTFT", "tok", "ms", "CSV", "labkit", "papermill", "nbconvert", "plotly", "Python", "vllm", "cpu", "demo",
    "top_k", "tokens", "num_speculative_tokens", "draft", "draft_model", "eagle", "eagle3", "ngram", "all", "code",
    "creative", "editing", "report", "text_to_sql", "sql", "en", "zh", "vLLM", "cards", "models", "drafters", "audit",
    "RUN", "sweep", "force", "python", "json", *FLAGS,
    # of launches
    "GPU", "GiB", "JupyterLab", "LoRA", "LongLoRA", "None", "OpenAI", "QLoRA", "Ray", "Triton", "bfloat", "download",
    "dspark", "guidance", "hf", "logits", "preflight", "shell", "true", "xgrammar",
    # of published figures
    "Bench", "EAGLE", "GPT", "ICML", "Leviathan", "Llama", "MT", "OSS", "PLD", "RTX", "SGLang", "SPEED", "SQL", "Spec",
    "SpS", "Vicuna", "XXL", "al", "et", "gram", "https", "Instruct", "Qwen", "bench", "translation", "summaries",
}  # fmt: skip
#: Titles and addresses of sources.
CITED = {text for reference in load_references() for text in (reference.source.title, reference.source.url)}


def english(text):
    """Words that should not stand in a Chinese text: not names, no part of a number or an identifier."""
    return [word for word in re.findall(r"[A-Za-z][A-Za-z_]+", text) if word not in NAMES]


#: Quoted words, flags, keys, hub ids and paths, files, variables, and what is cited.
_CODE = re.compile(
    r"""
    "[^"]*" | '[^'\ ]*' | <[^<>]*> | --?[A-Za-z][\w.-]*(?:\ [a-z]+\b)? | \w*_\w* | [\w.-]*(?:/[\w.-]+)+
    | [a-z][\w.]*(?:-[\w.]+)+ | \w+(?:\.\w+)+ | \*\*\w+ | \$\w+ | \b[A-Z][A-Z0-9]+\b
    | vllm\ serve | issues?\ \d+ | pull\ request\ \d+
    """,
    re.ASCII | re.VERBOSE,
)


#: Flags and keys are their subject.
OF_LAUNCHES = {*LAUNCHING, *MIGRATION, *RULES}


def prose(text):
    """``text`` without code, which is the same in any language."""
    return _CODE.sub(" ", text)


# --- the engine


@pytest.fixture
def table():
    return Phrases({
        "yes": "ja", "{a} is {b}": "{b} ist {a}", "{a} is very {b}": "sehr {b}: {a}", "{n:n} apples": "{n} Äpfel",
        "{w:w} now": "jetzt {w}", "{x:s}: {y:s}": "{y}: {x}", "at %{{x:.1f}}": "bei %{{x:.1f}}", "A <b>": "A {{b}}",
    })  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("yes", "ja"), ("  yes\n", "  ja\n"), ("x is yes", "ja ist x"), ("x is very y", "sehr y: x"), ("no", "no"),
        ("3.5 apples", "3.5 Äpfel"), ("five apples", "five apples"), ("quite soon now", "jetzt quite soon"),
        ("x, y now", "x, y now"), ("at %{x:.1f}", "bei %{x:.1f}"), ("", ""), (" ", " "), ("{x} is yes", "ja ist {x}"),
        ("a: b", "b: a"), ("a: b c", "a: b c"), ("two  spaces", "two  spaces"), ("x\nis y", "y ist x"),
    ],
)  # fmt: skip
def test_what_is_said(table, text, said):
    assert table.say(text) == said


def test_html_keeps_its_elements_and_what_is_not_prose(table):
    html = "<p>yes</p><code>yes</code><br><ul><li>x is &lt;y&gt;</li></ul><script>yes</script><pre>yes</pre>"
    assert table.html(html) == (
        "<p>ja</p><code>yes</code><br><ul><li>&lt;y&gt; ist x</li></ul><script>yes</script><pre>yes</pre>"
    )


def test_of_a_table_of_data_headings_and_words_of_labkit_are_said():
    """The cells of others, a completion of a model for one, stay as they are, whatever they say."""
    table = Phrases({"yes": "ja", "{a}; {b}": "{a} und {b}"})
    data = "<table class='labkit'><tr><th>yes</th></tr><tr><td>yes; no</td><td class='said'>yes; no</td></tr></table>"
    assert table.html(data) == (
        "<table class='labkit'><tr><th>ja</th></tr><tr><td>yes; no</td><td class='said'>ja und no</td></tr></table>"
    )
    assert table.html("<table class='labkit facts'><tr><td>yes</td></tr></table>").count("ja") == 1


def test_a_table_that_is_shown_marks_the_words_of_labkit():
    completion = "not decided; at all"
    shown = show(pd.DataFrame({"completion": [completion], "flags": ["partial: 1 of 8 requests failed; first: 500"]}))
    html = ZH.html(shown._repr_mimebundle_()["text/html"])
    assert f"<td>{completion}</td>" in html
    assert "<td class='said'>partial：8 个请求中有 1 个失败；第一个：500</td>" in html


@pytest.mark.parametrize("text", ['<p title="a > b">x</p>', "<p>&nbsp;a &#8805; b</p>", "<p>x</p >"])
def test_what_no_phrase_knows_stays_to_the_letter(table, text):
    assert table.html(text) == text


def test_a_figure_keeps_its_numbers_and_colours(table):
    figure = {
        "data": [{"name": "yes", "y": [1, None], "type": "yes", "marker": {"color": "yes"}}],
        "layout": {"title": {"text": "x is y<br><span style='yes'>yes</span>"}, "template": {"name": "yes"}},
    }
    assert table.figure(figure) == {
        "data": [{"name": "ja", "y": [1, None], "type": "yes", "marker": {"color": "yes"}}],
        "layout": {"title": {"text": "y ist x<br><span style='yes'>ja</span>"}, "template": {"name": "yes"}},
    }


def test_prose_is_said_by_paragraph(table):
    assert table.markdown("# yes\n\nx\nis y\n\nno *yes*") == "# ja\n\ny ist x\n\nno *yes*"


def test_english_is_left_alone():
    assert phrases("en").html("<p>Nothing was measured.</p>") == "<p>Nothing was measured.</p>"


def test_a_language_that_labkit_does_not_speak():
    with pytest.raises(ConfigError, match="no language 'cn'; there are en, zh"):
        phrases("cn")


@pytest.mark.parametrize("key", PHRASES)
def test_a_translation_uses_what_its_original_names(key):
    names = {name.split(":")[0] for name in re.findall(r"(?<!\{)\{(\w[^{}]*)\}", key)}
    assert set(re.findall(r"(?<!\{)\{(\w+)\}", PHRASES[key])) <= names
    said = re.sub(r"\{[^{}]*\}", "", PHRASES[key]).replace("num_speculative_tokens", "")
    assert not english(prose(said) if key in OF_LAUNCHES else said)


# --- everything that labkit may say


def speeds(**changes):
    row = {"drafter": "ngram", "method": "ngram", "k": 4, "temperature": 0.0, "concurrency": 1, "speedup": 1.2,
           "low": 1.1, "high": 1.3, "launches": "this launch only", "cautions": "", "prompts": 6, "blocks": 1,
           "left_out": 0, "kind": "measured", "category": "code", "position": 1, "joint": 0.5, "conditional": 0.5,
           "step_ms": 40.0, "tokens_per_step": 1.4, "tpot_ms": 30.0}  # fmt: skip
    return pd.DataFrame([row | changes])


NAN = float("nan")
TABLES = {
    "faster": {}, "resampled": {"launches": "resampled", "concurrency": 4}, "cautions": {"cautions": "not_warm"},
    "above": {"cautions": "above its 1.40 tokens per step"},
    "both": {"cautions": "not_warm, above its 1.40 tokens per step", "launches": "resampled"},
    "slower": {"low": 0.7, "speedup": 0.8, "high": 0.9}, "open": {"low": 0.9}, "no bounds": {"low": NAN, "high": NAN},
    "no figure": {"speedup": NAN, "low": NAN, "high": NAN}, "loops": {"left_out": 3, "prompts": 4},
    "predicted": {"kind": "predicted", "k": 7}, "predicted, open": {"kind": "predicted", "low": 0.9},
}  # fmt: skip


@pytest.mark.parametrize("changes", TABLES.values(), ids=TABLES)
def test_every_title_and_verdict(changes):
    table = speeds(**changes)
    steps = pd.concat([table, speeds(k=0, drafter="baseline")])
    said = [
        *findings.verdict(table), findings.speedup_title(table), findings.category_title(table),
        findings.every_k_title(table, (4, 6)), findings.acceptance_title(table), findings.timeline_title(steps),
        findings.timeline_title(table), findings.sample_note(table, "shipped prompts"),
        findings.sample_note(table.drop(columns="blocks"), "x.jsonl"), findings.speedup_title(table.iloc[:0]),
        findings.acceptance_title(table.iloc[:0]),
    ]  # fmt: skip
    assert [(text, ZH.say(text)) for text in said if english(ZH.say(text).replace("x.jsonl", ""))] == []


def candidate(low=1.1, mid=1.2, high=1.3, **changes):
    known = {"drafter": "ngram", "k": 4, "temperature": 0.0, "concurrency": 1}
    return Candidate(speedup=Interval(low=low, mid=mid, high=high), **known | changes)


CHOICES = {
    "one": [candidate()], "none": [], "tie": [candidate(), candidate(1.105, k=2)], "slower": [candidate(0.7, 0.8, 0.9)],
    "open": [candidate(0.9)], "no gain": [candidate(0.8, 0.95, 1.1)], "between": [candidate(k=k) for k in (2, 4, 6)],
    "predicted": [candidate(measured=False)], "no error": [candidate(measured=False, whole_interval=False)],
    "no error beside another": [candidate(), candidate(k=6, measured=False, whole_interval=False)],
    "suspicious": [candidate(mean_acceptance_length=4.99)], "no interval": [candidate(NAN, 1.2, NAN)],
    "flags": [candidate(flags=("degenerate", "not_warm"))],
    "prompts": [candidate(prompts=24)],
    "approximate": [candidate(measured=False, approximate=True, prompts=24, one_launch=True)],
    "off, predicted": [candidate(0.7, 0.8, 0.9, measured=False)],
    "off, no error": [candidate(0.7, 0.8, 0.9, measured=False, whole_interval=False)],
    **{flag: [candidate(flags=(flag,))] for flag in BARRED},
}  # fmt: skip


@pytest.mark.parametrize("candidates", CHOICES.values(), ids=CHOICES)
def test_every_reason_of_a_recommendation(candidates):
    made = recommend(candidates)
    said = [*made.why, made.verdict, f"why: off ({made.verdict})", f"why: ngram K=4 ({made.verdict})"]
    assert [(text, ZH.say(text)) for text in said if english(ZH.say(text))] == []


@pytest.mark.parametrize(
    "text",
    [
        *FLAGS.values(), *(f"{meaning} (3 cells)" for meaning in FLAGS.values()),
        "reset: counters of engine 0, 1 went backwards; discard this cell", "absent: the metrics page has no drafts",
        "degenerate: 10 of 40 outputs repeat themselves; headline figures leave them out; not_warm: after 6 rounds two "
        "medians in a row still differed",
        "censored: 1000 steps drafted 2400 tokens of 3000, and the server sends no steps",
        "cache_mismatch: 40.0% of the prompt tokens came from the prefix cache, 0.2% in the baseline",
        "drift: -6.9% in acceptance length (3.05, 2.96, 2.84 by block)",
        "drift: +8.1% in time per token (37.00, 40.00 ms by block); absent: the metrics page has no drafts",
        "enabled_idle: speculation is on and no token was generated", "idle_engine: engine 1 of 2 did nothing",
        "enabled_no_drafts: 70 tokens were generated and none was drafted", "invariant: a count is negative",
        "not_enabled: the server has no speculative counters: it does not speculate",
        "invariant: accepted per position sums to 4, accepted tokens are 5", "invariant: accepted 5 > drafted 4",
        "invariant: accepted per position increases: [1, 2]", "invariant: drafted 9 > K·steps = 8",
        "not_quiescent: 2 running and 0 waiting requests at the snapshot",
        "contaminated: the server generated 90 tokens, this client received 70",
        "partial: 1 of 8 requests failed; first: 500", "client_bound: 12000 chunks/s; this client keeps up with 10000",
        "not_quiescent: 3 requests of others ran at the start", "machine_busy: others kept 0.70 of 2 cores busy",
        "method_mismatch: asked for eagle3, the engine runs draft_model", "synthetic: prompts are random tokens",
        "Only the baseline was measured: nothing to compare with.", "Nothing was measured.",
        "The baseline was not measured: no speedup can be told.", "All 10 cells of the plan were measured.",
        "vllm 0.32.0 on cpu", "40 requests a cell, hash 2520e", "1 block(s), seed 0, warmed up once per engine",
        "3 block(s), seed 0, warmed up once per cell, engines in turn prompt by prompt",
        "6 measured, 0 missing", "sampling parameters reach the rejection sampler; top_k on a step without drafts",
        "95% intervals", "90% intervals; prompts in zh only", "why: nothing was measured at this load",
        "Left out to keep this page small: kinds of prompt other than 'all'.",
        "Left out to keep this page small: temperatures between the measured ones.",
        "Left out to keep this page small: some values of K.",
        "contaminated: the server generated more tokens than this client received; partial: some requests failed",
        "No prompt is of workload code in language zh; choose another.", "draft cannot be chosen: not measured yet",
        "The baseline was not measured at T = 0.8, concurrency 1, and every speedup starts from it; measure it.",
        "no error estimate: the interval holds the sampling error only; measure ngram K=3 at a running batch of 1",
        "the error estimate rests on a single cell", "cancelled; nothing was kept",
        "an earlier measurement is being cancelled; press again in a moment",
        "demo names stand for folders: labkit models demo makes and names them",
        "eagle3 for demo, held-out prompts", "draft_model for demo, held-out prompts", "Nothing learnt yet",
        "After the first look a step would yield 1.21 tokens", "draft token 2", "depth 3", "training loss", "loss",
        "From 1.21 to 1.66 tokens per step on held-out prompts", "held-out prompts", "answer tokens seen",
        "cross entropy (nats)", "right, given those before", "tokens seen", "acceptance length",
        "Figures and controls of this page need a browser that runs scripts.",
        "Reports", "labkit reports", "question", "best drafter", "over K", "verdict", "all targets",
        *LEVELS, *STATES, "both", "not looked at", "same", "padding_only", "all", "first to 0.9", "0.15 to 0.32",
        "0.33 to last", "level", "rule", "message", "about", "versions", "runner", "state", "tokenizer",
        "differing ids", "The form needs a kernel: open this notebook in JupyterLab.",
    ],
)  # fmt: skip
def test_everything_else(text):
    left = english(re.sub(r"\b(drafts|2520e)\b", "", ZH.say(text)))
    assert (ZH.say(text), left) == (ZH.say(text), [])


def compared(verdict="no change", figure="tpot", position=None, **changes):
    key = ("ngram", "ngram", 4, 0.8, 4) if changes.pop("k", 4) else ("baseline", None, 0, 0.0, 1)
    known = {"before_key": key, "after_key": key, "before": 1.0, "after": 1.1, "p": 0.001, "prompts": 8}
    change = Interval(low=-0.051, mid=0.082, high=0.114)
    known |= {"blocks": (1, 1), "flags": (), "launches": "assumed", "change": change, "noticed_from": 0.12}
    return Compared(figure=figure, position=position, verdict=verdict, **known | changes)


FIGURES = [
    ("tpot", None), ("relative_tpot", None), ("speedup", None), ("acceptance_length", None), ("joint_rate", 3),
    ("divergence", None),
]  # fmt: skip
DRIFT = Drift(run="before", key=("baseline", None, 0, 0.0, 1), figure="tpot", values=(0.04, 0.05))
COMPARISONS = {
    "unknown": [compared("unknown", p=NAN)], "same": [compared()], "assumed": [compared(), compared("unknown")],
    "worse": [compared("regression", *figure) for figure in FIGURES],
    "better": [compared("improvement", *figure) for figure in FIGURES],
    "both": [compared("regression"), compared("improvement", "speedup")],
    "others": [compared(), compared("others changed", "relative_tpot")],
    "many": [compared("regression")] * 9, "anchor": [compared("regression", k=0)],
    "anchor, faster": [compared("improvement", k=0, change=Interval(low=-0.2, mid=-0.1, high=-0.05))],
    "measured": [compared(launches="measured", blocks=(3, 3))], "two loads": [compared(), compared(k=0)],
}  # fmt: skip


@pytest.mark.parametrize("figures", COMPARISONS.values(), ids=COMPARISONS)
def test_every_word_of_a_comparison(figures):
    unmatched = ("ngram K=2, T = 0, concurrency 1: only before", "ngram K=4, T = 0, concurrency 1: only after")
    found = Comparison(figures=tuple(figures), drifts=(DRIFT,), setup=(), unmatched=unmatched, false_alarm=0.01)
    table = changes_of(found)
    drawn = ZH.figure(json.loads(change_by_cell(table, sample_note(table, "x")).to_json()))
    shown = texts(ZH.html(show(table)._repr_mimebundle_()["text/html"]))
    for text in [*map(ZH.say, sentences(found)), *figure_texts(drawn), *shown]:
        assert not english(text), text


CLAIMED = [text for r in load_references() for claim in r.claims for text in (claim.says, claim.remark) if text]


@pytest.mark.parametrize("text", CLAIMED)
def test_every_claim(text):
    assert not english(ZH.say(text)), ZH.say(text)


#: What stands in the words of a rule where it is no number and no name.
HELD = {
    "models": ["8 and 9"], "kind": ["", "special "], "differing": ["8", "an unknown number of"], "parts": ["8", "none"],
    "examples": ["id 8: target 'a', draft nothing; id 9: target nothing, draft 'b'"], "model": ["8", "unnamed"],
    "shown": ["how many of a text's tokens that covers is not known here",
              "of the sample's tokens it covers 8% (en), 9% (zh)"],
    "architecture": ["8", "unnamed"], "thresholds": ["8, 9", "none"], "names": ["min_p", "min_p and logit_bias"],
    "lacks": ["method 'suffix', parallel drafting", "parallel drafting, use_heterogeneous_vocab"],
    "keys": ["'a'", "'a', 'b'"], "close": ["", "; did you mean 'c'?"],
}  # fmt: skip
#: The same where it goes by the rule.
HELD_BY = {
    "tokenizer_unread": {"why": ["the tokenizer files of both are not here",
                                 "the target 8 has no tokenizer that labkit reads",
                                 "the draft 8 has no tokenizer that labkit reads"]},
    "vocab_size": {"why": ["padding only", "other rows"]},
    "pruned_vocabulary_broken": {"why": ["d2t has 8 entries, draft_vocab_size is 9",
                                         "8 of its tokens are beyond the target's 9"]},
    "mtp_missing": {"layers": ["no MTP layers", "no MTP of this family"]},
    "schedule_broken": {"why": ["it must be a list of [first batch, last batch, K]", "it must hold whole numbers",
                                "a range must rise from 1 on and K must not be negative",
                                "the first range must begin at batch size 1", "ranges must not overlap"]},
}  # fmt: skip


def filled(rule, says):
    """The words of a rule with all that may stand in them."""
    held = HELD | HELD_BY.get(rule.rule, {})
    names = sorted({name for _, name, *_ in Formatter().parse(says) if name})
    for values in product(*(held.get(name, ["8"]) for name in names)):
        yield says.format_map(dict(zip(names, values, strict=True)))


@pytest.mark.parametrize("rule", load_rules().rules, ids=lambda rule: rule.rule)
def test_every_word_of_a_rule(rule):
    """Alone, of another version, beside what the other model runner does, and among what is said of an engine."""
    said, other = [rule.about], "vLLM has draft models."
    for state in rule.states:
        for text in filled(rule, state.says):
            said += [text, f"What vLLM 0.40 does about {rule.about} is not known. Of 0.10 to 0.13: {text}"]
            said += [f"a_b: {text} · c_d: {other}", f"a_b: {other} · c_d: {text}"]
            if any(state.runner for state in rule.states):
                said += [f"{text} On model runner V2: {other}", f"{other} On model runner V2: {text}"]
    assert [(text, ZH.say(text)) for text in said if english(prose(ZH.say(text)))] == []


def speculating(config):
    return f"vllm serve T --speculative-config '{config}'"


LEGACY = "--speculative-model D --num-speculative-tokens 3"
CONFIG = speculating('{"model":"D","num_speculative_tokens":3}')
COMMANDS = [
    ARTICLE, f"docker run vllm/vllm-openai:v0.6.3 --model T {LEGACY}", 'vllm serve T --speculative-config "$S_C"',
    "LLM('T', 'U', 3, speculative_model='D', num_speculative_tokens=3, a_b=None, c_d=e.f, g_h=I_J, **m); LLM('T')",
    "model: T\nspeculative_model: D\nnum_speculative_tokens: 3\nmax_model_len:\n",
    "--model T --speculative-model [ngram] --num-speculative-tokens 4 --ngram-prompt-lookup-max 5 -spec-draft-tp 1",
    f"vllm serve T -tp $N {LEGACY} --speculative-draft-tensor-parallel-size 1 --ngram-prompt-lookup-min 2",
    "VLLM_USE_V1=0 VLLM_ATTENTION_BACKEND=x python -m vllm.entrypoints.api_server --model T --tensor-paralel-size 2",
    "python -m vllm.entrypoints.cli.main serve A --model B --enforce-eager true --limit-mm-per-prompt image=2",
    f"vllm serve --model A --model B {LEGACY} & vllm serve U {LEGACY}", "vllm serve T --api-key k --zzz 1",
    "vllm serve --disable-log-stats false —port 1\n--seed 2", "vllm serve T --speculative-model a/EAGLE-b",
    "vllm serve T --speculative-draft-tensor-parallel-size 1", "vllm serve T --task embed --rope-theta 1e6",
    "vllm serve T --speculative-model None --num-speculative-tokens 3",
    "vllm serve T --speculative-model D --num-speculative-tokens 0",
    'vllm serve T --speculative-config {"method":"ngrm","num_speculative_tokens":3,"z_z":1}',
    'vllm serve T --speculative-config "{model: D, num_speculative_tokens: 3}"',
    speculating('{"method":"[ngram]","num_speculative_tokens":3,"prompt_lookup_max":5,"disable_by_batch_size":8}'),
    speculating('{"model":"D","speculative_model":"D","tensor_parallel_size":1,"num_speculative_tokens":3}'),
    speculating('{"method":"x_mtp","num_speculative_tokens":1}'),
    speculating('{"method":"eagle3","model":"D","draft_tensor_parallel_size":2}') + " -tp 4",
    f"{CONFIG} --num-speculative-tokens 9 --spec-tokens 9", f"{CONFIG} --spec-tokens 3",
    f"{CONFIG} --speculative-config.max_model_len 99 -sc '{{\"method\":\"suffix\"}}'",
]  # fmt: skip


@pytest.mark.parametrize("text", COMMANDS)
def test_every_note_on_a_command(text):
    made = migrate(text)
    notes = [*made.notes, *made.errors]
    assert notes
    assert [(note, ZH.say(note)) for note in notes if english(prose(ZH.say(note)))] == []


@pytest.mark.parametrize("why", sorted({*DEAD_KEYS.values(), *(gone.why for gone in RETIRED.values())} - {""}))
def test_every_reason_of_a_flag_that_is_gone(why):
    assert english(prose(ZH.say(why))) == []


@pytest.mark.parametrize("preset", load_presets().values(), ids=load_presets())
def test_every_word_of_a_preset(preset):
    said = [*preset.caveats, *(found.message for found in preset.findings())]
    assert [(text, ZH.say(text)) for text in said if english(prose(ZH.say(text)))] == []


@pytest.fixture(scope="module")
def lab(sweep, store):
    return Lab(store(sweep(jitter=0.2, **LOADS), **LOADS))


@pytest.mark.parametrize("temperature", [0.0, 0.3, 0.8, 3.0])
@pytest.mark.parametrize("k", [1, 4, 8])
def test_every_card(lab, temperature, k):
    for drafter in lab.options.methods:
        for category in lab.options.categories:
            at = Selection(drafter=drafter, k=k, temperature=temperature, concurrency=4, category=category)
            shown = board_state(lab, Selection(**at.__dict__ | {"interpolate": True}), "zh")
            assert english(" ".join(texts(shown["card"]))) == []
            assert english(" ".join(figure_texts(shown["charts"]))) == []


def test_every_word_of_a_card():
    """Of a drafter that was trained and served, and of one of which little is known."""
    nothing = {"tokens": 0, "joint": [], "conditional": [], "mean_acceptance_length": {}}
    other = CARD.served[0] | {"drafter": "eagle3-2"}
    for card in (CARD, replace(CARD, training={}, offline={"code": nothing}, served=[other])):
        shown = ZH.html(facts(card)._repr_mimebundle_()["text/html"])
        assert english(" ".join(texts(shown)).replace("Apache", "")) == []


@pytest.mark.parametrize("looks", [0, 1, 3])
def test_every_word_of_a_learning_curve(looks):
    found = {"tokens": 9, "conditional": [0.5, 0.4], "mean_acceptance_length": {"1": 1.5, "2": 1.7}}
    table = learning_table([{"tokens_seen": 100, "mean_loss": 2.0, "held_out": found}] * looks)
    figure = ZH.figure(json.loads(learning_curve(table, "eagle3 for demo, held-out prompts").to_json()))
    assert english(" ".join(figure_texts(figure))) == []
    assert english(" ".join(texts(ZH.html(show(table)._repr_mimebundle_()["text/html"])))) == []


# --- whole reports


class _Texts(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found, self._open = [], []

    def handle_starttag(self, tag, attrs):
        self._open.append(tag)

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        if not {"script", "style", "code", "pre"} & set(self._open):
            self.found.append(data)


def texts(html):
    reader = _Texts()
    reader.feed(html)
    return [text for text in map(str.strip, reader.found) if text]


def figure_texts(node, name=""):
    """Strings of figures that are shown."""
    if isinstance(node, dict):
        return [t for key, value in node.items() if key != "template" for t in figure_texts(value, key)]
    if isinstance(node, list):
        return [text for value in node for text in figure_texts(value, name)]
    shown = isinstance(node, str) and name in ("text", "name", "hovertemplate", "ticktext", "x", "y", "title", "html")
    return [re.sub(r"<[^>]*>|%\{[^}]*\}", " ", node)] if shown else []


#: The plan of 06_before_you_launch where no demo models are.
SIMULATED = {
    "engine": {"target": "markov", "kind": "simulated"},
    "drafters": [{"method": "draft_model", "model": "a"}],
    "k": [3],
}
REPORTS = ["01_tuning_lab", "02_sweep_report", "03_losslessness", "05_compare", "06_before_you_launch"]


@pytest.fixture(scope="module", params=REPORTS)
def page(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("zh")
    names = ("run_a", "run_b") if request.param == "05_compare" else ("run",)
    values = {name: "data/recorded/drafters" for name in names} | {"lang": "zh"}
    if request.param == "06_before_you_launch":
        values["plan"] = str(folder / "plan.yaml")
        (folder / "plan.yaml").write_text(json.dumps(SIMULATED))
    return build_report(NOTEBOOKS / f"{request.param}.ipynb", values, out=folder).read_text(encoding="utf-8")


#: Names of rules and where they were read.
OF_RULES = {rule.rule for rule in load_rules().rules}
OF_RULES |= {ZH.say(state.source) for rule in load_rules().rules for state in rule.states}


def test_a_report_in_chinese_holds_no_english(page, request):
    assert page.startswith('<!doctype html><html lang="zh">')
    body = page[page.index("<body>") :]
    recorded = labkit.recorded("drafters")
    own = {recorded.id, recorded.plan.name, recorded.plan.id, recorded.workload_hash, *CITED} - {""}
    shown = [text for text in texts(body) if text not in own | OF_RULES]
    shown = [re.sub("|".join(map(re.escape, own)), "", text) for text in shown]
    if request.node.callspec.params["page"] == "06_before_you_launch":  # flags and keys are its subject
        shown = list(map(prose, shown))
    assert [text for text in shown if english(re.sub(r"\b[0-9a-f]{8,}\b", "", text))] == []


def test_its_figures_and_its_board_hold_no_english(page, request):
    figures = re.findall(r'<div class="figure"><div[^>]*></div><script type="application/json">(.*?)</script>', page)
    assert figures
    found = [text for figure in figures for text in figure_texts(json.loads(figure))]
    boards = re.findall(r'"packed": "([^"]*)"', page)
    assert len(boards) == (request.node.callspec.params["page"] in ("01_tuning_lab", "02_sweep_report"))
    for packed in boards:
        trees, roots = unpack(packed)
        for charts, card in roots:
            found += [text for chart in charts for text in figure_texts(trees[chart])]
            found += texts("".join(trees[part] for part in card))
    assert sorted({text for text in found if english(text)}) == []


def test_a_notebook_that_offers_a_language_has_all_its_prose():
    """Others are in English only, and say so by having no such parameter."""
    for path in NOTEBOOKS.glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        if not any("lang: str" in cell.source for cell in notebook.cells):
            continue
        prose = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
        assert [text for text in prose if english(ZH.markdown(text))] == [], path.name


def test_the_summary_speaks_it_too():
    run = labkit.recorded("drafters")
    verdict = summary(run, language="zh").data["verdict"]
    assert verdict == [ZH.say(line) for line in findings.verdict(tables.speedups(run.measurements()))]
    assert english(" ".join(verdict)) == []
