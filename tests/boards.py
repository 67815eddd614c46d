"""A board that a browser shows, read back and compared with the charts that were meant."""

import re
from html import unescape

import pytest
from plotly.colors import hex_to_rgb

#: Charts at the places that a selector names, as they are drawn: title, traces, and where the mark stands on the axes.
READ = """selector => [...document.querySelectorAll(selector)].map(place => {
  const [plot, line, ring] = place.querySelector('.labkit-frame').children, {xaxis, yaxis} = plot._fullLayout ?? {};
  const at = (axis, mark, side) => mark.hidden ? null : axis.p2d(parseFloat(mark.style[side]) - axis._offset);
  return {
    title: place.querySelector('.labkit-title').textContent,
    traces: (plot.data ?? []).map(t => ({name: t.name ?? null, x: Array.from(t.x), y: Array.from(t.y)})),
    mark: xaxis ? {x: at(xaxis, line, 'left'), y: at(yaxis, ring, 'top'), colour: ring.style.borderColor} : null,
    text: plot.data ? null : plot.textContent,
  };
})"""
#: Whether every chart is as wide as its place; plotly waits a tenth of a second before it makes it so.
FITS = """selector => [...document.querySelectorAll(`${selector} .js-plotly-plot`)].every(
  plot => Math.abs(plot.clientWidth - plot._fullLayout.width) <= 1)"""
PANEL, REPORT = ".labkit-grid > div", ".board .charts > div"


def check(page, places, drawn):
    """What ``page`` shows at ``places`` is ``drawn``: numbers to four digits, marks to a thousandth."""
    page.wait_for_function(FITS, arg=places, timeout=5_000)
    found = page.evaluate(READ, places)
    assert [chart["title"] for chart in found] == [chart["title"] for chart in drawn]
    for there, here in zip(found, drawn, strict=True):
        if "html" in here:
            assert there["text"] == unescape(re.sub("<[^>]*>", "", here["html"]))
            continue
        assert [t["name"] for t in there["traces"]] == [t.get("name") for t in here["data"]]
        for shown, meant in zip(there["traces"], here["data"], strict=True):
            for axis in ("x", "y"):
                assert shown[axis] == [close(value, rel=1e-4) for value in meant[axis]]
        for axis in ("x", "y"):
            assert there["mark"][axis] == close((here["mark"] or {}).get(axis), abs=1e-3), there["title"]
        if there["mark"]["y"] is not None:
            assert there["mark"]["colour"] == f"rgb{hex_to_rgb(here['mark']['colour'])}"


def close(value, **tolerance):
    return pytest.approx(value, **tolerance) if isinstance(value, int | float) else value
