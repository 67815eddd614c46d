"""The simulated model against mathematics: what speculative sampling must leave as it is, and what each
planted fault must move. Randomness is seeded; |z| < 4 holds by chance alone in all but 6 of 100,000 cases."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest

from labkit.config import Drafter, Simulation, SpecConfig
from labkit.engine.simulated.model import (
    EOS,
    FAULTS,
    VOCAB,
    Generation,
    Model,
    Request,
    Speculation,
    Step,
    decode,
    encode,
    lookup,
)
from labkit.errors import ConfigError

MODEL = Model(Simulation(seed=3))
GREEDY = Speculation(method="draft_model", model="d", k=3)
PROBABILISTIC = Speculation(method="eagle3", model="d", k=3, probabilistic=True)
NGRAM = Speculation(method="ngram", k=3, lookup=(1, 3))
PROMPT = encode("What comes next? 0123456789 abcdefghijklmnopqrstuvwxyz")


class Position(NamedTuple):
    """One output position that a draft was verified at (``accepted`` is then not None) or not."""

    previous: int
    index: int
    token: int
    origin: str
    accepted: bool | None


def run(spec: Speculation | None, *, faults: tuple[str, ...] = (), model: Model = MODEL, **asked) -> list[Step]:
    return list(Generation(model, Request(prompt=PROMPT, **asked), spec, faults))


def positions(spec: Speculation | None, *, requests: int, faults: tuple[str, ...] = (), **asked) -> Iterator[Position]:
    """Every output position of many requests, up to the first step that max_tokens might cut: leaving out
    those that were cut would leave out long acceptances."""
    limit = len(PROMPT) + asked["max_tokens"] - (spec.k if spec else 0)
    for seed in range(requests):
        index, previous = len(PROMPT), PROMPT[-1]
        for step in run(spec, faults=faults, seed=seed, ignore_eos=True, **asked):
            if index >= limit:
                break
            for i, (token, origin) in enumerate(zip(step.tokens, step.origins, strict=True)):
                yield Position(previous, index, token, origin, i < step.accepted if i < step.drafted else None)
                previous, index = token, index + 1


def rows(where: list[Position], *, temperature: float, drafter: bool = False, **restricted) -> np.ndarray:
    rows = MODEL.q if drafter else MODEL.p
    return np.concatenate([rows([w.previous], w.index, temperature=temperature, **restricted) for w in where])


def z(observed: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> float:
    """Standard score of a sum whose terms have these conditional means and variances."""
    return float((observed - mean).sum() / np.sqrt(variance.sum()))


def surprisal_z(where: list[Position], **sampling) -> float:
    p = rows(where, **sampling)
    surprise = -np.log(np.where(p > 0, p, 1))
    entropy, square = (p * surprise).sum(axis=1), (p * surprise**2).sum(axis=1)
    return z(surprise[np.arange(len(where)), [w.token for w in where]], entropy, square - entropy**2)


def test_tables_are_text_like():
    p = np.concatenate([MODEL.p([previous] * 251, 0, temperature=1.0) for previous in range(VOCAB)])
    assert np.allclose(p.sum(axis=1), 1)
    assert 1.5 < -(p * np.log(p)).sum(axis=1).mean() < 2.5
    assert np.quantile(np.sort(p, axis=1)[:, -20:].sum(axis=1), 0.01) > 0.995
    assert 1 / 1000 < p[:, EOS].mean() < 1 / 100


def test_characters_are_tokens():
    text = "SELECT * FROM t WHERE a > 3;\n~"
    assert decode(encode(text)) == text
    assert encode(" ~\n") == [0, 94, 95]
    assert decode([40, EOS]) == "H"
    assert encode("é→\t") == encode("é→\t") == [81, 20, 91]  # the same in every process
    assert max(encode("日本語 emoji 🙂 \ud800")) < 95


def test_top_k_and_top_p_keep_the_likeliest():
    free = MODEL.p([5], 40, temperature=0.9)[0]
    best = free.argsort()[::-1]
    top_k = MODEL.p([5], 40, temperature=0.9, top_k=4)[0]
    assert np.allclose(top_k[best[:4]], free[best[:4]] / free[best[:4]].sum())
    assert np.count_nonzero(top_k) == 4
    top_p = MODEL.p([5], 40, temperature=0.9, top_p=0.7)[0]
    kept = np.count_nonzero(top_p)
    assert free[best[: kept - 1]].sum() < 0.7 <= free[best[:kept]].sum()
    assert np.count_nonzero(MODEL.p([5], 40, temperature=0.9, top_k=4, top_p=0.01)) == 1


@pytest.mark.parametrize("spec", [GREEDY, PROBABILISTIC])
@pytest.mark.parametrize("temperature", [0.0, 0.8, 1.0])
def test_drafts_are_accepted_as_often_as_p_and_q_overlap(spec, temperature):
    seen = [w for w in positions(spec, requests=20, max_tokens=200, temperature=temperature) if w.accepted is not None]
    p = rows(seen, temperature=temperature)
    q = rows(seen, temperature=temperature if spec.probabilistic else 0, drafter=True)
    expected, accepted = np.minimum(p, q).sum(axis=1), np.array([w.accepted for w in seen])
    if temperature == 0:
        assert np.array_equal(expected, accepted)
    else:
        assert 0.1 < expected.mean() < 0.9
        assert abs(z(accepted, expected, expected * (1 - expected))) < 4


def exact_marginal(n: int, **sampling) -> np.ndarray:
    """Distribution of output token ``n`` (0 is the first), all texts before it summed over."""
    marginal = MODEL.p([PROMPT[-1]], len(PROMPT), **sampling)[0]
    for index in range(len(PROMPT) + 1, len(PROMPT) + n + 1):
        marginal = marginal @ np.concatenate([MODEL.p([previous], index, **sampling) for previous in range(VOCAB)])
    return marginal


@pytest.mark.parametrize("spec", [None, GREEDY, PROBABILISTIC, NGRAM], ids=["none", "greedy", "probabilistic", "ngram"])
@pytest.mark.parametrize("sampling", [{"temperature": 1.0}, {"temperature": 0.8, "top_k": 6, "top_p": 0.9}], ids=str)
def test_speculation_leaves_the_distribution_of_outputs_as_it_is(spec, sampling):
    n, requests = 4, 1500
    tokens = [run_tokens(spec, seed=seed, max_tokens=n + 1, ignore_eos=True, **sampling)[n] for seed in range(requests)]
    expected = requests * exact_marginal(n, **sampling)
    often = expected >= 5  # Pearson's condition; the rest in one cell
    counts = np.bincount(tokens, minlength=VOCAB)
    observed = np.append(counts[often], counts[~often].sum())
    expected = np.append(expected[often], expected[~often].sum())
    chi2, freedom = ((observed - expected) ** 2 / np.maximum(expected, 1e-9)).sum(), len(observed) - 1
    assert abs(chi2 - freedom) < 4 * np.sqrt(2 * freedom)


def run_tokens(spec: Speculation | None, **asked) -> list[int]:
    return [token for step in run(spec, **asked) for token in step.tokens]


def draft_excess(where: list[Position], **sampling) -> float:
    """z of how often the token is the draft, against p."""
    drafts = rows(where, temperature=0, drafter=True).argmax(axis=1)
    p = rows(where, **sampling)[np.arange(len(where)), drafts]
    return z(drafts == [w.token for w in where], p, p * (1 - p))


def acceptance_excess(where: list[Position], **sampling) -> float:
    drafts = rows(where, temperature=0, drafter=True).argmax(axis=1)
    p = rows(where, **sampling)[np.arange(len(where)), drafts]
    return z(np.array([w.accepted for w in where]), p, p * (1 - p))


def outside_top_k(where: list[Position], **sampling) -> float:
    """Percent of tokens."""
    return 100.0 * np.mean(rows(where, **sampling)[np.arange(len(where)), [w.token for w in where]] == 0)


#: Per fault: the statistic that must move, and whether it looks at verified or at bonus positions.
SHIFTS = {
    "temperature": (surprisal_z, "verified"),
    "bonus_temperature": (surprisal_z, "bonus"),
    "recovered_from_p": (draft_excess, "verified"),
    "acceptance": (acceptance_excess, "verified"),
    "ignore_top_k": (outside_top_k, "verified"),
}


def statistic(fault: str, planted: tuple[str, ...]) -> float:
    measure, which = SHIFTS[fault]
    sampling = {"temperature": 0.9, "top_k": 4 if fault == "ignore_top_k" else 0}
    spec = Speculation(method="draft_model", model="d", k=2)
    everywhere = positions(spec, requests=40, faults=planted, max_tokens=200, **sampling)
    where = [w for w in everywhere if (w.origin == "bonus" if which == "bonus" else w.accepted is not None)]
    return measure(where, **sampling)


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_moves_its_statistic(fault):
    assert abs(statistic(fault, ())) < 4
    assert statistic(fault, (fault,)) > 5


@pytest.mark.parametrize(
    ("fault", "bonus"), [("bonus_temperature", False), ("temperature", True), ("acceptance", True)]
)
def test_a_fault_leaves_other_positions_alone(fault, bonus):
    everywhere = positions(GREEDY, requests=20, faults=(fault,), max_tokens=200, temperature=0.9)
    where = [w for w in everywhere if (w.origin == "bonus" if bonus else w.accepted is not None)]
    assert len(where) > 100
    assert abs(surprisal_z(where, temperature=0.9)) < 4


@pytest.mark.parametrize("spec", [None, NGRAM])
def test_faults_touch_no_step_without_drafts(spec):
    asked = {"temperature": 0.9, "top_k": 5, "max_tokens": 60, "ignore_eos": True}
    clean, faulty = run(spec, **asked), run(spec, faults=tuple(FAULTS), **asked)
    same = list(itertools.takewhile(lambda pair: not pair[1].drafted, zip(clean, faulty, strict=False)))
    assert len(same) >= (60 if spec is None else 1)
    assert all(a == b for a, b in same)


def test_only_the_first_token_of_a_drafting_model_has_no_drafts():
    steps = run(GREEDY, temperature=0.8, max_tokens=50, ignore_eos=True)
    assert (steps[0].drafted, steps[0].origins) == (0, ["plain"])
    for step in steps[1:-1]:
        last = "bonus" if step.accepted == 3 else "recovered"
        assert step.drafted == 3
        assert step.origins == ["accepted"] * step.accepted + [last]


@pytest.mark.parametrize("spec", [GREEDY, PROBABILISTIC])
def test_temperature_zero_gives_the_baselines_text(spec):
    assert run_tokens(spec, temperature=0, max_tokens=300) == run_tokens(None, temperature=0, max_tokens=300)


def test_full_agreement_accepts_everything_and_none_next_to_nothing():
    twin, stranger = Model(Simulation(agreement=1)), Model(Simulation(agreement=0))
    for spec, temperature in ((GREEDY, 0.0), (PROBABILISTIC, 0.0), (PROBABILISTIC, 1.0)):
        steps = run(spec, model=twin, temperature=temperature, max_tokens=200, ignore_eos=True)
        assert {step.accepted for step in steps[1:]} == {3}
    steps = run(GREEDY, model=stranger, temperature=0, max_tokens=400, ignore_eos=True)
    assert np.mean([step.accepted > 0 for step in steps[1:]]) < 0.15


def test_max_tokens_cuts_the_output_and_not_the_count():
    twin = Model(Simulation(agreement=1))
    steps = run(Speculation(method="draft_model", model="d", k=5), model=twin, temperature=0, max_tokens=9)
    assert [len(step.tokens) for step in steps] == [1, 6, 2]
    assert [step.accepted for step in steps] == [0, 5, 5]
    assert [step.finish_reason for step in steps] == [None, None, "length"]


def test_eos_cuts_the_output_and_not_the_count():
    twin = Model(Simulation(agreement=1))
    spec = Speculation(method="draft_model", model="d", k=8, probabilistic=True)
    ends = [run(spec, model=twin, seed=seed, max_tokens=500)[-1] for seed in range(30)]
    cut = [step for step in ends if step.finish_reason == "stop" and len(step.tokens) < step.accepted + 1]
    assert cut
    assert all(step.tokens[-1] == EOS and EOS not in step.tokens[:-1] and step.accepted == 8 for step in cut)


def test_ignore_eos_goes_on_after_it():
    texts = [run(None, seed=seed, max_tokens=300, ignore_eos=True) for seed in range(10)]
    assert any(EOS in step.tokens for text in texts for step in text[:-1])
    assert {(len(text), text[-1].finish_reason) for text in texts} == {(300, "length")}


def test_a_generation_keeps_its_per_step_counts():
    generation = Generation(MODEL, Request(prompt=PROMPT, temperature=0.8, max_tokens=80), NGRAM)
    steps = list(generation)
    drafted = [step for step in steps if step.drafted]
    assert 0 < len(drafted) < len(steps)
    assert generation.drafted == [step.drafted for step in drafted]
    assert generation.accepted == [step.accepted for step in drafted]
    assert generation.output == [token for step in steps for token in step.tokens]
    assert next(generation, None) is None


def test_tokens_do_not_depend_on_what_else_runs():
    asked = [Request(prompt=PROMPT, temperature=0.8, seed=seed, max_tokens=30) for seed in range(6)]
    alone = [[token for step in Generation(MODEL, one, GREEDY) for token in step.tokens] for one in asked]
    together = [Generation(MODEL, one, GREEDY) for one in reversed(asked)]
    for _ in range(30):  # in turn, a step each
        for generation in together:
            next(generation, None)
    assert [generation.output for generation in reversed(together)] == alone
    assert len({tuple(tokens) for tokens in alone}) == len(alone)


@pytest.mark.parametrize("change", [{"temperature": 0.7}, {"top_k": 50}, {"top_p": 0.99}, {"seed": 1}])
def test_tokens_depend_on_the_request_and_the_engines_seed(change):
    base = run_tokens(GREEDY, temperature=0.8, max_tokens=60)
    assert run_tokens(GREEDY, temperature=0.8, max_tokens=60) == base
    assert run_tokens(GREEDY, **{"temperature": 0.8, "max_tokens": 60} | change) != base
    assert run_tokens(GREEDY, temperature=0.8, max_tokens=60, model=Model(Simulation(seed=4))) != base


def test_scoring_gives_the_p_of_generation():
    tokens = run_tokens(GREEDY, temperature=1.0, max_tokens=300, ignore_eos=True)
    scored = MODEL.score([*PROMPT, *tokens])
    assert scored.shape == (len(PROMPT) + len(tokens) - 1, VOCAB)
    before = enumerate([PROMPT[-1], *tokens[:-1]], start=len(PROMPT))
    used = [MODEL.p([previous], index, temperature=1.0)[0] for index, previous in before]
    assert np.allclose(np.exp(scored[len(PROMPT) - 1 :]), used)
    greedy = run_tokens(GREEDY, temperature=0, max_tokens=300, ignore_eos=True)
    assert MODEL.score([*PROMPT, *greedy])[len(PROMPT) - 1 :].argmax(axis=1).tolist() == greedy


@pytest.mark.parametrize(
    ("ids", "k", "shortest", "longest", "proposed"),
    [
        ("abcXabc", 3, 2, 4, "Xab"),  # three tokens occur earlier
        ("abXabYab", 2, 2, 4, "Xa"),  # the earliest of equally long runs
        ("ZbXabYab", 3, 1, 2, "Yab"),  # a longer run beats an earlier one
        ("abcdab", 9, 2, 4, "cdab"),  # fewer than k follow
        ("aaaa", 3, 2, 3, "a"),  # an occurrence may overlap the end
        ("abcd", 3, 1, 4, ""),
        ("abcb", 3, 2, 4, ""),  # one token alone is too short
        ("ab", 3, 3, 4, ""),
        ("a", 3, 1, 4, ""),
    ],
)
def test_lookup(ids, k, shortest, longest, proposed):
    assert lookup(ids.encode(), k, shortest, longest) == list(proposed.encode())


def test_a_lookup_drafts_what_the_prompt_says_next():
    generation = Generation(MODEL, Request(prompt=PROMPT, max_tokens=200, temperature=0.8, ignore_eos=True), NGRAM)
    text = bytearray(PROMPT)
    for step in generation:
        proposed = lookup(text, 3, 1, 3) if len(text) > len(PROMPT) else []
        assert step.drafted == len(proposed)
        assert step.tokens[: step.accepted] == proposed[: step.accepted][: len(step.tokens)]
        text += bytes(step.tokens)


def test_speculation_is_read_from_what_vllm_is_given():
    assert Speculation.from_vllm(None) is None
    ngram = Speculation.from_vllm(SpecConfig(drafter=Drafter(method="ngram"), k=4).for_vllm())
    assert ngram == Speculation(method="ngram", k=4, lookup=(5, 5)), "vLLM's own default"
    model = Drafter(method="eagle3", model="heads/e", options={"draft_sample_method": "probabilistic"})
    read = Speculation.from_vllm(SpecConfig(drafter=model, k=2).for_vllm())
    assert read == Speculation(method="eagle3", k=2, model="heads/e", probabilistic=True)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"method": "suffix", "num_speculative_tokens": 2}, "does not model method 'suffix'"),
        ({"method": "ngram", "num_speculative_tokens": 0}, "must be an integer ≥ 1; got 0"),
        ({"method": "ngram"}, "must be an integer ≥ 1; got None"),
        ({"method": "eagle", "num_speculative_tokens": 2, "tree": 1}, r"options \['tree'\]"),
        (
            {"method": "ngram", "num_speculative_tokens": 2, "prompt_lookup_min": 5, "prompt_lookup_max": 2},
            "prompt_lookup_min must be ≤ prompt_lookup_max; got 5 and 2",
        ),
    ],
)
def test_speculation_refuses_what_it_does_not_model(config, words):
    with pytest.raises(ConfigError, match=words):
        Speculation.from_vllm(config)
