"""The soak comes last: it wants the machine for itself, and the quick tests shall have failed before it."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the soak behind all other tests."""
    items.sort(key=lambda item: item.get_closest_marker("soak") is not None)
