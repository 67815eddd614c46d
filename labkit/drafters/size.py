"""How large a drafter is, where its weights lie on this machine."""

from __future__ import annotations

from pathlib import Path

from labkit.drafters.demo import locate
from labkit.errors import ConfigError

__all__ = ["size_text"]


def size_text(model: str | None) -> list[str]:
    """The size of the weights of ``model`` in one text; none where it has no weights or they are not here."""
    try:
        folder = Path(locate(model)) if model else None
    except ConfigError:
        return []
    if folder is None or not folder.is_dir():
        return []
    size = sum(path.stat().st_size for kind in ("*.safetensors", "*.bin", "*.gguf") for path in folder.glob(kind))
    return [f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"] if size else []
