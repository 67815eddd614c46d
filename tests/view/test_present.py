"""What a notebook shows: readable, escaped, and with a twin for programs."""

import re
from dataclasses import replace
from html import escape

import pandas as pd
import pytest

import labkit
from labkit.config import Drafter, EngineConfig
from labkit.errors import MeasurementError
from labkit.plan import Plan
from labkit.records import Flag
from labkit.store import Run
from labkit.view import present, tables
from tests.drafters.test_card import CARD

HOSTILE = ["<script>alert(1)</script>", "</script><b>", '<img src=x onerror="alert(1)">', "a & b"]
NAN = float("nan")


def html(shown):
    return shown._repr_mimebundle_()["text/html"]


def hostile_run(folder):
    """A run whose plan, target and causes of failure are markup; nothing of it was measured."""
    plan = Plan(engine=EngineConfig(target=HOSTILE[0], kind="simulated"), name=HOSTILE[2])
    run = Run.create(folder / "run", plan, "feed")
    run.save_failure(plan.cells()[0], HOSTILE[1])
    return run


# --- tables


@pytest.mark.parametrize("text", HOSTILE)
def test_cells_and_headings_are_escaped(text):
    for table in (pd.DataFrame({"text": [text]}), pd.DataFrame({text: ["x"]})):
        shown = html(present.show(table))
        assert text not in shown
        assert escape(text, quote=False) in shown


@pytest.mark.parametrize("value", [None, NAN, float("nan")])
@pytest.mark.parametrize("column", ["speedup", "flags", "tpot_ms", "temperature"])
def test_unknown_is_a_dash(column, value):
    table = pd.DataFrame({column: pd.Series([value, "x" if column == "flags" else 1.0])})
    assert re.search(r"<td[^>]*>–</td>", html(present.show(table)))
    assert "nan" not in html(present.show(table)).lower()


def test_the_baseline_has_no_method_and_no_acceptance(sweep):
    shown = repr(present.show(tables.cells(sweep(drafters=(), temperatures=(0.0,)))))
    assert "nan" not in shown.lower()
    assert "None" not in shown
    assert shown.count("–") == 4


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        ("k", 4, "4"), ("temperature", 0.8, "0.8"), ("temperature", 0.0, "0"), ("tpot_ms", 28.571, "28.6"),
        ("ttft_ms", 124.6, "125"), ("tokens_per_second", 24.55001, "24.6"), ("speedup", 1.3333, "1.333"),
        ("speedup", 0.0, "0.000"), ("launches", "resampled", "resampled"),
    ],
)  # fmt: skip
def test_few_digits(column, value, text):
    assert re.findall(r"<td[^>]*>([^<]*)</td>", html(present.show(pd.DataFrame({column: [value]})))) == [text]


def test_headings_are_for_people():
    table = pd.DataFrame({"k": [2], "temperature": [0.0], "tpot_ms": [1.0], "speedup": [1.0]})
    shown = html(present.show(table[["tpot_ms", "k"]]))
    assert 0 < shown.index("<th>TPOT (ms)</th>") < shown.index("<th>K</th>")
    assert "<th>T</th>" not in shown
    assert "<th>depth 1</th>" in html(present.show(pd.DataFrame({"depth_1": [0.5]})))


def test_long_reasons_are_shown_whole():
    """A flag without its reason is of no use."""
    reason = "partial: 3 of 6 requests failed; first: HTTP 400: repetition_penalty is not supported with speculation"
    shown = present.show(pd.DataFrame({"flags": [reason]}))
    assert reason in html(shown)
    assert reason in repr(shown)


def test_no_row_and_no_column_is_dropped():
    wide = pd.DataFrame([{f"c{i}": f"v{i}-{j}" for i in range(30)} for j in range(80)])
    shown = html(present.show(wide))
    assert all(f"<td>v{i}-{j}</td>" in shown for i in range(30) for j in range(80))


def test_an_empty_table_has_its_headings():
    shown = html(present.show(pd.DataFrame(columns=["drafter", "k"])))
    assert "<th>K</th>" in shown
    assert "<td>" not in shown


# --- MIME bundles


def test_a_bundle_has_html_and_text_and_data_where_there_is_some():
    assert present.Html("<p>x</p>", "x")._repr_mimebundle_() == {"text/html": "<p>x</p>", "text/plain": "x"}
    bundle = present.Html("<p>x</p>", "x", mime="application/y+json", data={"z": 1})._repr_mimebundle_()
    assert bundle == {"text/html": "<p>x</p>", "text/plain": "x", "application/y+json": {"z": 1}}


# --- facts


def test_facts_name_engine_plan_and_cells(sweep, store):
    measured = sweep()
    measured[0] = replace(measured[0], flags=(Flag(name="partial", reason="why"),))
    run = store(measured[:-1])
    text = repr(present.facts(run))
    for fact in (
        "run: run-1",
        f"plan: demo ({run.plan.id})",
        "target: demo-target",
        "engine: simulated 1 on cpu",
        "repairs: none",
        "workload: 6 requests a cell, hash feed",
        "cells: 9 measured, 1 missing",
        "flag: partial: some requests failed (1 cells)",
    ):
        assert fact in text


def test_facts_of_a_run_without_a_cell(store):
    text = repr(present.facts(store([])))
    assert "cells: 0 measured, 10 missing" in text
    assert "engine: –" in text


def test_facts_are_escaped(tmp_path):
    shown = html(present.facts(hostile_run(tmp_path)))
    assert not [text for text in HOSTILE[:3] if text in shown]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "&lt;/script&gt;&lt;b&gt;" in shown
    assert "&lt;img src=x onerror=" in shown


def test_facts_of_a_drafter_are_its_card():
    bundle = present.facts(CARD)._repr_mimebundle_()
    rows = re.findall(r"<tr><th>([^<]*)</th><td>([^<]*)</td></tr>", bundle["text/html"])
    assert rows == CARD.rows()
    assert ("licence", "Apache-2.0") in rows
    assert "offline, code: agreement by depth 0.60/0.50; acceptance length K=1 1.60, K=2 1.90" in bundle["text/plain"]


# --- summary and finish


def test_the_summary_is_the_verdict_and_the_same_as_data(sweep, store):
    bundle = present.summary(store(sweep(blocks=3), blocks=3))._repr_mimebundle_()
    data = bundle[present.SUMMARY_MIME]
    sentence = "At T = 0 with 1 user: switch on ngram K=4; it is 1.40× [1.40, 1.40] as fast as without."
    assert data["verdict"][0] == sentence
    assert bundle["text/plain"].splitlines() == data["verdict"]
    assert f"<li>{sentence}</li>" in bundle["text/html"]
    assert (data["run"], data["target"], data["plan"], data["best"]) == ("run-1", "demo-target", "demo", "ngram K=4")
    assert data["speedup"] == pytest.approx([1.4, 1.4, 1.4])


@pytest.mark.parametrize(("users", "words"), [(1, "T = 0, 1 user"), (8, "T = 0, 8 users")])
def test_the_summary_says_where_the_best_was_measured(sweep, store, users, words):
    options = {"temperatures": (0.0,), "concurrencies": (users,)}
    assert present.summary(store(sweep(**options), **options)).data["at"] == words


def test_too_few_prompts_have_no_best(sweep, store):
    data = present.summary(store(sweep(prompts=4))).data
    assert (data["best"], data["speedup"], data["at"]) == (None, None, None)
    assert all("too few prompts" in sentence for sentence in data["verdict"])


def test_without_a_drafter_there_is_nothing_to_compare(sweep, store):
    data = present.summary(store(sweep(drafters=()), drafters=())).data
    assert data["verdict"] == ["Only the baseline was measured: nothing to compare with."]
    assert data["best"] is None


@pytest.mark.parametrize("measured", ["drafters", "nothing"])
def test_a_run_without_its_baseline_does_not_claim_to_be_only_that(sweep, store, measured):
    data = present.summary(store([m for m in sweep() if m.cell.spec.k and measured == "drafters"])).data
    assert "Only the baseline was measured" not in " ".join(data["verdict"])


@pytest.mark.parametrize("name", HOSTILE)
def test_the_summary_is_escaped(sweep, store, name):
    drafters = [Drafter(method="ngram", name=name)]
    shown = present.summary(store(sweep(drafters=drafters), drafters=drafters))
    assert name in shown.data["verdict"][0], "data are plain"
    assert name not in html(shown)
    assert escape(name) in html(shown)


def test_finish_says_that_the_run_is_whole(sweep, store):
    bundle = present.finish(store(sweep()))._repr_mimebundle_()
    assert bundle["text/plain"] == "All 10 cells of the plan were measured."
    assert bundle[present.DONE_MIME] == {"run": "run-1"}


def test_finish_refuses_a_run_with_missing_cells(sweep, store):
    measured = sweep()
    run = store(measured[:-1])
    run.save_failure(measured[-1].cell, "the engine died")
    with pytest.raises(MeasurementError, match="1 of 10 cells") as error:
        present.finish(run)
    assert f"{measured[-1].cell.label}: the engine died" in str(error.value)
    assert "--resume" in str(error.value)


def test_the_summary_tells_where_a_run_comes_from_and_how_its_speedup_goes_with_k(sweep, store):
    run = store(sweep())
    data = present.summary(run).data
    assert data["facts"][:3] == [["run", "run-1"], ["plan", f"demo ({run.plan.id})"], ["target", "demo-target"]]
    assert dict(data["facts"])["engine"] == "simulated 1 on cpu"
    assert data["curve"] == [[2, pytest.approx(1.2)], [4, pytest.approx(1.4)]]
    assert data["folder"] == "run-1", "a path of this machine alone is no use to others"
    assert present.summary(labkit.recorded("drafters")).data["folder"] == "data/recorded/drafters"


def test_a_long_text_in_a_table_is_cut_and_offered_whole():
    shown = present.show(pd.DataFrame({"text": ["x" * 5000, "a\x00b"]}))
    html = shown._repr_mimebundle_()["text/html"]
    assert "… (5,000 characters)" in html
    assert "a␀b" in html
    assert shown.data["csv"] == f"text\r\n{'x' * 5000}\r\na\x00b\r\n"
