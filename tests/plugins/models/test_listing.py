from __future__ import annotations

import anyio
import httpx
import pytest
from structlog.testing import capture_logs

from core import Model
from core.chat import UpstreamClient
from core.config import BackendConfig
from plugins.models import listing
from plugins.models.entry import Entry
from plugins.models.listing import listed_model, served_by

SERVED = {"one": [Model("up", created=5, context=100), Model("m", context=70)], "two": [Model("up", context=50)]}


@pytest.mark.parametrize(
    ("entries", "model"),
    [
        ((Entry("one"),), Model("m", "m")),
        ((Entry("one"), Entry("two", display_name="B"), Entry("three", display_name="C")), Model("m", "B")),
        ((Entry("one", context=9, max_output_tokens=4), Entry("two")), Model("m", "m", 0, 9, 4)),
        (
            (Entry("one", context=9, max_output_tokens=4), Entry("two", context=8, max_output_tokens=5)),
            Model("m", "m", 0, 8, 4),
        ),
        ((Entry("one", "up", list=True),), Model("m", "m", 5, 100)),
        ((Entry("one", list=True),), Model("m", "m", 0, 70)),
        ((Entry("one", "up", list=True), Entry("two", "up", list=True)), Model("m", "m", 5, 50)),
        ((Entry("one", "up", list=True), Entry("two", "up")), Model("m", "m", 5, 100)),
        ((Entry("one", "up", list=True, context=3),), Model("m", "m", 5, 3)),
        ((Entry("three", list=True), Entry("one", "none", list=True)), Model("m", "m")),
    ],
)
def test_a_listed_model_promises_what_any_candidate_keeps(entries: tuple[Entry, ...], model: Model) -> None:
    assert listed_model("m", entries, SERVED) == model


def client(name: str, reply: httpx.MockTransport) -> UpstreamClient:
    return UpstreamClient(BackendConfig(name, ("p",), url=f"http://{name}"), reply)


@pytest.mark.anyio
async def test_all_backends_are_asked_at_the_same_time_and_each_once() -> None:
    asked: list[str] = []
    both = anyio.Event()

    async def reply(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.host)
        if len(asked) == 2:
            both.set()
        await both.wait()
        return httpx.Response(200, json={"data": [{"id": request.url.host}]})

    clients = {name: client(name, httpx.MockTransport(reply)) for name in ("one", "two")}
    with anyio.fail_after(5):
        served = await served_by(["one", "two", "one", "gone"], clients)
    assert served == {"one": [Model("one")], "two": [Model("two")]}
    assert sorted(asked) == ["one", "two"]


@pytest.mark.anyio
async def test_a_backend_that_fails_or_is_slow_lists_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def reply(request: httpx.Request) -> httpx.Response:
        if request.url.host == "slow":
            await anyio.sleep_forever()
        return httpx.Response(500)

    monkeypatch.setattr(listing, "LIST_TIME", 0.01)
    clients = {name: client(name, httpx.MockTransport(reply)) for name in ("slow", "down")}
    with capture_logs() as logs:
        assert await served_by(clients, clients) == {"slow": (), "down": ()}
    assert sorted(line["backend"] for line in logs) == ["down", "slow"]
