"""The same made-up sweeps as for the views."""

from tests.view.conftest import sweep

__all__ = ["sweep"]
