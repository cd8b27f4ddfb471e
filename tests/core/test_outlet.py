from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from core.culprit import notes_of
from core.deltas import Delta, Stop, Text, Usage
from core.outlet import Outlet
from core.record import Record
from core.request import HTTPRequest
from tests.core.fakes import Collected, TextAnswer

pytestmark = pytest.mark.anyio

HTTP = HTTPRequest("POST", "/say", id="req_1")


def outlet(*, stream: bool) -> tuple[Outlet, Collected]:
    sink = Collected()
    return Outlet(sink, Record(HTTP), TextAnswer(HTTP, stream)), sink


async def test_nothing_goes_out_before_there_is_something_to_say() -> None:
    out, sink = outlet(stream=True)
    await out.feed([])
    await out.feed([Usage(1, 2)])
    assert (out.started, sink.status) == (False, 0)
    await out.feed([Text("a")])
    assert (out.started, sink.status, sink.pieces) == (True, 200, [b"a"])


async def test_the_record_learns_what_went_out() -> None:
    out, sink = outlet(stream=False)
    await out.finish([Text("a"), Usage(1, 2), Stop("end_turn")])
    record = out.record
    assert (record.status, record.usage, record.stop) == (200, Usage(1, 2), Stop("end_turn"))
    assert record.first >= record.started
    assert (sink.body, sink.ended) == (b"a<end_turn>", True)


async def test_without_a_writer_there_is_nothing_to_send() -> None:
    sink = Collected()
    out = Outlet(sink, Record(HTTP))
    await out.feed([Text("a")])
    await out.finish([Text("a")])
    await out.write(b"a", last=True)
    assert sink.status == 0


@pytest.mark.parametrize("stream", [True, False])
async def test_last_words(stream: bool) -> None:
    out, sink = outlet(stream=stream)
    await out.feed([Text("a")])
    await out.last_words(HTTP)
    assert sink.ended
    assert (sink.status, sink.body == b"a") == ((200, True) if stream else (500, False))
    assert stream or b'"request_id":"req_1"' in sink.body


class Odd(TextAnswer):
    """Writes what is no bytes."""

    def feed(self, deltas: Sequence[Delta]) -> Any:
        return "text"

    def finish(self) -> bytes:
        raise ValueError("no end")


@pytest.mark.parametrize(("method", "kind"), [("feed", TypeError), ("finish", ValueError)])
def test_a_broken_writer_is_blamed(method: Any, kind: type[Exception]) -> None:
    told: list[tuple[str, str]] = []
    out = Outlet(Collected(), Record(HTTP), Odd(HTTP, stream=True))
    out.blame = lambda _, hook, method: told.append((hook, method))
    with pytest.raises(kind):
        out.say(method, *([[]] if method == "feed" else []))
    assert told == [("serialize", method)]


async def test_a_client_that_is_gone_is_no_plugins_fault() -> None:
    class Gone(Collected):
        async def send(self, data: bytes, more: bool) -> None:
            raise BrokenPipeError

    out = Outlet(Gone(), Record(HTTP), TextAnswer(HTTP, stream=True))
    with pytest.raises(BrokenPipeError) as caught:
        await out.feed([Text("a")])
    assert notes_of(caught.value) == ["in sending to the client"]


class Slow(Collected):
    """A client that takes its first bytes only when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.let = anyio.Event()
        self.reached = anyio.Event()

    async def send(self, data: bytes, more: bool) -> None:
        self.reached.set()
        await self.let.wait()
        await super().send(data, more)


async def test_a_ping_goes_out_whole_before_what_follows() -> None:
    sink = Slow()
    out = Outlet(sink, Record(HTTP), TextAnswer(HTTP, stream=True))
    assert out.ping()
    await sink.reached.wait()
    async with anyio.create_task_group() as group:
        end: list[Delta] = [Text("a"), Stop("end_turn")]
        group.start_soon(out.finish, end)
        await anyio.lowlevel.checkpoint()
        assert out.ping(), "one that is still on its way is sign enough"
        sink.let.set()
    assert sink.pieces == [b".", b"a<end_turn>"]
    assert (sink.status, out.started, out.ended) == (200, True, True)


async def test_a_ping_to_a_client_that_is_gone_is_dropped() -> None:
    sink = Slow()
    out = Outlet(sink, Record(HTTP), TextAnswer(HTTP, stream=True))
    out.ping()
    await sink.reached.wait()
    out.drop_ping()
    assert out._pinging is not None
    with pytest.raises(asyncio.CancelledError):
        await out._pinging
    assert sink.pieces == []


async def test_without_a_writer_there_is_no_life_to_show() -> None:
    assert not Outlet(Collected(), Record(HTTP)).ping()


@pytest.mark.parametrize(("name", "value"), [("gpu 1", b"gpu 1"), ("", None), ("größe\n", b"gr%C3%B6%C3%9Fe%0A")])
async def test_the_backend_is_named_in_a_header(name: str, value: bytes | None) -> None:
    out, sink = outlet(stream=True)
    out.backend = name
    await out.feed([Text("a")])
    assert dict(sink.headers).get(b"x-hookline-backend") == value


async def test_a_ping_on_its_way_counts_as_shown() -> None:
    out, _ = outlet(stream=True)
    before = out.shown
    out.ping()
    assert (before, out.shown, out.started) == (False, True, False)
    await out.feed([Text("a")])
    assert out.started
