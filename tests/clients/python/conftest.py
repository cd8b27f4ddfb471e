"""The SDK's client in front of the gateway."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import anthropic
import pytest

from tests.server.gateway import GatewayProcess

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("clients")


@pytest.fixture(scope="session", autouse=True)
def _no_settings() -> Iterator[None]:
    """Without the settings that the SDK would take from the environment."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("ANTHROPIC_")]:
            patch.delenv(name)
        yield


@pytest.fixture(scope="session")
def client(gateway: GatewayProcess) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=gateway.url, api_key="client-key", max_retries=0, timeout=20) as client:
        yield client
