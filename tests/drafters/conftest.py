"""A tiny target, as trainings use it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.conftest import make_target


@pytest.fixture(scope="session")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_target(tmp_path_factory.mktemp("models") / "target")
