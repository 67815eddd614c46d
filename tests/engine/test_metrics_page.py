"""The metrics page: values of the field notes, every exposition quirk, models and engines apart."""

import pytest

from labkit.engine.metrics_page import fetch_counters, fetch_page, parse_page, select_model
from labkit.errors import ConfigError, EngineError

LABELS = 'engine="{engine}",model_name="{model}"'


def page(engines=None, *, model="m", suffix="_total", typed=True):
    """A page as vLLM writes it, from (drafts, draft tokens, accepted, per position, generated) per engine."""
    engines = engines or {"0": (1000, 3000, 1500, (800, 450, 250), 2500), "1": (500, 1500, 600, (350, 170, 80), 1100)}
    lines = []
    names = ["spec_decode_num_drafts", "spec_decode_num_draft_tokens", "spec_decode_num_accepted_tokens"]
    for i, name in enumerate(names):
        if typed:
            lines.append(f"# TYPE vllm:{name} counter")
        for engine, counts in engines.items():
            labels = LABELS.format(engine=engine, model=model)
            lines.append(f"vllm:{name}{suffix}{{{labels}}} {counts[i]}.0")
        lines += [f"vllm:{name}_created{{{LABELS.format(engine=e, model=model)}}} 1.76e9" for e in engines]
    for engine, counts in engines.items():
        labels = LABELS.format(engine=engine, model=model)
        for position, count in enumerate(counts[3]):
            lines.append(
                f'vllm:spec_decode_num_accepted_tokens_per_pos{suffix}{{{labels},position="{position}"}} {count}'
            )
        lines.append(f"vllm:generation_tokens{suffix}{{{labels}}} {counts[4]}")
        lines.append(f"vllm:num_requests_running{{{labels}}} 3.0")
    return "\n".join(lines) + "\n"


def test_two_engines_are_summed_and_kept_apart():
    counters = parse_page(page())["m"]
    assert (counters.total.drafts, counters.total.draft_tokens, counters.total.accepted_tokens) == (1500, 4500, 2100)
    assert counters.total.accepted_per_pos == (1150, 620, 330)
    assert counters.per_engine["1"].drafts == 500
    assert counters.max_position == 3
    assert counters.running == 6


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("suffix", ["_total", ""])
def test_names_with_and_without_total(suffix, typed):
    if not suffix:
        typed = False  # an old page without the suffix declares no counter of that name
    assert parse_page(page(suffix=suffix, typed=typed))["m"].total.drafts == 1500


def test_created_gauges_are_no_counts():
    assert parse_page(page())["m"].total.drafts < 1e9


def test_adapters_are_models_of_their_own():
    pages = parse_page(page() + page({"0": (7, 21, 3, (2, 1, 0), 10)}, model="adapter", typed=False))
    assert pages["m"].total.drafts == 1500
    assert pages["adapter"].total.drafts == 7
    with pytest.raises(ConfigError, match=r"several models are served and none was named; served: adapter, m"):
        select_model(pages, None, where="page")
    with pytest.raises(ConfigError, match=r"no model 'adaptor' on this page.*did you mean 'adapter'"):
        select_model(pages, "adaptor", where="page")


def test_timestamps_and_odd_labels():
    text = 'vllm:generation_tokens_total{engine="0",model_name="a \\"b\\" \\\\ {c}"} 5 1760000000000\n'
    assert parse_page(text)['a "b" \\ {c}'].total.generation_tokens == 5


def test_openmetrics_with_exemplars_and_eof():
    text = (
        "# TYPE vllm:generation_tokens counter\n"
        'vllm:generation_tokens_total{engine="0",model_name="m"} 5.0 # {trace_id="x"} 1.0 1.76e9\n'
        "# EOF\n"
    )
    assert parse_page(text)["m"].total.generation_tokens == 5


def test_missing_series_are_none_and_not_zero():
    total = parse_page('vllm:generation_tokens_total{engine="0",model_name="m"} 5\n')["m"].total
    assert total.drafts is None
    assert total.accepted_per_pos is None
    assert total.prompt_tokens is None


def test_a_page_of_something_else():
    with pytest.raises(ConfigError, match="holds no vLLM counters"):
        select_model(parse_page("# HELP x y\nprocess_cpu_seconds_total 3\n"), None, where="page")
    with pytest.raises(ConfigError, match="no Prometheus metrics page"):
        parse_page("<html><body>404</body></html>\n{{{\n")


def test_a_server_that_is_not_there():
    with pytest.raises(EngineError, match="is the server running"):
        fetch_page("http://127.0.0.1:9")
    with pytest.raises((ConfigError, EngineError), match=r"no metrics page|no URL"):
        fetch_page("http://[bad")


def test_the_simulated_engine_has_such_a_page(simulate):
    engine = simulate()
    counters = fetch_counters(engine.url)
    assert counters.max_position == 4
    assert counters.total.drafts == 0
