"""What a finished page must not do: ask for anything outside itself, run what a cell put there, outgrow a mail."""

from __future__ import annotations

import re
from html.parser import HTMLParser

__all__ = ["BUDGET", "reaches_out"]

#: Bytes of a page at most.
BUDGET = 3_000_000

#: Attributes whose address a browser loads by itself, or sends to.
_LOADS = {
    "src", "srcset", "poster", "data", "background", "action", "formaction", "xlink:href", "manifest", "ping",
}  # fmt: skip
_FRAMES = {"iframe", "frame", "object", "embed", "applet", "base", "portal"}
_DATA_ONLY = {"application/json", "text/plain", "text/csv"}
_STYLE = re.compile(r"@import|image-set\(|url\(\s*['\"]?(?!data:|#)", re.IGNORECASE)


def reaches_out(body: str) -> list[str]:
    """Everything in ``body`` that loads from elsewhere or runs, as it stands there. A link to click is neither."""
    reader = _Reader()
    reader.feed(body)
    reader.close()
    return reader.found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: (value or "").strip() for name, value in attrs}
        self._inside = tag
        runs = tag == "script" and given.get("type", "") not in _DATA_ONLY
        refresh = tag == "meta" and given.get("http-equiv", "").lower() == "refresh"
        if runs or refresh or tag in _FRAMES or any(_bad(tag, *pair) for pair in given.items()):
            self.found.append((self.get_starttag_text() or tag)[:120])

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self._inside = ""

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "style" and _STYLE.search(data):
            self.found.append(data.strip()[:120])


def _bad(tag: str, name: str, value: str) -> bool:
    value = re.sub(r"[\s\x00-\x1f]", "", value)  # as a browser reads an address
    inside = not value or value.startswith(("data:", "#"))
    if name.startswith("on"):
        return True
    if name == "style":
        return bool(_STYLE.search(value))
    if name == "href":
        return value.lower().startswith("javascript:") or (tag != "a" and not inside)
    return name in _LOADS and not inside
