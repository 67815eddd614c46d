"""One live widget: several plotly charts and a card above them, drawn from the current traits by plotly.js.

A change of a selection is one assignment to ``state`` and so one message, whatever it changes; a page that is
reloaded draws the current state, not the first. plotly.js travels once, compressed, and not with each figure.
"""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from labkit.view.library import plotly_gzip
from labkit.view.page import asset

__all__ = ["Board"]

_RENDER = """
async function render({model, el}) {
  el.classList.add("labkit-board");
  const card = Object.assign(document.createElement("div"), {className: "labkit-card"});
  card.setAttribute("aria-live", "polite");
  const grid = Object.assign(document.createElement("div"), {className: "labkit-grid"});
  el.append(card, grid);
  const Plotly = await library(model.get("library"));
  const axis = given => ({...given, gridcolor: "#3a3a3a", linecolor: "#888", tickcolor: "#888"});
  const themed = layout => document.body.dataset.jpThemeLight !== "false" ? layout : {
    ...layout, paper_bgcolor: "#1e1e1e", plot_bgcolor: "#1e1e1e", font: {color: "#ddd"},
    xaxis: axis(layout.xaxis), yaxis: axis(layout.yaxis)};
  let busy = false, again = false;
  async function draw() {
    if (busy) { again = true; return; }
    busy = true;
    const {charts, card: html} = model.get("state");
    fill(card, html);
    const shown = places(grid, charts.length);
    await settled(card, charts.map(({data, layout}, i) => Plotly.react(
      shown[i], data, {...themed(layout), autosize: true}, {displayModeBar: false, responsive: true})));
    el.dataset.drawn = String(Number(el.dataset.drawn || 0) + 1);
    busy = false;
    if (again) { again = false; draw(); }
  }
  model.on("change:state", draw);
  const theme = new MutationObserver(draw);
  theme.observe(document.body, {attributes: true, attributeFilter: ["data-jp-theme-light"]});
  await draw();
  return () => { theme.disconnect(); for (const chart of grid.children) Plotly.purge(chart); };
}
export default {render};
"""


class Board(anywidget.AnyWidget):
    """``state``: {"charts": [{"data", "layout"}, …], "card": HTML}. The HTML must be escaped already."""

    _esm = asset("library.js") + _RENDER
    _css = """
    .labkit-board .labkit-grid {display: grid; grid-template-columns: repeat(auto-fit, minmax(430px, 1fr)); gap: 8px;}
    .labkit-board .labkit-card {border-left: 4px solid #009E73; padding: 8px 14px; margin: 6px 0;}
    .labkit-board .labkit-card h3 {margin: 2px 0 6px;}
    .labkit-board table.labkit td, .labkit-board table.labkit th {padding: 2px 14px 2px 0; text-align: left;}
    .labkit-board .labkit-missing {color: #B34700;}
    .labkit-board code {user-select: all; white-space: pre-wrap; word-break: break-all;}
    """
    library = traitlets.Bytes().tag(sync=True)
    state = traitlets.Dict({"charts": [], "card": ""}).tag(sync=True)

    def __init__(self, state: dict[str, Any]) -> None:
        super().__init__(library=plotly_gzip(), state=state)
