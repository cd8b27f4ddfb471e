"""llama.cpp's own server with the tiny model, a gateway in front of it, and the official SDK as the client."""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Iterator
from typing import Any

import anthropic
import attrs
import pytest

from plugins.embedded.engine import Options
from plugins.embedded.runtime import join
from tests.server.gateway import GatewayProcess, running
from tests.server.processes import TINY

TABLES = """
[models]
"tiny-counter" = {{ backend = "engine" }}
"endless" = {{ backend = "endless" }}
"embedded" = {{ backend = "embedded" }}
[backends.engine]
plugins = ["llama_cpp"]
url = "{url}"
[backends.endless]
plugins = ["llama_cpp"]
url = "{url}"
extra_body = {{ ignore_eos = true }}
[backends.embedded]
plugins = ["embedded"]
[backends.embedded.embedded]
model = "{model}"
context = 4096
"""


@attrs.frozen
class Engine:
    """A running llama.cpp server."""

    url: str

    def slots(self) -> list[dict[str, Any]]:
        """What its slots are doing."""
        with urllib.request.urlopen(f"{self.url}/slots", timeout=10) as answer:
            return json.load(answer)  # type: ignore[no-any-return]

    def busy(self) -> bool:
        """Whether it is generating anything."""
        return any(slot["is_processing"] for slot in self.slots())


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    pytest.importorskip("xllamacpp", reason="llama.cpp's server is not installed: pip install 'hookline[local]'")
    options = Options(model=TINY, context=8192, slots=2, threads=1, reasoning="deepseek")
    joined = join(options, os.getpid(), tmp_path_factory.mktemp("run"))
    joined.connection.settimeout(30)
    yield Engine("http://127.0.0.1:{port}".format(**json.loads(joined.connection.recv(4096))))
    joined.close()
    assert joined.process is not None
    joined.process.wait(10)


@pytest.fixture(scope="session")
def gateway(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    with running(tmp_path_factory.mktemp("gateway"), TABLES.format(url=engine.url, model=TINY)) as gateway:
        yield gateway


@pytest.fixture(scope="session")
def client(gateway: GatewayProcess) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=gateway.url, api_key="unused", max_retries=0, timeout=60) as client:
        yield client
