from __future__ import annotations

import asyncio
import gc
import socket
import struct
import time
import weakref
from contextlib import suppress
from typing import Any

import h2.events
import pytest
from hypercorn.asyncio.tcp_server import MAX_RECV
from structlog.testing import capture_logs

from core.serve import connection, reception
from core.serve.http1 import HTTP1
from core.serve.protocols import Protocols
from core.serve.settings import ServerOptions
from tests.core.serve.served import HTTP2, WITHIN, Client, request, serving, true

pytestmark = pytest.mark.anyio

SHORT = ServerOptions(keep_alive=0.2)


async def trickle(client: Client, data: bytes, every: float = 0.02) -> float:
    """Send a byte at a time until the server closes the connection; the seconds until then."""
    began = time.monotonic()
    for number in range(len(data)):
        await client.send(data[number : number + 1])
        try:
            async with asyncio.timeout(every):
                answer = await client.receive()
        except TimeoutError:
            continue
        assert answer == b""
        return time.monotonic() - began
    pytest.fail("the server took it all")


@pytest.mark.parametrize("served_before", [False, True])
async def test_slow_headers_are_cut(served_before: bool) -> None:
    async with serving(SHORT) as served:
        client = await served.connect()
        if served_before:
            await client.send(request())
            await client.until(b"}")
        assert 0.15 < await trickle(client, request("/slow", b"", b"x: " + b"y" * 300)) < 1
        assert "/slow" not in [path for _, path in served.app.seen]
        client.socket.close()


@pytest.mark.parametrize("bytes_before", [b"", b"POST /x HT", b"PRI * HTTP/2.0\r\n\r\n"])
async def test_a_silent_connection_is_cut(bytes_before: bytes) -> None:
    async with serving(SHORT) as served:
        assert b"HTTP/1" not in await served.ask(bytes_before)


async def test_http2_without_a_request_is_cut() -> None:
    async with serving(SHORT) as served:
        client = HTTP2(await served.connect())
        await client.flush()
        while data := await client.client.receive():
            client.connection.receive_data(data)
        client.client.socket.close()


async def test_http2_with_a_request_is_not() -> None:
    async with serving(SHORT) as served:
        client = HTTP2(await served.connect())
        client.begin("/forever")
        await client.flush()
        await client.event(h2.events.DataReceived)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.client.receive(), 0.4)
        client.client.socket.close()
        async with asyncio.timeout(WITHIN):
            await served.app.left.wait()


async def test_a_client_that_takes_nothing_is_cut() -> None:
    async with serving(stall=0.2) as served:
        client = await served.connect(SO_RCVBUF=4096)
        await client.send(request("/flood"))
        async with asyncio.timeout(WITHIN):
            await served.app.left.wait()
        client.socket.close()


async def test_for_a_client_that_takes_nothing_little_waits() -> None:
    async with serving() as served:
        client = await served.connect(SO_RCVBUF=4096)
        await client.send(request("/flood"))
        await client.until(b"first")
        (one,) = served.reception.connections
        await true(lambda: one.writer.full)
        for _ in range(50):
            await asyncio.sleep(0)
        assert one.writer.transport.get_write_buffer_size() < 1_000_000
        seen = len(await client.receive())
        while seen < 20_000_000:  # it goes on once it is taken
            seen += len(await client.receive())
        client.socket.close()
        async with asyncio.timeout(WITHIN):
            await served.app.left.wait()


async def test_of_a_client_that_sends_behind_its_request_little_is_read() -> None:
    async with serving() as served:
        client = await served.connect()
        await client.send(request("/forever"))
        await client.until(b"first")
        sending = asyncio.create_task(client.send(request("/x") * 500_000))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(sending), 0.3)
        (one,) = served.reception.connections
        assert isinstance(one.protocol.protocol, HTTP1)
        assert len(one.protocol.protocol._requests.rest) <= MAX_RECV
        assert [path for _, path in served.app.seen] == ["/forever"]
        sending.cancel()
        client.socket.close()


async def test_an_answer_that_only_the_end_would_end_is_reset_when_it_is_not_whole() -> None:
    async with serving() as served:
        client = await served.connect()
        await client.send(b"POST /half HTTP/1.0\r\n\r\n")
        ends: list[bytes | None] = [None]
        with suppress(ConnectionResetError):
            while ends[-1] != b"":
                ends.append(await asyncio.get_running_loop().sock_recv(client.socket, 100))
        assert b"" not in ends
        client.socket.close()


async def test_one_in_chunks_has_no_last_one_then() -> None:
    async with serving() as served:
        assert (await served.ask(request("/half"))).endswith(b"\r\n6\r\nfirst \r\n")


@pytest.mark.parametrize("reset", [False, True])
async def test_a_client_that_has_asked_twice_is_seen_to_leave(reset: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reception, "LAST", 0.05)
    async with serving() as served:
        client = await served.connect()
        await client.send(request("/forever") + request("/x"))
        await client.until(b"first")
        if reset:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.socket.close()
        async with asyncio.timeout(connection.LINGER / 2):
            await served.app.left.wait()


async def test_no_request_outlives_its_connection_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LINGER", 0.05)
    async with serving() as served:
        client = await served.connect()
        await client.send(request("/never"))
        await client.until(b"first")
        client.socket.close()
        async with asyncio.timeout(WITHIN):
            await served.app.left.wait()


async def test_a_fault_is_one_connection_s(monkeypatch: pytest.MonkeyPatch) -> None:
    handle = Protocols.handle
    faults = [RuntimeError("a bug")]

    async def fail_once(self: Protocols, event: Any) -> None:
        if faults:
            raise faults.pop()
        await handle(self, event)

    monkeypatch.setattr(Protocols, "handle", fail_once)
    async with serving() as served:
        with capture_logs() as logs:
            assert await served.ask(request()) == b""
        assert [log["event"] for log in logs] == ["a connection failed"]
        assert b"200" in await served.ask(request("/x", b"", b"connection: close"))


async def test_nothing_is_left_of_an_idle_connection_that_its_client_closed() -> None:
    async with serving() as served:
        client = await served.connect()
        await client.send(request())
        await client.until(b"}")
        assert len(served.reception.connections) == 1
        client.socket.close()
        await true(lambda: not served.reception.connections)


async def test_an_idle_connection_lives_on_after_requests_and_is_cut_then() -> None:
    async with serving(SHORT) as served:
        client = await served.connect()
        for _ in range(3):
            await client.send(request())
            await client.until(b"}")
            with pytest.raises(TimeoutError):  # two thirds of the time, from the last answer on
                await asyncio.wait_for(client.receive(), 0.13)
        assert await client.receive() == b""
        client.socket.close()


async def test_a_request_may_take_longer_than_an_idle_connection_is_kept() -> None:
    async with serving(SHORT) as served:
        client = await served.connect()
        await client.send(request("/forever"))
        await client.until(b"first")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.receive(), 0.4)
        client.socket.close()


async def test_a_client_that_still_sends_gets_the_answer_and_no_reset() -> None:
    """The answer comes before the body's end; what is on the way is taken, so that no reset takes the answer."""
    async with serving() as served:
        client = await served.connect(SO_RCVBUF=4096)
        await client.send(b"POST /early HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-length: 9000000\r\n\r\n")
        for _ in range(8):
            await client.send(b"x" * 1_000_000)
        assert (await client.rest()).endswith(b"early")
        await true(lambda: not served.reception.connections)


async def test_a_flood_to_one_that_resets_is_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    async with serving() as served:
        for _ in range(5):
            served.app.draining.clear()
            client = await served.connect()
            await client.send(request("/burst"))
            await client.until(b"first")
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.socket.close()
            served.app.begin_drain()  # it writes before anybody has told it
            await true(lambda: not served.reception.connections)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("reset", [False, True])
async def test_one_that_leaves_instead(reset: bool) -> None:
    async with serving() as served:
        client = await served.connect()
        with capture_logs() as logs:
            await client.send(b"POST /early HTTP/1.1\r\nhost: h\r\ncontent-length: 9000000\r\n\r\n" + b"x" * 100_000)
            await client.until(b"early")
            if reset:
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.socket.close()
            await true(lambda: not served.reception.connections)
        assert not logs


async def test_one_that_resets_as_it_is_accepted() -> None:
    async with serving() as served:
        with capture_logs() as logs:
            for _ in range(20):
                client = await served.connect()
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                client.socket.close()
            assert b"200" in await served.ask(request("/x", b"", b"connection: close"))
            await true(lambda: not served.reception.connections)
        assert not logs


async def test_one_that_never_stops_sending_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "TAIL", 0.1)
    async with serving() as served:
        client = await served.connect()
        await client.send(b"POST /early HTTP/1.1\r\nhost: h\r\ncontent-length: 9\r\n\r\n")
        await client.until(b"early")
        await true(lambda: not served.reception.connections)
        client.socket.close()


class Cut:
    """A writer, and its transport, whose end is counted."""

    def __init__(self) -> None:
        self.transport = self
        self.aborted = 0

    def abort(self) -> None:
        self.aborted += 1


async def test_what_the_transport_has_closed_is_not_cut_again(monkeypatch: pytest.MonkeyPatch) -> None:
    # asyncio's forgets its loop when it is closed and its last bytes go later, and fails then.
    cut, over = Cut(), asyncio.Event()

    async def ended(self: connection.Connection) -> None:
        self.writer.transport.abort()
        await self._wire.over.wait()
        self.writer = cut  # type: ignore[assignment]
        over.set()

    monkeypatch.setattr(connection.Connection, "run", ended)
    async with serving() as served:
        client = await served.connect()
        async with asyncio.timeout(WITHIN):
            await over.wait()
        client.socket.close()
    assert cut.aborted == 0


@pytest.mark.parametrize("asks", [True, False])
async def test_one_that_is_over_is_gone_without_the_collector(asks: bool) -> None:
    async with serving() as served:
        gc.collect()
        gc.disable()
        try:
            client = await served.connect()
            if asks:
                await client.send(request())
                await client.until(b"}")
            await true(lambda: len(served.reception.connections) == 1)
            there = served.reception.connections
            await true(lambda: hasattr(there[0], "protocol"))
            parts = [weakref.ref(each) for each in (there[0], there[0]._wire, there[0].reader, there[0].protocol)]
            there.clear()
            client.socket.close()
            await true(lambda: not any(part() for part in parts))
        finally:
            gc.enable()
