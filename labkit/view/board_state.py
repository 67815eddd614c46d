"""What one selection shows: charts and card, or the sentence that says why there are none. The live panel and the
board in an exported page both draw exactly this."""

from __future__ import annotations

from html import escape
from typing import Any

from labkit.errors import LabError
from labkit.view.board_card import card_html
from labkit.view.board_charts import charts
from labkit.view.lab import Lab
from labkit.view.selection import Selection

__all__ = ["board_state"]


def board_state(lab: Lab, selection: Selection, language: str = "en") -> dict[str, Any]:
    """``{"charts": [{"data", "layout"}, …], "card": HTML}``, plain JSON; the HTML is escaped."""
    try:
        answer = lab.answer(selection)
        drawn = charts(answer, language, largest_k=lab.options.largest_k)
        return {"charts": drawn, "card": card_html(answer, lab.plan.engine, lab.spec(selection), language)}
    except LabError as error:
        return {"charts": [], "card": f"<p class='labkit-missing'>{escape(str(error))}</p>"}
