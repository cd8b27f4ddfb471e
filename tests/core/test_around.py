"""The `exchange` hook, through the gateway: entered before all else, left after the last byte, whatever happened."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs

from core import Chunk, HTTPRequest, Record, RequestError, UpstreamError, around, hookimpl
from tests.core.fakes import Collected, gateway

pytestmark = pytest.mark.anyio


async def hello() -> AsyncIterator[list[Chunk]]:
    yield [{"text": "hello", "end": True}]


async def fails() -> AsyncIterator[list[Chunk]]:
    yield [{"text": "a"}]
    raise UpstreamError("boom")


class Watcher:
    """Writes down when it was entered and left, and what the record said by then."""

    def __init__(self, events: list[Any], name: str = "w") -> None:
        self.events, self.name = events, name

    @hookimpl
    def exchange(self, http: HTTPRequest, record: Record) -> AbstractAsyncContextManager[None]:
        @asynccontextmanager
        async def around() -> AsyncIterator[None]:
            self.events.append(("in", self.name, http.path))
            yield
            self.events.append(("out", self.name, record.status, record.error and record.error.message, record.left))

        return around()


class Outer(Watcher):
    """Another."""


async def ask(path: str, *front: object, script: Any = hello) -> Collected:
    served, _ = gateway(script, front=front)
    sink = Collected()
    await served.handle(HTTPRequest("POST", path, id="req_1"), sink)
    return sink


@pytest.mark.parametrize(
    ("path", "script", "seen"),
    [
        ("/api/stream", hello, (200, None, False)),
        ("/api/say", hello, (200, None, False)),
        ("/api/stream", fails, (200, "boom", False)),
        ("/api/say", fails, (500, "boom", False)),
        ("/api/refuse", hello, (400, "refuse: no", False)),
    ],
)
async def test_it_sees_how_each_request_ended(path: str, script: Any, seen: tuple[Any, ...]) -> None:
    events: list[Any] = []
    await ask(path, Watcher(events), script=script)
    assert events == [("in", "w", path.removeprefix("/api")), ("out", "w", *seen)]


async def test_the_one_listed_last_is_the_outermost() -> None:
    events: list[Any] = []
    await ask("/api/say", Watcher(events, "inner"), Outer(events, "outer"))
    assert [event[:2] for event in events] == [("in", "outer"), ("in", "inner"), ("out", "inner"), ("out", "outer")]


async def test_it_may_refuse_and_those_around_it_see_that() -> None:
    class Refuses:
        @hookimpl
        def exchange(self, http: HTTPRequest) -> AbstractAsyncContextManager[None]:
            @asynccontextmanager
            async def around() -> AsyncIterator[None]:
                if http.path:
                    raise RequestError("not today", kind="permission")
                yield

            return around()

    events: list[Any] = []
    sink = await ask("/api/say", Watcher(events, "inner"), Refuses(), Outer(events, "outer"))
    assert (sink.status, sink.body) == (403, b"!permission: not today")
    assert [event[:2] for event in events] == [("in", "outer"), ("out", "outer")]


@pytest.mark.parametrize("when", ["hook", "in", "out"])
async def test_a_broken_one_is_named_and_harms_nobody(when: str) -> None:
    class Broken:
        @hookimpl
        def exchange(self) -> AbstractAsyncContextManager[None]:
            if when == "hook":
                raise ValueError("secret")

            @asynccontextmanager
            async def around() -> AsyncIterator[None]:
                if when == "in":
                    raise ValueError("secret")
                yield
                raise ValueError("secret")

            return around()

    with capture_logs() as logs:
        sink = await ask("/api/say", Broken())
    assert (sink.status, b"secret" in sink.body) == (200 if when == "out" else 500, False)
    (fault,) = [line for line in logs if line["event"] == "fault"]
    assert "'Broken'" in fault["notes"][0]


async def test_one_that_is_no_context_is_told() -> None:
    class Odd:
        @hookimpl
        def exchange(self) -> Any:
            return "context"

    with capture_logs() as logs:
        sink = await ask("/api/say", Odd())
    assert sink.status == 500
    assert "exchange of pipeline 'p' answered str, which has no __aenter__" in str(logs[0]["exc_info"])


async def test_a_client_that_leaves_is_seen_leaving() -> None:
    events: list[Any] = []
    reached = anyio.Event()

    async def stuck() -> AsyncIterator[list[Chunk]]:
        reached.set()
        await anyio.sleep_forever()
        yield []

    served, _ = gateway(stuck, front=[Watcher(events)])
    async with anyio.create_task_group() as group:
        group.start_soon(served.handle, HTTPRequest("POST", "/api/stream"), Collected())
        await reached.wait()
        group.cancel_scope.cancel()
    assert events[-1] == ("out", "w", 0, None, True)


class Slow:
    """Takes its time to leave."""

    @hookimpl
    def exchange(self) -> AbstractAsyncContextManager[None]:
        @asynccontextmanager
        async def around() -> AsyncIterator[None]:
            yield
            await anyio.sleep_forever()

        return around()


@pytest.mark.parametrize("leaves", [True, False])
async def test_all_are_left_though_one_does_not_end(leaves: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the client leaves before the answer's end, or while they are left."""
    monkeypatch.setattr(around, "LEAVING", 0.01)
    events: list[Any] = []
    served, _ = gateway(never if leaves else hello, front=(Slow(), Watcher(events)))
    with capture_logs() as logs, anyio.move_on_after(0.05):
        await served.handle(HTTPRequest("POST", "/api/say", id="req_1"), Collected())
    assert [event[0] for event in events] == ["in", "out"]
    told = [str(log["exc_info"]) for log in logs if log["event"] == "fault"]
    assert told == (["exchange did not end within 0.01 seconds"] if leaves else [])


async def never() -> AsyncIterator[list[Chunk]]:
    await anyio.sleep_forever()
    yield []
