"""One scripted upstream, one gateway process and one place for installed clients, for all tests here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clients.installs import Installs
from tests.clients.stage import Stage
from tests.server.gateway import GatewayProcess, running

DIALECTS = ("vllm", "ollama", "openai", "deepseek")
"""The backends there are, each with the plugin of its name."""

LISTED = ("org/one", "org/two", "org/three", "org/four", "org/five")
"""The models that have exact names in [models], and so are listed."""

HASTY = "hasty-*"
"""Models whose backend waits only 0.3 s for its upstream."""


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    with Stage().open() as stage:
        yield stage


@pytest.fixture(scope="session")
def gateway(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    with pytest.MonkeyPatch.context() as patch:
        # The tests may run under another SDK's packages; the gateway runs under its own.
        patch.delenv("PYTHONPATH", raising=False)
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        with running(tmp_path_factory.mktemp("gateway"), tables(stage.upstream.url)) as gateway:
            yield gateway


@pytest.fixture(scope="session")
def installs(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Installs:
    cache = pytestconfig.cache
    return Installs(cache.mkdir("clients") if cache else tmp_path_factory.mktemp("clients"))


def tables(url: str) -> str:
    """A backend for each dialect on the one upstream; a model `DIALECT-…` is served by it under its own name."""
    lines = ["[models]"]
    lines += [f'"{model}" = {{ backend = "vllm" }}' for model in LISTED]
    lines += [f'"{name}-*" = {{ backend = "{name}" }}' for name in DIALECTS]
    lines += [f'"{HASTY}" = {{ backend = "hasty" }}']
    for name in DIALECTS:
        lines += [f"[backends.{name}]", f'plugins = ["{name}"]', f'url = "{url}"']
    lines += ["[backends.hasty]", 'plugins = ["openai"]', f'url = "{url}"', "first_timeout = 0.3", "read_timeout = 0.3"]
    return "\n".join(lines) + "\n"
