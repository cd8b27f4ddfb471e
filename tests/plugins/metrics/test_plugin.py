from __future__ import annotations

import socket
import tempfile
from pathlib import Path

import httpx
import pytest

from core import Config, ConfigError, HTTPRequest, Traffic
from core.config import PipelineConfig
from plugins.metrics import Metrics
from plugins.metrics.scrape import CONTENT_TYPE
from tests.plugins.metrics.samples import answered, parsed, value

pytestmark = pytest.mark.anyio

SCRAPE = HTTPRequest("GET", "/metrics")
CONFIG = Config("f", (PipelineConfig("p", ("/v1", "/"), ("anthropic", "models")),), {})


@pytest.fixture(autouse=True)
def own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def serve_one(plugin: Metrics) -> None:
    plugin.observe([answered()], Traffic("p"))


async def test_requests_are_on_the_page() -> None:
    plugin = Metrics()
    async with plugin.lifespan():
        serve_one(plugin)
        page = plugin.page(SCRAPE)
    assert page is not None
    assert (page.status, page.content_type) == (200, CONTENT_TYPE)
    assert value(parsed(page.body), "hookline_requests_total", outcome="end_turn") == 1


async def test_other_paths_are_not_its_own() -> None:
    assert Metrics().page(HTTPRequest("GET", "/v1/metrics")) is None
    assert Metrics(path="/m").page(SCRAPE) is None


async def test_without_a_lifespan_nothing_is_counted() -> None:
    plugin = Metrics()
    serve_one(plugin)
    page = plugin.page(SCRAPE)
    assert page is not None
    assert page.status == 503


@pytest.mark.parametrize("overlap", [True, False])
async def test_a_reload_neither_fails_nor_resets(overlap: bool) -> None:
    old, new = Metrics(), Metrics(max_models=7)
    running = old.lifespan()
    await running.__aenter__()
    late = Traffic("p", running=1)
    old.observe([answered()], late)
    if not overlap:
        await running.__aexit__(None, None, None)
    async with new.lifespan():
        if overlap:
            await running.__aexit__(None, None, None)
        serve_one(new)
        page = new.page(SCRAPE)
        assert page is not None
        assert value(parsed(page.body), "hookline_requests_in_flight") == 1
        late.running = 0
        old.observe([answered()], late)
        page = new.page(SCRAPE)
        assert page is not None
        found = parsed(page.body)
        assert value(found, "hookline_requests_total") == 3
        assert value(found, "hookline_requests_in_flight") == 0


async def test_with_an_address_of_its_own_it_is_there_alone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        bind = f"127.0.0.1:{probe.getsockname()[1]}"
    plugin = Metrics(bind=bind)
    async with plugin.lifespan():
        serve_one(plugin)
        assert plugin.page(SCRAPE) is None
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.get(f"http://{bind}/metrics")
    assert value(parsed(answer.content), "hookline_requests_total") == 1


async def test_an_address_that_is_taken_stops_the_start() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        running = Metrics(bind=f"127.0.0.1:{taken.getsockname()[1]}").lifespan()
        with pytest.raises(OSError, match="in use"):
            await running.__aenter__()


async def test_a_directory_that_is_gone_is_told(tmp_path: Path) -> None:
    plugin = Metrics()
    async with plugin.lifespan():
        move_away(tmp_path)
        page = plugin.page(SCRAPE)
    assert page is not None
    assert page.status == 500
    assert b"the log says why" in page.body


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"bind": "9464"}, "'9464' is not HOST:PORT"),
        ({"path": "metrics"}, "not free"),
        ({"path": "/"}, "not free"),
        ({"path": "/healthz"}, "not free"),
        ({"path": "/v1/metrics"}, "not free"),
    ],
)
async def test_options_that_cannot_be(options: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Metrics(**options).check(CONFIG)  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{}, {"path": "/v12"}, {"bind": "127.0.0.1:9464", "path": "/v1"}])
async def test_options_that_can(options: dict[str, str]) -> None:
    Metrics(**options).check(CONFIG)  # type: ignore[arg-type]


def move_away(directory: Path) -> None:
    (base,) = directory.iterdir()
    base.rename(directory / "elsewhere")
