"""What labkit says, in Chinese: by English original. Braces name what changes (see :mod:`labkit.view.phrases`)."""

from __future__ import annotations

from labkit.records import FLAGS
from labkit.view.zh.audits import AUDITS
from labkit.view.zh.claims import CLAIMS
from labkit.view.zh.comparison import COMPARISON
from labkit.view.zh.labels import LABELS
from labkit.view.zh.launching import LAUNCHING
from labkit.view.zh.migration import MIGRATION
from labkit.view.zh.prose import PROSE
from labkit.view.zh.reasons import REASONS
from labkit.view.zh.rules import RULES
from labkit.view.zh.sentences import SENTENCES

__all__ = ["PHRASES"]

_FLAGS = {f"{name}: {meaning}": f"{name}：{REASONS[meaning]}" for name, meaning in FLAGS.items()}

_LAUNCH = {**LAUNCHING, **RULES, **MIGRATION}

PHRASES = {**AUDITS, **CLAIMS, **COMPARISON, **LABELS, **_LAUNCH, **SENTENCES, **REASONS, **PROSE, **_FLAGS}
