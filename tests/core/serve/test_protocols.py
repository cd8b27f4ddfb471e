from __future__ import annotations

import asyncio

import h2.errors
import h2.events
import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from hypercorn.asyncio.worker_context import EventWrapper
from hypercorn.protocol.h2 import BUFFER_HIGH_WATER, BUFFER_LOW_WATER, BufferCompleteError
from structlog.processors import format_exc_info
from structlog.testing import capture_logs

from core.serve import protocols
from tests.core.serve.served import CLOSE, HTTP2, Client, Served, request, serving, true

pytestmark = pytest.mark.anyio

SECRET = b"GET /secret HTTP/1.1\r\nhost: h\r\n\r\n"
HEAD = b"POST /x HTTP/1.1\r\nhost: h\r\n"


async def works(served: Served) -> None:
    """The server still answers."""
    answer = await served.ask(request("/after", b"hi", CLOSE))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b'{"method":"POST","path":"/after","body":"hi"}')


async def test_it_serves_and_does_not_say_who_it_is() -> None:
    async with serving() as served:
        client = await served.connect()
        for number in range(3):
            await client.send(request("/x", b"%d" % number))
            head, _, body = (await client.until(b"}")).partition(b"\r\n\r\n")
            assert body == b'{"method":"POST","path":"/x","body":"%d"}' % number
            assert b"server:" not in head.lower()
        client.socket.close()


@pytest.mark.parametrize(
    "sent",
    [
        HEAD + b"content-length: 44\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n" + SECRET,
        HEAD + b"transfer-encoding: chunked\r\ncontent-length: 0\r\n\r\n0\r\n\r\n" + SECRET,
        HEAD + b"content-length: 0\r\ncontent-length: 44\r\n\r\n" + SECRET,
        HEAD + b"content-length: 0, 44\r\n\r\n" + SECRET,
        HEAD + b"content-length: +5\r\n\r\n" + SECRET,
        HEAD + b"content-length : 0\r\n\r\n" + SECRET,
        HEAD + b"transfer-encoding: xchunked\r\n\r\n" + SECRET,
        HEAD + b"transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n" + SECRET,
        HEAD + b"transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n" + SECRET,
        HEAD + b"transfer-encoding: chunked\r\n\r\n0x0\r\n\r\n" + SECRET,
        HEAD + b"transfer-encoding: chunked\r\n\r\n" + b"f" * 17 + b"\r\n" + SECRET,
        HEAD + b"transfer-encoding: chunked\r\n\r\n-1\r\n" + SECRET,
        b"POST /x HTTP/1.0\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n" + SECRET,
        b"POST /x HTTP/1.1\r\nhost: h\r\nhost: g\r\ncontent-length: 0\r\n\r\n" + SECRET,
        b"POST /x HTTP/1.1\r\ncontent-length: 0\r\n\r\n" + SECRET,
        b"POST  /x HTTP/1.1\r\nhost: h\r\ncontent-length: 0\r\n\r\n" + SECRET,
        HEAD + b"content-length: 0\r\nx\x00y: 1\r\n\r\n" + SECRET,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + SECRET,
        # RFC 9112 lets a server take these, and others count them otherwise.
        b"POST /x HTTP/1.1\nhost: h\ncontent-length: 2\n\nhi" + SECRET,
        b"POST /x HTTP/1.1\nhost: h\n\n",
        HEAD + b"x: a\r\n b\r\ncontent-length: 2\r\n\r\nhi" + SECRET,
        HEAD + b"x: a\r\n content-length: 60\r\ncontent-length: 2\r\n\r\nhi" + SECRET,
        HEAD + b"content-length: 2\r\ncontent-length: 2\r\n\r\nhi" + SECRET,
        HEAD + b"transfer-encoding: chunked\r\n\r\n0\r\ncontent-length: 44\r\n\r\n" + SECRET,
        HEAD + b"transfer-encoding: chunked\r\n\r\n1 \r\nx\r\n0\r\n\r\n" + SECRET,
        b"\r\n" + SECRET,
        b"CONNECT h:1 HTTP/1.1\r\nhost: h\r\n\r\n" + SECRET,
    ],
)
async def test_what_can_be_read_two_ways_is_refused(sent: bytes) -> None:
    async with serving() as served:
        answer = await served.ask(sent)
        assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 501 "))
        assert answer.count(b"HTTP/1.1 ") == 1
        assert b"connection: close" in answer.lower()
        assert "/secret" not in [path for _, path in served.app.seen]
        await works(served)


@pytest.mark.parametrize(
    "sent",
    [
        HEAD + b"Content-Length:02 \t\r\n\r\nhi",
        HEAD + b"transfer-encoding: Chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        b"POST /x HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n2;a=b\r\nhi\r\n0\r\nx: y\r\n\r\n",
    ],
)
async def test_what_can_be_read_one_way_is_one_request(sent: bytes) -> None:
    async with serving() as served:
        client = await served.connect()
        await client.send(sent + request("/last", b"", CLOSE))
        answers = await client.rest()
        assert [path for _, path in served.app.seen] == ["/x", "/last"]
        assert answers.count(b"HTTP/1.1 200 ") == 2
        assert b'"body":"hi"' in answers


async def test_an_enormous_chunk_is_one_request_without_an_end() -> None:
    async with serving() as served:
        client = await served.connect()
        await client.send(HEAD + b"transfer-encoding: chunked\r\n\r\n" + b"f" * 16 + b"\r\n" + SECRET)
        await works(served)
        assert [path for _, path in served.app.seen] == ["/x", "/after"]
        client.socket.close()


@pytest.mark.parametrize(
    "sent",
    [
        HEAD + b"x: " + b"y" * 200_000 + b"\r\n\r\n",
        HEAD + b"x: y\r\n" * 40_000 + b"\r\n",
        b"GET /" + b"y" * 200_000 + b" HTTP/1.1\r\nhost: h\r\n\r\n",
        HEAD + b"x: " + b"y" * 200_000,
    ],
)
async def test_headers_that_are_too_large(sent: bytes) -> None:
    async with serving() as served:
        answer = await served.ask(sent)
        # A client that still sends may see the reset before the answer.
        assert answer == b"" or answer.startswith(b"HTTP/1.1 431 ")
        assert served.app.seen == []
        await works(served)


async def test_nobody_is_upgraded_to_http2() -> None:
    async with serving() as served:
        upgrade = (b"connection: upgrade, http2-settings", b"upgrade: h2c", b"http2-settings: AAMAAABkAAQAAP__")
        client = await served.connect()
        await client.send(b"\r\n".join([b"GET /x HTTP/1.1", b"host: h", *upgrade, b"", b""]))
        assert (await client.until(b"}")).startswith(b"HTTP/1.1 200 ")
        client.socket.close()


async def test_http2() -> None:
    async with serving() as served:
        client = HTTP2(await served.connect())
        one, two = client.begin("/1"), client.begin("/2", end=False)
        client.connection.send_data(two, b"hi", end_stream=True)
        await client.flush()
        data = await client.event(h2.events.DataReceived, two)
        assert isinstance(data, h2.events.DataReceived)
        assert data.data == b'{"method":"POST","path":"/2","body":"hi"}'
        assert {path for _, path in served.app.seen} == {"/1", "/2"}
        assert one == 1
        client.client.socket.close()


async def test_rapid_resets_end_the_connection_alone() -> None:
    async with serving() as served:
        good = HTTP2(await served.connect())
        bad = HTTP2(await served.connect())
        for _ in range(protocols.BURST + 50):
            bad.connection.reset_stream(bad.begin(end=False))
        await bad.flush()
        gone = await bad.event(h2.events.ConnectionTerminated)
        assert isinstance(gone, h2.events.ConnectionTerminated)
        assert gone.error_code == h2.errors.ErrorCodes.ENHANCE_YOUR_CALM
        stream = good.begin()
        await good.flush()
        await good.event(h2.events.StreamEnded, stream)
        await works(served)
        good.client.socket.close()
        bad.client.socket.close()


async def test_a_long_connection_outlives_any_number_of_resets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocols, "BURST", 5000)
    async with serving() as served:
        client = HTTP2(await served.connect())
        for _ in range(1200):  # Hypercorn keeps a thousand
            client.connection.reset_stream(client.begin(end=False))
        stream = client.begin()
        await client.flush()
        await client.event(h2.events.StreamEnded, stream)
        client.client.socket.close()


async def test_the_rest_of_a_body_that_nobody_reads_harms_no_other_stream() -> None:
    async with serving() as served:
        client = HTTP2(await served.connect())
        early = client.begin("/early", end=False)
        await client.flush()
        await client.event(h2.events.StreamEnded, early)
        client.connection.send_data(early, b"more")
        stream = client.begin()
        await client.flush()
        await client.event(h2.events.StreamEnded, stream)
        client.client.socket.close()


async def test_while_it_drains_a_new_stream_is_refused_and_a_running_one_ends() -> None:
    async with serving() as served:
        client = HTTP2(await served.connect())
        running = client.begin("/drain")
        await client.flush()
        await client.event(h2.events.DataReceived, running)
        draining = asyncio.create_task(served.reception.drain(5))
        refused = client.begin()
        await asyncio.sleep(0)  # the drain has begun
        await client.flush()
        reset = await client.event(h2.events.StreamReset, refused)
        assert isinstance(reset, h2.events.StreamReset)
        assert reset.error_code == h2.errors.ErrorCodes.REFUSED_STREAM
        served.app.begin_drain()
        await client.event(h2.events.StreamEnded, running)
        await draining
        client.client.socket.close()


async def test_a_request_waits_for_the_window_that_its_client_closed() -> None:
    buffer = protocols.Buffer(EventWrapper)
    for size in (BUFFER_HIGH_WATER - 1, 1):
        pushing = asyncio.create_task(buffer.push(b"x" * size))
        await asyncio.sleep(0)
        assert pushing.done() == (size > 1)
    assert await buffer.pop(0) == b""
    await asyncio.sleep(0)
    assert not pushing.done()
    assert len(await buffer.pop(int(BUFFER_LOW_WATER))) == BUFFER_LOW_WATER
    await asyncio.sleep(0)
    assert not pushing.done()
    assert len(await buffer.pop(1)) == 1
    await asyncio.wait_for(pushing, 5)
    assert len(await buffer.pop(BUFFER_HIGH_WATER)) == BUFFER_LOW_WATER - 1
    await asyncio.wait_for(buffer.drain(), 5)
    buffer.set_complete()
    with pytest.raises(BufferCompleteError):
        await buffer.push(b"x")


async def test_an_answer_that_is_not_ended_is_reset_and_no_other() -> None:
    async with serving() as served:
        client = HTTP2(await served.connect())
        half = client.begin("/half")
        await client.flush()
        reset = await client.event(h2.events.StreamReset, half)
        assert isinstance(reset, h2.events.StreamReset)
        assert reset.error_code == h2.errors.ErrorCodes.INTERNAL_ERROR
        whole = client.begin()
        await client.flush()
        await client.event(h2.events.StreamEnded, whole)
        client.client.socket.close()


async def test_nobody_is_upgraded_to_a_websocket_and_the_connection_goes_on() -> None:
    async with serving() as served:
        names = (
            b"connection: upgrade",
            b"upgrade: websocket",
            b"sec-websocket-version: 13",
            b"sec-websocket-key: eA==",
        )
        client = await served.connect()
        await client.send(
            b"\r\n".join([b"GET /x HTTP/1.1", b"host: h", *names, b"", b""]) + request("/last", b"", CLOSE)
        )
        answers = await client.rest()
        assert answers.count(b"HTTP/1.1 200 ") == 2
        assert [path for _, path in served.app.seen] == ["/x", "/last"]


async def test_a_server_that_drains_says_once_that_it_closes() -> None:
    async with serving() as served:
        client = await served.connect()
        await client.send(request("/drain"))
        await client.until(b"first ")
        later = await served.connect()
        await later.send(b"POST /x HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\n\r\n")
        await true(lambda: len(served.app.seen) == 2)
        drain = asyncio.create_task(served.reception.drain(5))
        await true(lambda: served.reception._config.keep_alive_max_requests == 0)
        await later.send(b"hi")
        answer = await later.rest()
        assert answer.lower().count(b"connection: close") == 1
        served.app.begin_drain()
        await client.rest()
        await drain


def unchecked(client: Client) -> HTTP2:
    """A client of HTTP/2 that sends what it is told to."""
    talk = HTTP2(client)
    rules = H2Configuration(validate_outbound_headers=False, normalize_outbound_headers=False)
    talk.connection = H2Connection(rules)
    talk.connection.initiate_connection()
    return talk


def headers(method: bytes = b"POST", path: bytes = b"/x") -> list[tuple[bytes, bytes]]:
    return [(b":method", method), (b":path", path), (b":authority", b"h"), (b":scheme", b"http")]


@pytest.mark.parametrize(
    "sent",
    [
        headers(path=b"/v1/m\xff"),
        headers(path=b"/a b"),
        headers(path=b"x"),
        headers(method=b"G\xff"),
        [(b":method", b"CONNECT"), (b":authority", b"h")],
    ],
)
async def test_a_request_that_is_none_is_reset_and_harms_no_other(sent: list[tuple[bytes, bytes]]) -> None:
    async with serving() as served:
        with capture_logs() as logs:
            talk = unchecked(await served.connect())
            good = talk.begin("/after", end=False)
            bad = talk.connection.get_next_available_stream_id()
            talk.connection.send_headers(bad, sent, end_stream=True)
            await talk.flush()
            reset = await talk.event(h2.events.StreamReset)
            assert (reset.stream_id, reset.error_code) == (bad, h2.errors.ErrorCodes.PROTOCOL_ERROR)  # type: ignore[attr-defined]
            talk.connection.send_data(good, b"hi", end_stream=True)
            await talk.flush()
            answer = await talk.event(h2.events.DataReceived, good)
            assert b'"body":"hi"' in answer.data  # type: ignore[attr-defined]
            talk.client.socket.close()
        assert served.app.seen == [("POST", "/after")]
        assert not logs


async def test_requests_that_are_none_end_the_connection_when_there_is_no_end_of_them() -> None:
    async with serving() as served:
        talk = unchecked(await served.connect())
        for _ in range(protocols.BURST):
            stream = talk.connection.get_next_available_stream_id()
            talk.connection.send_headers(stream, headers(method=b""), end_stream=True)
            await talk.flush()
            await talk.event(h2.events.StreamReset, stream)
        for _ in range(90):
            stream = talk.connection.get_next_available_stream_id()
            talk.connection.send_headers(stream, headers(method=b""), end_stream=True)
        await talk.flush()
        end = await talk.event(h2.events.ConnectionTerminated)
        assert end.error_code == h2.errors.ErrorCodes.ENHANCE_YOUR_CALM  # type: ignore[attr-defined]
        talk.client.socket.close()
        await works(served)


async def test_priorities_are_nothing() -> None:
    async with serving() as served:
        with capture_logs() as logs:
            talk = unchecked(await served.connect())
            for number in range(1500):
                talk.connection.prioritize(2 * number + 1, depends_on=2 * number + 3, weight=1)
            stream = talk.begin("/after")
            await talk.flush()
            assert b"/after" in (await talk.event(h2.events.DataReceived, stream)).data  # type: ignore[attr-defined]
            talk.client.socket.close()
        assert not logs


async def test_what_fails_is_told_without_the_clients_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(protocols.HTTP2, "_create_stream", fails)
    async with serving() as served:
        with capture_logs(processors=[format_exc_info]) as logs:
            talk = unchecked(await served.connect())
            stream = talk.connection.get_next_available_stream_id()
            talk.connection.send_headers(stream, [*headers(), (b"x-api-key", b"sk-secret-1234")])
            talk.connection.send_data(stream, b"my secret prompt")
            await talk.flush()
            assert await talk.client.rest() is not None
            await true(lambda: bool(logs))
        assert "broken" in repr(logs)
        assert "secret" not in repr(logs)
        assert "PRI *" not in repr(logs)
