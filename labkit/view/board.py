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
    const shown = places(grid, charts.length), light = document.body.dataset.jpThemeLight;
    const paint = (plot, {data, layout}) => Plotly.react(
      plot, data, {...themed(layout), autosize: true}, {displayModeBar: false});
    const chart = ({data, layout, ...rest}) => (
      {...rest, key: [data, layout], figure: () => ({data, layout})});
    await settled(card, charts.map((given, i) => show(shown[i], chart(given), light, paint)));
    el.dataset.drawn = String(Number(el.dataset.drawn || 0) + 1);
    busy = false;
    if (again) { again = false; draw(); }
  }
  model.on("change:state", draw);
  const theme = new MutationObserver(draw);
  theme.observe(document.body, {attributes: true, attributeFilter: ["data-jp-theme-light"]});
  await draw();
  // A cell is drawn before it has its width, and changes it when a side bar opens: the window stays as it is.
  let width = 0;
  const sized = new ResizeObserver(() => {
    if (grid.clientWidth === width) return;
    width = grid.clientWidth;  // 0 while it is hidden
    if (width) grid.querySelectorAll(".js-plotly-plot").forEach(plot => Plotly.Plots.resize(plot));
  });
  sized.observe(grid);
  return () => {
    for (const watch of [theme, sized]) watch.disconnect();
    grid.querySelectorAll(".js-plotly-plot").forEach(plot => Plotly.purge(plot));
  };
}
export default {render};
"""


class Board(anywidget.AnyWidget):
    """``state``: {"charts": [:data:`labkit.view.board_charts.Chart`, …], "card": HTML}. The HTML must be escaped
    already."""

    _esm = asset("library.js") + _RENDER
    _css = asset("board.css")
    library = traitlets.Bytes().tag(sync=True)
    state = traitlets.Dict({"charts": [], "card": ""}).tag(sync=True)

    def __init__(self, state: dict[str, Any]) -> None:
        super().__init__(library=plotly_gzip(), state=state)
