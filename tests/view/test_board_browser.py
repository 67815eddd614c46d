"""The board of a report in Chromium, with no network and no kernel: controls moved, data read back and compared with
the tables; the address; other colours; paper."""

import random

import pytest

from labkit.view.board_charts import charts
from labkit.view.lab import Lab
from labkit.view.page_checks import BUDGET
from labkit.view.selection import Selection
from labkit.view.static_board import board_axes
from tests.boards import REPORT, check
from tests.jupyter import ARTEFACTS
from tests.view.test_report_browser import Opened, built, offline, shift  # noqa: F401, a fixture
from tests.view.test_static_board import LOADS

pytestmark = pytest.mark.browser

CELLS = """\
import labkit
run = labkit.open_run({folder!r})
---
labkit.summary(run)
---
labkit.figures.board(run)
---
labkit.finish(run)
"""
#: What stands beside the charts.
SHOWN = """() => ({
  card: document.querySelector('.board .card').textContent,
  hash: location.hash.slice(1),
})"""
#: Moves control ``i`` to ``value`` as a person does, and resolves when it is drawn.
MOVE = """([i, value]) => new Promise(done => {
  const board = document.querySelector('.board');
  const control = board.querySelectorAll('.controls select, .controls input')[i];
  new MutationObserver((_, watch) => { watch.disconnect(); done(); })
    .observe(board, {attributes: true, attributeFilter: ['data-drawn']});
  control.value = value;
  control.dispatchEvent(new Event('input', {bubbles: true}));
})"""


@pytest.fixture(scope="module")
def run(sweep, store):
    return store(sweep(jitter=0.2, **LOADS), **LOADS)


@pytest.fixture(scope="module")
def lab(run):
    return Lab(run)


@pytest.fixture(scope="module")
def axes(lab):
    return board_axes(lab, lab.default(), "en", largest=3000)[0]


@pytest.fixture(scope="module")
def report(run, tmp_path_factory):
    return built(tmp_path_factory.mktemp("board"), CELLS.format(folder=str(run.folder)), "# And otherwise?")


@pytest.fixture(scope="module")
def opened(offline, report):  # noqa: F811
    return Opened(offline.new_page(), report)


def wanted(lab, values):
    answer = lab.answer(Selection(**values, interpolate=True))
    return answer, charts(answer, largest_k=lab.options.largest_k)


def test_every_control_moves_and_what_is_drawn_is_what_the_tables_say(opened, lab, axes):
    page, draw, at = opened.page, random.Random(11), {}
    come_near(page)
    for axis in axes:
        at[axis.name] = getattr(lab.default(), axis.name)
    for _ in range(60):
        i = draw.randrange(len(axes))
        place = draw.randrange(len(axes[i].values))
        if axes[i].values[place] == at[axes[i].name]:
            continue  # no event of a control that stays
        at[axes[i].name] = axes[i].values[place]
        page.evaluate(MOVE, [i, str(place)])
        answer, drawn = wanted(lab, at)
        check(page, REPORT, drawn)
        if answer.chosen:
            assert f"{answer.chosen['speedup']:.2f}×" in page.evaluate(SHOWN)["card"]
    assert page.evaluate(FEW)
    assert opened.complaints == []
    assert opened.outside == []


def test_the_keyboard_moves_a_slider(opened, lab, axes):
    page = opened.page
    slider = page.locator(".board input[type=range]").first
    slider.focus()
    before = int(slider.input_value())
    slider.press("ArrowLeft" if before else "ArrowRight")
    page.wait_for_timeout(300)
    now = int(slider.input_value())
    assert abs(now - before) == 1
    assert page.locator(".board output").first.text_content() == axes[1].texts[now]
    assert f"k={axes[1].values[now]}" in page.evaluate(SHOWN)["hash"]


def test_the_address_carries_the_selection(offline, report, lab):  # noqa: F811
    page = offline.new_page()
    try:
        link = "drafter=draft&k=2&temperature=0.3&concurrency=4&category=sql"
        page.goto(f"{report.as_uri()}#{link}")
        page.wait_for_selector("body[data-ready=yes]", timeout=20_000)
        values = {"drafter": "draft", "k": 2, "temperature": 0.3, "concurrency": 4, "category": "sql"}
        check(page, REPORT, wanted(lab, values)[1])
        page.evaluate(MOVE, [1, "3"])
        assert page.evaluate(SHOWN)["hash"] == link.replace("k=2", "k=4")
        page.goto(f"{report.as_uri()}#{link.replace('draft&', 'ngram&')}")  # only the fragment: no reload
        page.wait_for_function("document.querySelector('.board .card h3').textContent.startsWith('ngram K=2')")
        page.goto(f"{report.as_uri()}#drafter=nobody&k=99&x=1")
        assert page.evaluate(SHOWN)["card"].startswith("ngram K=2"), "what is not there is left alone"
    finally:
        page.close()


#: Counts the charts in sight that plotly draws.
COUNTED = """() => {
  const {react} = Plotly;
  window.paints = 0;
  Plotly.react = (place, ...all) => {
    window.paints += !place.classList.contains('labkit-ahead');
    return react(place, ...all);
  };
}"""
FEW = "[...document.querySelectorAll('.board .charts > div')].every(place => place.kept.size <= KEPT)"


def come_near(page):
    """Until what may be wanted next is drawn."""
    page.hover(".board .notes")
    page.hover(".board .controls")
    page.wait_for_selector(".board[data-ahead=drawn]", timeout=20_000)


@pytest.mark.parametrize("script", ["", "delete globalThis.requestIdleCallback"])
def test_what_is_next_to_the_chosen_setting_is_drawn_already(offline, report, lab, axes, script):  # noqa: F811
    """Moved there, away and back again; and at another width, what was kept is not as wide as its place."""
    page, at = offline.new_page(), {axis.name: getattr(lab.default(), axis.name) for axis in axes}
    try:
        page.add_init_script(script)
        page.goto(report.as_uri())
        page.wait_for_selector("body[data-ready=yes]", timeout=20_000)
        page.evaluate(COUNTED)
        for width in (1280, 900):
            page.set_viewport_size({"width": width, "height": 720})
            page.wait_for_timeout(300)  # plotly waits a tenth of a second
            come_near(page)
            page.evaluate("window.paints = 0")
            for i, axis in enumerate(axes):
                start = axis.values.index(at[axis.name])
                for place in (start - 1 if start else start + 1, start):
                    page.evaluate(MOVE, [i, str(place)])
                    assert page.evaluate("window.paints") == 0, (axis.name, width)
                    check(page, REPORT, wanted(lab, at | {axis.name: axis.values[place]})[1])
                page.wait_for_selector(".board[data-ahead=drawn]", timeout=20_000)
    finally:
        page.close()


@pytest.fixture
def page(offline, report):  # noqa: F811
    page = offline.new_page()
    page.goto(report.as_uri())
    page.wait_for_selector("body[data-ready=yes]", timeout=20_000)
    yield page
    page.close()


def test_nobody_near_and_nothing_is_drawn_ahead(page):
    page.wait_for_timeout(500)
    kept = "[...document.querySelectorAll('.board .charts > div')].map(place => place.kept.size)"
    assert page.evaluate(kept) == [1, 1, 1, 0, 1], "the shown ones"
    come_near(page)
    assert min(page.evaluate(kept)[:3]) > 1


def test_who_zooms_in_or_hides_a_trace_finds_the_whole_again(page):
    """But not while the chart stays: a link to another part of the page leaves it alone."""
    come_near(page)
    last = "[...document.querySelectorAll('.board .js-plotly-plot')].at(-1)"
    state = f"(plot => [plot._fullLayout.xaxis.range, plot._fullData[0].visible])({last})"
    whole = page.evaluate(state)
    for change, seen in (
        ("relayout(plot, {'xaxis.range': [.1, .2]})", [[0.1, 0.2], True]),
        ("restyle(plot, {visible: 'legendonly'}, [0])", [whole[0], "legendonly"]),
    ):
        page.evaluate(f"(plot => Plotly.{change})({last})")
        page.evaluate("location.hash = 'section-1'")
        page.wait_for_timeout(200)
        assert page.evaluate(state) == seen
        for drafter in ("0", "1"):  # away and back
            page.evaluate(MOVE, [0, drafter])
        assert page.evaluate(state) == whole
        come_near(page)


def test_a_burst_is_drawn_once_with_the_last_value(opened):
    drawn = opened.page.evaluate("""async () => {
      const board = document.querySelector('.board'), control = board.querySelector('input');
      const before = Number(board.dataset.drawn);
      for (const value of [0, 1, 2, 3, 4, 5, 6, 7, 2]) {
        control.value = value;
        control.dispatchEvent(new Event('input', {bubbles: true}));
      }
      await new Promise(done => setTimeout(done, 500));
      return [Number(board.dataset.drawn) - before, board.querySelector('output').value];
    }""")
    assert drawn == [1, "3"]


def test_it_is_small(report):
    """How quick it is, benchmarks/report_page.py measures."""
    assert report.stat().st_size <= BUDGET


def test_an_address_that_names_no_setting_draws_nothing_anew(opened):
    """A link of the contents changes the address, too."""
    come_near(opened.page)
    touched, asked = opened.page.evaluate("""async () => {
      const board = document.querySelector('.board'), before = board.dataset.drawn, touched = [];
      const watch = new MutationObserver(changes => touched.push(...changes));
      watch.observe(board.querySelector('.charts'), {subtree: true, childList: true, attributes: true});
      location.hash = 'section-1';
      await new Promise(done => setTimeout(done, 300));
      watch.disconnect();
      return [touched.length, board.dataset.drawn !== before];
    }""")
    assert (touched, asked) == (0, True)


def test_nothing_moves_when_it_is_drawn(offline, report):  # noqa: F811
    assert shift(offline, report) <= 40, "a card may have a line more or less"


def test_night_and_paper(offline, report):  # noqa: F811
    page = offline.new_page()
    paper = "() => getComputedStyle(document.querySelector('.board .charts .main-svg')).backgroundColor"
    try:
        page.emulate_media(color_scheme="dark")
        page.goto(report.as_uri())
        page.wait_for_selector("body[data-ready=yes]", timeout=20_000)
        assert page.evaluate(paper) == "rgb(22, 24, 28)"
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 24, 28)"
        ARTEFACTS.mkdir(exist_ok=True)
        page.screenshot(path=ARTEFACTS / "board-night.png", full_page=True)
        come_near(page)
        page.emulate_media(color_scheme="light")
        page.wait_for_function(f"({paper})() === 'rgb(255, 255, 255)'")
        page.evaluate(MOVE, [0, "1"])
        assert page.evaluate(paper) == "rgb(255, 255, 255)", "what was drawn ahead at night stays there"
        page.pdf(path=ARTEFACTS / "board.pdf")
        assert page.locator(".board .charts .js-plotly-plot").count() == 4
        page.emulate_media(media="print")
        assert not page.locator(".board .controls").is_visible()
    finally:
        page.close()
