"""A model of a local folder, whole, for reading its weights or its hidden states in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["whole_model"]


def whole_model(folder: str | Path) -> Any:
    """The transformers model in ``folder``, float32, for inference. Without a progress bar: in a notebook that is a
    widget, and a report shows none."""
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    finally:
        if shown:
            logging.enable_progress_bar()
