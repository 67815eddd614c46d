"""Loading a model says nothing, and leaves the user's progress bars as they were."""

import pytest
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.utils import logging

from labkit.drafters.whole_model import whole_model


@pytest.mark.parametrize("shown", [True, False])
def test_no_bar_is_shown_and_the_switch_stays(tmp_path, capfd, shown):
    size = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    LlamaForCausalLM(LlamaConfig(vocab_size=32, **size)).save_pretrained(tmp_path)
    before = logging.is_progress_bar_enabled()
    (logging.enable_progress_bar if shown else logging.disable_progress_bar)()
    try:
        capfd.readouterr()
        model = whole_model(tmp_path)
        assert "Loading" not in capfd.readouterr().err
        assert logging.is_progress_bar_enabled() is shown
        assert not model.training
    finally:
        (logging.enable_progress_bar if before else logging.disable_progress_bar)()
