"""Faults of plugins through the whole gateway: named in the log, silent to the client, and nobody else's."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import attrs
import pytest
from structlog.testing import capture_logs

from core import Chunk, Delta, HTTPRequest, Route, hookimpl
from core.chat import UpstreamClient
from core.config import BackendConfig
from core.gateway import Gateway
from core.pipeline import Back, Pipeline
from core.request import Request
from core.route import Candidate
from tests.core.fakes import Collected, Front, TextAnswer, Upstream, Words, gateway, manager

pytestmark = pytest.mark.anyio
SECRET = "sesame-open-1"


class Crashes(Words):
    """Crashes as told by a chunk."""

    def feed(self, chunk: Chunk) -> Sequence[Delta]:
        if chunk.get("crash") == "exit":
            sys.exit(3)
        if chunk.get("crash") == "next":
            next(iter(()))
        if chunk.get("crash"):
            raise ValueError(f"secret detail {SECRET}")
        return super().feed(chunk)


class Broken:
    """A backend's plugin whose translator crashes."""

    @hookimpl
    def translate_content(self) -> Crashes:
        return Crashes()


class BrokenCall:
    """A backend's plugin whose call breaks after the first chunk."""

    @hookimpl
    def call_upstream(self) -> Any:
        return self.call()

    @asynccontextmanager
    async def call(self) -> AsyncIterator[AsyncIterator[list[Chunk]]]:
        yield self.chunks()

    async def chunks(self) -> AsyncIterator[list[Chunk]]:
        yield [{"text": "a"}]
        raise ZeroDivisionError


def plays(*batches: list[Chunk]) -> Any:
    async def script() -> AsyncIterator[list[Chunk]]:
        for batch in batches:
            yield batch

    return script


async def ask(served: Gateway, path: str = "/api/stream") -> tuple[Collected, dict[str, Any]]:
    sink = Collected()
    with capture_logs() as logs:
        await served.handle(HTTPRequest("POST", path, id="req_1"), sink)
    return sink, dict(next(line for line in logs if line["event"] == "fault"))


@pytest.mark.parametrize("crash", ["yes", "exit", "next"])
async def test_a_translator_that_crashes_is_named_in_the_log_alone(crash: str) -> None:
    chunk = {"crash": crash, "text": SECRET}
    served, upstream = gateway(plays([{"text": "a"}], [chunk]), Broken(), key=None)
    sink, fault = await ask(served)
    assert upstream.log == ["open", "closed"]
    assert sink.ended
    assert sink.body.startswith(b"a!api: the gateway failed on this request; its log has the details under req_1")
    assert SECRET.encode() not in sink.body
    assert (fault["pipeline"], fault["backend"], fault["id"]) == ("p", "b", "req_1")
    (note,) = fault["notes"]
    assert note.startswith("in translate_content.feed of plugin 'Broken', backend 'b', at the chunk {")
    assert f'"crash":"{crash}"' in note


async def test_a_call_that_breaks_is_named() -> None:
    served, _ = gateway(plays(), BrokenCall())
    sink, fault = await ask(served)
    assert sink.body.startswith(b"a!api")
    assert fault["notes"] == ["in call_upstream.call of plugin 'BrokenCall', backend 'b'"]


async def test_a_writer_that_breaks_is_named() -> None:
    class Writer(TextAnswer):
        def feed(self, deltas: Sequence[Delta]) -> bytes:
            raise ValueError("no ink")

    class Writes:
        @hookimpl
        def serialize(self, http: HTTPRequest, request: Request | None) -> Writer:
            return Writer(http, stream=True)

    served, _ = gateway(plays([{"text": "a"}]))
    served.loaded.pipelines[0].manager.register(Writes(), name="writes")
    sink, fault = await ask(served)
    assert (sink.status, fault["notes"]) == (500, ["in serialize.feed of plugin 'writes', pipeline 'p'"])


async def test_a_broken_plugin_disturbs_no_request_on_another_backend() -> None:
    go_on = anyio.Event()

    async def slow() -> AsyncIterator[list[Chunk]]:
        yield [{"text": "hel"}]
        await go_on.wait()
        yield [{"text": "lo", "end": True}]

    served = two_backends(slow, plays([{"crash": "yes"}]))
    good, more = Collected(), Collected()
    async with anyio.create_task_group() as group:
        group.start_soon(served.handle, HTTPRequest("POST", "/api/stream", query=b"good"), good)
        for crash in range(3):
            sink, fault = await ask(served, "/api/say")
            assert (sink.status, fault["backend"]) == (500, "bad"), crash
        go_on.set()
    await served.handle(HTTPRequest("POST", "/api/stream", query=b"good"), more)
    assert (good.status, good.body, more.body) == (200, b"hello<end_turn>", b"hello<end_turn>")


class Routes:
    """Sends the model `good` to the backend of that name, all else to `bad`."""

    @hookimpl
    def route(self, request: Request) -> Route:
        return Route((Candidate("good" if request.model == "good" else "bad", "up"),))


def two_backends(good: Any, bad: Any) -> Gateway:
    served, _ = gateway(good)
    backs = {
        name: Back(name, manager(Upstream(script), *extra), UpstreamClient(BackendConfig(name, ())))
        for name, script, extra in (("good", good, ()), ("bad", bad, (Broken(),)))
    }
    pipeline = Pipeline("p", ("/api",), manager(Front(), Routes()), backs)
    return Gateway(attrs.evolve(served.loaded, pipelines=(pipeline,)))


class Raises:
    """Raises what is no Exception, at the place that it is made for."""

    def __init__(self, place: str, error: BaseException) -> None:
        self.place, self.error = place, error

    @hookimpl(wrapper=True)
    def translate_stop(self) -> Any:
        found = yield
        if self.place == "hook":
            raise self.error
        return found

    @hookimpl(wrapper=True)
    def call_upstream(self) -> Any:
        return self.call((yield))

    @asynccontextmanager
    async def call(self, inner: Any) -> AsyncIterator[AsyncIterator[list[Chunk]]]:
        if self.place == "enter":
            raise self.error
        async with inner as batches:
            yield self.chunks(batches)
        if self.place == "exit":
            raise self.error

    async def chunks(self, batches: AsyncIterator[list[Chunk]]) -> AsyncIterator[list[Chunk]]:
        async for batch in batches:
            yield batch
            if self.place == "chunks":
                raise self.error


@pytest.mark.parametrize("place", ["hook", "enter", "chunks", "exit"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, asyncio.CancelledError, BaseExceptionGroup])
async def test_what_is_no_exception_ends_its_request_alone(place: str, error: type[BaseException]) -> None:
    made = error("g", [KeyboardInterrupt()]) if error is BaseExceptionGroup else error()
    served, _ = gateway(plays([{"text": "a"}], [{"text": "b", "end": True}]), Raises(place, made))
    sink, fault = await ask(served)
    assert sink.ended
    assert (b"!api: the gateway failed" in sink.body) is (place != "exit")
    assert "of plugin 'Raises', backend 'b'" in fault["notes"][0]


class Hides:
    """A call that lets nothing out that goes wrong within it."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def __aenter__(self) -> Any:
        return await self.inner.__aenter__()

    async def __aexit__(self, *error: object) -> bool:
        await self.inner.__aexit__(*error)
        return True


async def test_a_call_that_hides_errors_leaves_no_client_waiting() -> None:
    class Hider:
        @hookimpl(wrapper=True)
        def call_upstream(self) -> Any:
            return Hides((yield))

    served, _ = gateway(plays([{"text": "a"}], [{"crash": "yes"}]), Broken(), Hider())
    sink, fault = await ask(served)
    assert sink.ended
    assert b"!api" in sink.body
    assert "call_upstream.call of plugin" in fault["notes"][0]


@pytest.mark.parametrize("batch", ["abc", {"a": 1}, ["x"], [None], None])
async def test_a_call_that_gives_no_chunks_is_named_itself(batch: Any) -> None:
    class Gives(Raises):
        async def chunks(self, batches: AsyncIterator[list[Chunk]]) -> AsyncIterator[list[Chunk]]:
            yield batch

    served, _ = gateway(plays([{"text": "a"}]), Gives("", ValueError()))
    _, fault = await ask(served)
    assert fault["notes"] == ["in call_upstream.call of plugin 'Gives' around plugin 'Upstream', backend 'b'"]


@pytest.mark.parametrize(
    ("status", "headers"),
    [(None, ()), ("200", ()), (99999, ()), (200, None), (200, [("a", "b")]), (200, [(b"a", b"x\r\ny: z")])],
)
async def test_a_head_that_is_none_is_the_writers_fault(status: Any, headers: Any) -> None:
    class Writes:
        @hookimpl
        def serialize(self, http: HTTPRequest, request: Request | None) -> TextAnswer:
            return TextAnswer(http, stream=True, status=status, headers=headers)

    served, _ = gateway(plays([{"text": "a"}]))
    served.loaded.pipelines[0].manager.register(Writes(), name="writes")
    sink, fault = await ask(served)
    assert (sink.status, sink.ended) == (500, True)
    assert fault["notes"] == ["in serialize.headers of plugin 'writes' or plugin 'Front', pipeline 'p'"]


async def test_a_route_of_what_are_no_candidates_is_named() -> None:
    class Routes5:
        @hookimpl
        def route(self) -> Any:
            return Route(("b",))  # type: ignore[arg-type]

    served, _ = gateway(plays([{"text": "a"}]))
    served.loaded.pipelines[0].manager.register(Routes5(), name="routes")
    sink, fault = await ask(served)
    assert sink.status == 500
    assert fault["notes"] == ["in route of plugin 'routes' or plugin 'Front', pipeline 'p'"]
