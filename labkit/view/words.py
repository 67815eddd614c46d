"""Labels in English and Chinese."""

from __future__ import annotations

from labkit.view.zh.labels import LABELS

__all__ = ["LANGUAGES", "word"]

LANGUAGES = ("en", "zh")

#: Of the panel, to be filled in.
_FORMS = {"about {n} s left": "约剩 {n} 秒", "measured here in {n} s": "本机实测用时 {n} 秒"}


def word(text: str, language: str) -> str:
    """``text``, which is English, in ``language``; itself where there is no translation."""
    return (LABELS.get(text) or _FORMS.get(text, text)) if language == "zh" else text
