"""Plans: what is measured and in which order, ids that last, rules, files."""

import json
import subprocess
import sys

import pytest

from labkit.config import Drafter, EngineConfig
from labkit.errors import ConfigError
from labkit.paths import DATA
from labkit.plan import Extra, Plan, WorkloadSpec, load_plan

DRAFT = Drafter(method="draft_model", model="demo/draft-2l")
LITERAL = """
from labkit.config import Drafter, EngineConfig
from labkit.plan import Plan
plan = Plan(
    engine=EngineConfig(target="t"),
    drafters=(Drafter(method="ngram"),),
    k=(2,),
    temperatures=(0.0,),
    blocks=1,
)
"""


def plan(**changes):
    asked = {
        "engine": EngineConfig(target="t", kind="simulated"),
        "drafters": (Drafter(method="ngram"), DRAFT),
        "k": (2, 4),
        "temperatures": (0.0, 0.8),
        "concurrencies": (1, 4),
        "blocks": 3,
    }
    return Plan(**asked | changes)


def words(call):
    with pytest.raises(ConfigError) as caught:
        call()
    return str(caught.value)


# --- blocks ---------------------------------------------------------------------------------------------


def test_every_block_holds_every_engine_once_the_baseline_included():
    blocks = plan().blocks_in_order()
    wanted = ["baseline", "draft-2l K=2", "draft-2l K=4", "ngram K=2", "ngram K=4"]
    assert len(blocks) == 3
    assert all(sorted(spec.label for spec, _ in block) == wanted for block in blocks)


def test_each_drafter_may_have_its_own_k():
    asked = plan(k={"ngram": (4, 8), "draft-2l": (1,)})
    assert [spec.label for spec in asked.specs] == ["baseline", "ngram K=4", "ngram K=8", "draft-2l K=1"]
    same_cell = {cell.id for cell in plan(k=(4,)).cells()} & {cell.id for cell in asked.cells()}
    assert len(same_cell) == 2 * 3 * 4, "a cell is the same whichever plan asks for it: baseline and ngram K=4"


def test_every_engine_measures_every_temperature_and_concurrency_in_every_block():
    wanted = [(0.0, 1), (0.0, 4), (0.8, 1), (0.8, 4)]
    for number, block in enumerate(plan().blocks_in_order()):
        for spec, cells in block:
            assert sorted((cell.sampling.temperature, cell.concurrency) for cell in cells) == wanted
            assert all((cell.spec, cell.block, cell.target) == (spec, number, "t") for cell in cells)


def test_extra_cells_join_the_engines_they_need_and_bring_their_baseline():
    hot = Extra(k={"ngram": (4,)}, temperatures=(1.0,), concurrencies=(1,))
    probe = Extra(k=(8,), temperatures=(0.0,), concurrencies=(1,), per_category=2)
    asked = plan(temperatures=(0.0,), concurrencies=(1,), blocks=1, also=(hot, probe))
    found = {(c.spec.label, c.sampling.temperature): c.workload.per_category for c in asked.cells()}
    grid = ["baseline", "ngram K=2", "ngram K=4", "draft-2l K=2", "draft-2l K=4"]
    wanted = {(label, 0.0): None for label in grid}
    wanted |= {("baseline", 1.0): None, ("ngram K=4", 1.0): None, ("ngram K=8", 0.0): 2, ("draft-2l K=8", 0.0): 2}
    assert found == wanted
    assert len(asked.blocks_in_order()[0]) == 7, "one engine for each drafter and K"


def test_a_cell_that_two_parts_ask_for_is_measured_once_with_all_prompts():
    asked = plan(blocks=1, also=(Extra(k=(2,), per_category=1), Extra(k=(2, 4))))
    assert sorted(c.id for c in asked.cells()) == sorted(c.id for c in plan(blocks=1).cells())
    for parts in ((Extra(k=(8,), per_category=1), Extra(k=(8,))), (Extra(k=(8,)), Extra(k=(8,), per_category=1))):
        found = [c.workload.per_category for c in plan(blocks=1, also=parts).cells() if c.spec.k == 8]
        assert set(found) == {None}


def test_a_minimal_plan_spans_every_k_with_few_prompts_between():
    asked = plan(temperatures=(0.0, 0.8), concurrencies=(1,)).minimal(up_to=8)
    full = {(c.spec.name, c.spec.k, c.sampling.temperature) for c in asked.cells() if c.workload.per_category is None}
    few = {(c.spec.name, c.spec.k, c.sampling.temperature) for c in asked.cells() if c.workload.per_category == 1}
    each = ["ngram", "draft-2l"]
    assert full == {("baseline", 0, t) for t in (0.0, 0.8)} | {(d, 8, t) for d in each for t in (0.0, 0.8)}
    assert few == {(d, k, 0.0) for d in each for k in (1, 4)}
    assert asked.blocks == 1


def test_a_minimal_plan_for_several_users_keeps_them_all_busy():
    asked = plan(temperatures=(0.0,), concurrencies=(1, 4)).minimal(up_to=8)
    assert {c.workload.per_category for c in asked.cells()} == {None, 4}
    small = plan(temperatures=(0.0,), concurrencies=(4,), workload=WorkloadSpec(per_category=2)).minimal(up_to=8)
    assert {c.workload.per_category for c in small.cells()} == {2}


def test_a_confirmation_is_one_cell_and_its_baseline_in_five_blocks():
    spec = plan().specs[-1]
    asked = plan(temperatures=(0.0,), concurrencies=(1,)).confirming(spec)
    assert [c.spec.label for c in asked.cells()].count(spec.label) == 5
    assert {c.spec.label for c in asked.cells()} == {"baseline", spec.label}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: plan(drafters=(), k=()).minimal(), "a minimal plan needs a drafter"),
        (lambda: plan().minimal(up_to=2), "K up to 3 at least"),
        (lambda: plan().confirming(plan().specs[0]), "the baseline needs no confirmation"),
        (lambda: plan(also=(Extra(k={"ngrm": (2,)}),)), "'k' names ['ngrm']"),
        (lambda: plan(also=(Extra(k=(0,)),)), "'k' lists K ≥ 1"),
        (lambda: plan(also=(Extra(k=(1,), concurrencies=(0,)),)), "concurrencies must be ≥ 1; got [0]"),
        (lambda: plan(also=(Extra(k=(1,), temperatures=(3.0,)),)), "temperature must be in [0, 2]"),
    ],
)
def test_parts_and_derived_plans_that_cannot_be(call, said):
    assert said in words(call)


def test_a_plan_without_drafters_measures_the_baseline_alone():
    cells = plan(drafters=(), k=(), blocks=2).cells()
    assert {cell.spec.label for cell in cells} == {"baseline"}
    assert len(cells) == 8


def engine_order(asked):
    return [[spec.label for spec, _ in block] for block in asked.blocks_in_order()]


def cell_order(asked):
    """Temperatures and concurrencies as each engine measures them, engines by name."""
    return [
        [
            (spec.label, [(c.sampling.temperature, c.concurrency) for c in cells])
            for spec, cells in sorted(block, key=name)
        ]
        for block in asked.blocks_in_order()
    ]


def name(engine):
    return engine[0].label


@pytest.mark.parametrize("order", [engine_order, cell_order])
def test_the_order_is_that_of_the_seed(order):
    assert order(plan(seed=1)) == order(plan(seed=1))
    assert order(plan(seed=1)) != order(plan(seed=2))


@pytest.mark.parametrize("order", [engine_order, cell_order])
def test_blocks_differ_in_their_order(order):
    first, second, third = order(plan(seed=1))
    assert not first == second == third


def test_asking_twice_changes_nothing():
    asked = plan()
    assert asked.cells() == asked.cells()


def test_sampling_mode_and_workload_reach_the_cells():
    workload = WorkloadSpec(categories=("code",), max_tokens=9)
    cells = plan(sampling="as_served", workload=workload).cells()
    assert {cell.sampling.mode for cell in cells} == {"as_served"}
    assert all(cell.workload == workload for cell in cells)


# --- ids ------------------------------------------------------------------------------------------------


def test_cell_ids_are_unique():
    ids = [cell.id for cell in plan().cells()]
    assert len(ids) == 5 * 4 * 3
    assert len(set(ids)) == len(ids)


def test_ids_are_the_same_in_another_process():
    here = {}
    exec(LITERAL, here)
    show = "\nprint(plan.id, *(cell.id for cell in plan.cells()))"
    there = subprocess.run([sys.executable, "-c", LITERAL + show], capture_output=True, text=True, check=True).stdout
    assert there.split() == [here["plan"].id, *(cell.id for cell in here["plan"].cells())]


@pytest.mark.parametrize(
    "change",
    [
        {"engine": EngineConfig(target="other", kind="simulated")},
        {"temperatures": (0.5,)},
        {"concurrencies": (2,)},
        {"workload": WorkloadSpec(max_tokens=9)},
        {"seed": 7},
        {"sampling": "as_served"},
        {"k": (3,)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_is_asked_of_a_cell_is_in_its_id(change):
    drafted = [cell.id for cell in plan().cells() if cell.spec.k]
    assert not set(drafted) & {cell.id for cell in plan(**change).cells()}
    assert plan(**change).id != plan().id


def test_a_name_for_the_sweep_changes_no_cell():
    assert plan(name="mine").cells() == plan().cells()


def test_whole_numbers_written_either_way_ask_for_the_same():
    """YAML has ``[0, 1]``, Python users write either; the stored plan always comes back with 0.0."""
    whole, real = plan(temperatures=(0, 1)), plan(temperatures=(0.0, 1.0))
    assert whole == real
    assert whole.id == real.id
    assert [cell.id for cell in whole.cells()] == [cell.id for cell in real.cells()]


def test_a_cell_says_what_it_is():
    cell = plan(drafters=(DRAFT,), k=(2,), temperatures=(0.8,), concurrencies=(4,), blocks=1).cells()
    assert "block 1, draft-2l K=2, T=0.8, concurrency 4" in [c.label for c in cell]


# --- rules ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"k": ()}, ["drafters needs 'k'", "leave both out"]),
        ({"drafters": ()}, ["'k' needs drafters", "leave both out"]),
        ({"k": (0, 2)}, ["K ≥ 1", "baseline", "got [0, 2]"]),
        ({"k": (-1,)}, ["K ≥ 1", "got [-1]"]),
        ({"together": True, "concurrencies": (1, 4)}, ["'together'", "concurrencies: [1]"]),
        ({"together": True, "concurrencies": (1,), "engine": EngineConfig(target="t", port=8000)}, ["no port"]),
        ({"blocks": 0}, ["blocks", "≥ 1", "got 0"]),
        ({"concurrencies": (4, 0)}, ["concurrencies", "≥ 1", "[4, 0]"]),
        ({"temperatures": ()}, ["'temperatures' is empty", "at least one"]),
        ({"concurrencies": ()}, ["'concurrencies' is empty", "at least one"]),
        ({"k": {"ngram": (2,)}}, ["'k' names ['ngram']", "['draft-2l', 'ngram']", "give each a list"]),
        ({"k": {"ngram": (2, 2), "draft-2l": (1,)}}, ["lists a value twice", "[2, 2]"]),
        ({"k": {"ngram": (0,), "draft-2l": (1,)}}, ["K ≥ 1", "got [0]"]),
        ({"drafters": (DRAFT, DRAFT)}, ["different names", "['draft-2l', 'draft-2l']", "set 'name'"]),
        ({"temperatures": (0, 5)}, ["temperature", "[0, 2]", "5"]),
    ],
)
def test_a_wrong_plan_is_refused_when_it_is_made(change, said):
    message = words(lambda: plan(**change))
    for part in said:
        assert part in message


@pytest.mark.parametrize(
    "change",
    [{"k": (2, 2)}, {"temperatures": (0.0, 0.0)}, {"concurrencies": (4, 4)}],
    ids=lambda change: next(iter(change)),
)
def test_a_value_given_twice_is_no_second_cell(change):
    """Twice the same cell has one id and one measurement, and would count double in every figure."""
    try:
        ids = [cell.id for cell in plan(**change).cells()]
    except ConfigError as error:
        assert next(iter(change)) in str(error)  # noqa: PT017
    else:
        assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"max_tokens": 1}, ["max_tokens must be ≥ 2", "got 1"]),
        ({"per_category": 0}, ["per_category must be ≥ 1", "got 0"]),
    ],
)
def test_a_wrong_workload_is_refused(given, said):
    message = words(lambda: WorkloadSpec(**given))
    for part in said:
        assert part in message


def test_with_changes_what_is_given_and_validates_it():
    assert plan().with_(blocks=7, seed=None) == plan(blocks=7)
    assert "≥ 1" in words(lambda: plan().with_(blocks=0))


# --- files ----------------------------------------------------------------------------------------------


def test_the_shipped_demo_plan():
    demo = load_plan("data/plans/demo.yaml")
    assert demo.name == "demo"
    assert (demo.engine.target, demo.engine.kind) == ("demo", "vllm")
    labels = [spec.label for spec in demo.specs]
    assert labels == ["baseline", "eagle3 K=1", "eagle3 K=3", "draft-2l K=2", "ngram K=4"]
    assert (demo.temperatures, demo.concurrencies, demo.blocks) == ((0.0, 0.8), (1,), 1)


@pytest.mark.parametrize("path", sorted((DATA / "plans").glob("*.yaml")), ids=lambda path: path.stem)
def test_a_shipped_plan_asks_for_models_the_demo_has(path):
    from labkit.drafters.demo import demo_models

    models = [drafter.model for drafter in load_plan(path).drafters if drafter.model]
    assert set(models) <= set(demo_models())


def test_a_shipped_plan_is_found_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert load_plan("data/plans/demo.yaml").name == "demo"


def test_a_plan_is_read_back_as_it_was(tmp_path):
    asked = plan()
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(asked.plain()))
    assert load_plan(path) == asked
    assert load_plan(path).id == asked.id


def test_a_missing_plan_names_a_way_on(tmp_path):
    message = words(lambda: load_plan(tmp_path / "no.yaml"))
    for part in (str(tmp_path / "no.yaml"), "write one", "data/plans/demo.yaml"):
        assert part in message


def test_a_folder_is_no_plan(tmp_path):
    assert str(tmp_path) in words(lambda: load_plan(tmp_path))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"engine: [", ["not readable as YAML", "line 1"]),
        (b"a: b: c", ["not readable as YAML", "line 1"]),
        (b"\xff\xfe\x00", ["not readable as YAML"]),
        (b"", ["holds no mapping", "engine first"]),
        (b"- a\n- b\n", ["holds no mapping"]),
        (b"just text", ["holds no mapping"]),
        (b"engine: {target: t}\ntemprature: [0]\n", ["unknown key 'temprature'", "did you mean 'temperatures'?"]),
        (b"engine: {target: t, knd: vllm}\n", ["unknown key 'engine.knd'", "did you mean 'kind'?"]),
        (b"blocks: 2\n", ["engine", "required"]),
        (b"1: 2\nengine: {target: t}\n", ["1"]),
    ],
)
def test_a_broken_plan_is_named_with_its_fault(tmp_path, content, said):
    path = tmp_path / "my.yaml"
    path.write_bytes(content)
    message = words(lambda: load_plan(path))
    for part in (str(path), *said):
        assert part in message
    assert "\n" not in message
