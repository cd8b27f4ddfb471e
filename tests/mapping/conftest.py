from __future__ import annotations

import pytest

from tests.mapping.wire import Wire


@pytest.fixture(scope="session")
def wire() -> Wire:
    return Wire()
