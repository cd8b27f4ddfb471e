"""One stage for all tests here; each leaves both replicas up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.deploy.edge import Edge
from tests.deploy.haproxy import program


@pytest.fixture(scope="session")
def edge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Edge]:
    program()
    made = Edge(tmp_path_factory.mktemp("edge"))
    with made.open():
        yield made
