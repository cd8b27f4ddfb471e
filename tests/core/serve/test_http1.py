from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from typing import Any

import orjson
import pytest
from hypercorn.events import Closed, Updated
from hypercorn.protocol.h11 import H2ProtocolAssumedError
from hypothesis import given, settings
from hypothesis import strategies as st

from core.door import GONE
from core.serve.exchange import HELD
from core.serve.settings import ServerOptions, protocol_config
from tests.core.serve.direct import Direct, direct, echo, reply, settle
from tests.core.serve.served import CLOSE, request, true

pytestmark = pytest.mark.anyio

BUSY, IDLE = Updated(idle=False), Updated(idle=True)
CHUNKED = b"POST /c HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n"


async def half(scope: Any, receive: Any, send: Any) -> None:
    """Begins, and forgets to end."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"half", "more_body": True})


class Held:
    """An application whose requests wait to be let go, and that says what it was told."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.begun: list[str] = []
        self.told: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.begun.append(scope["path"])
        await self.go.wait()
        if (await receive())["type"] == "http.disconnect":
            self.told.append("disconnect")
        await reply(send, scope["path"].encode())


def error(seen: bytes) -> tuple[int, str]:
    """Status and message of the one answer that this is, which ends its connection."""
    head, _, body = seen.partition(b"\r\n\r\n")
    assert seen.count(b"HTTP/1.1 ") == 1
    assert b"\r\nconnection: close" in head
    assert re.search(rb"\r\ndate: [^\r]+ GMT", head)
    said = orjson.loads(body)
    assert said["type"] == "error"
    assert said["request_id"].startswith("req_")
    return int(head.split()[1]), said["error"]["message"]


async def test_an_application_sees_what_asgi_says() -> None:
    scopes = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scopes.append(scope)
        await reply(send, b"")

    state = {"shared": [1]}
    async with direct(app, state=state) as served:
        await served.give(b"GET /a%20b%2Fc?d=%20 HTTP/1.1\r\nHost: h\r\nX-Y: z\r\n\r\n")
        await settle()
    assert callable(scopes[0]["extensions"].pop(GONE)["tell"])
    assert scopes == [
        {
            "type": "http",
            "http_version": "1.1",
            "asgi": {"spec_version": "2.1", "version": "3.0"},
            "method": "GET",
            "scheme": "http",
            "path": "/a b/c",
            "raw_path": b"/a%20b%2Fc",
            "query_string": b"d=%20",
            "root_path": "",
            "headers": [(b"host", b"h"), (b"x-y", b"z")],
            "client": ("c", 1),
            "server": ("s", 2),
            "state": state,
            "extensions": {},
        }
    ]
    assert scopes[0]["state"]["shared"] is state["shared"]


async def test_a_connection_is_kept_and_its_clock_told() -> None:
    async with direct(echo) as served:
        for number in range(3):
            await served.give(request("/x", b"%d" % number))
            await settle()
            assert served.seen.endswith(b"\r\n\r\nPOST /x 2 %d" % number)
        assert served.events == [BUSY, IDLE] * 3
        assert len(served.wire.writes) == 3
        assert not served.http1.unread


@pytest.mark.parametrize(
    "sent",
    [request("/x", b"", CLOSE), b"GET /x HTTP/1.0\r\n\r\n", b"GET /x HTTP/1.0\r\nconnection: keep-alive\r\n\r\n"],
)
async def test_it_is_closed_when_the_client_says_so(sent: bytes) -> None:
    async with direct(echo) as served:
        await served.give(sent)
        await settle()
        assert served.seen.count(b"connection: close\r\n") == 1
        assert served.events == [BUSY, Closed()]
        await served.give(request("/after"))
        await settle()
        assert b"/after" not in served.seen


async def test_http_1_0_gets_no_chunks() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await half(scope, receive, send)
        await send({"type": "http.response.body", "body": b" whole"})

    async with direct(app) as served:
        await served.give(b"GET / HTTP/1.0\r\n\r\n")
        await settle()
        assert served.seen.endswith(b"\r\n\r\nhalf whole")
        assert b"chunked" not in served.seen
        assert served.closed


async def test_pipelined_requests_are_answered_one_at_a_time_in_order() -> None:
    held = Held()
    async with direct(held) as served:
        giving = asyncio.create_task(served.give(request("/1") + request("/2") + request("/3")[:-3]))
        await settle()
        assert held.begun == ["/1"]
        assert not giving.done()  # nothing more is read meanwhile
        held.go.set()
        await giving
        await settle()
        assert held.begun == ["/1", "/2"]
        await served.give(request("/3")[-3:])
        await settle()
    answers = [part.rpartition(b"\r\n\r\n")[2] for part in served.seen.split(b"HTTP/1.1 ")[1:]]
    assert answers == [b"/1", b"/2", b"/3"]


async def test_reading_stops_while_a_second_request_waits() -> None:
    held = Held()
    async with direct(held) as served:
        await served.give(request("/1"))
        giving = asyncio.create_task(served.give(request("/2")[:5], request("/2")[5:]))
        await settle()
        assert not giving.done()
        assert len(served.http1._requests.rest) == 5
        held.go.set()
        await giving
        await settle()
        assert held.begun == ["/1", "/2"]


async def test_a_client_that_leaves_is_told_of_also_while_a_second_request_waits() -> None:
    held = Held()
    async with direct(held) as served:
        giving = asyncio.create_task(served.give(request("/1")[:-1], request("/1")[-1:] + request("/2")))
        await settle()
        await served.leave()
        await asyncio.wait_for(giving, 5)
        held.go.set()
        await settle()
    assert held.begun == ["/1"]
    assert served.seen == b""


async def test_the_news_comes_behind_the_body() -> None:
    told = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while True:
            event = await receive()
            told.append(event["type"])
            if event["type"] == "http.disconnect":
                return

    async with direct(app) as served:
        await served.give(request("/x", b"hi"))
        await settle()
        await served.leave()
        await settle()
    assert told == ["http.request", "http.disconnect"]
    assert served.seen == b""


@pytest.mark.parametrize("chunked", [False, True])
async def test_of_a_body_that_nobody_takes_so_much_is_held(chunked: bool) -> None:
    go = asyncio.Event()
    sizes = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await go.wait()
        more = True
        while more:
            event = await receive()
            sizes.append(len(event["body"]))
            more = event["more_body"]
            await settle()
        await reply(send, b"done")

    piece = b"x" * 60_000
    whole = [b"POST /x HTTP/1.1\r\nhost: h\r\ncontent-length: %d\r\n\r\n" % (40 * len(piece)), *[piece] * 40]
    if chunked:
        whole = [CHUNKED, *[b"%x\r\n%b\r\n" % (len(piece), piece)] * 40, b"0\r\n\r\n"]
    given = 0

    async def give() -> None:
        nonlocal given
        for part in whole:
            await served.give(part)
            given += 1

    async with direct(app) as served:
        giving = asyncio.create_task(give())
        await settle(100)
        assert given <= 1 + HELD // len(piece)
        go.set()
        await giving
        await settle(200)
    assert sum(sizes) == 40 * len(piece)
    assert max(sizes) <= HELD + 70_000
    assert served.seen.endswith(b"done")


async def test_100_continue() -> None:
    held = Held()
    async with direct(held) as served:
        await served.give(b"POST /x HTTP/1.1\r\nhost: h\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n")
        await settle()
        assert served.seen == b""
        held.go.set()
        await settle()
        assert served.seen == b"HTTP/1.1 100 Continue\r\n\r\n"
        await served.give(b"hi")
        await settle()
        assert served.seen.endswith(b"/x")
        assert served.seen.count(b"100 Continue") == 1


async def test_an_answer_before_the_body_ends_the_connection() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await reply(send, b"early")

    async with direct(app) as served:
        await served.give(b"POST /x HTTP/1.1\r\nhost: h\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n")
        await settle()
        assert served.seen.endswith(b"early")
        assert b"100 Continue" not in served.seen
        assert served.events == [BUSY, Closed()]
        assert served.http1.unread


@pytest.mark.parametrize(
    ("status", "sent"),
    [
        (400, b"nonsense\r\n\r\n"),
        (400, b"\x16\x03\x01"),
        (400, b"GET / HTTP/1.1\r\n\r\n"),
        (431, b"GET / HTTP/1.1\r\nx: " + b"y" * 70_000),
        (501, b"POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: gzip\r\n\r\n"),
        (505, b"GET / HTTP/1.9\r\nhost: h\r\n\r\n"),
    ],
)
async def test_a_refusal_is_an_error_in_the_client_s_form(status: int, sent: bytes) -> None:
    async with direct(echo) as served:
        await served.give(sent + request("/secret"))
        await settle()
        assert error(served.seen)[0] == status
        assert served.closed
        assert served.http1.unread
        await served.give(request("/secret"))
        assert served.seen.count(b"HTTP/1.1 ") == 1


async def test_a_bad_request_behind_a_good_one_is_refused_when_its_turn_comes() -> None:
    held = Held()
    async with direct(held) as served:
        giving = asyncio.create_task(served.give(request("/good") + b"bad\r\n\r\n"))
        await settle()
        assert served.seen == b""
        held.go.set()
        await giving
        await settle()
        first, _, second = served.seen.partition(b"/good")
        assert first.startswith(b"HTTP/1.1 200 ")
        assert error(second)[0] == 400


async def test_a_bad_body_is_refused_and_the_application_told() -> None:
    held = Held()
    async with direct(held) as served:
        await served.give(CHUNKED, b"x\r\n")
        assert error(served.seen)[0] == 400
        held.go.set()
        await settle()
        assert held.told == ["disconnect"]
        assert served.seen.count(b"HTTP/1.1 ") == 1


async def test_a_bad_body_under_an_answer_that_has_begun_cuts_it() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await half(scope, receive, send)
        await receive()
        await send({"type": "http.response.body", "body": b"more"})

    async with direct(app) as served:
        await served.give(CHUNKED)
        await settle()
        await served.give(b"x\r\n")
        await settle()
        assert served.seen.endswith(b"4\r\nhalf\r\n")
        assert served.closed


async def test_so_many_requests_on_a_connection() -> None:
    config = protocol_config(ServerOptions())
    config.keep_alive_max_requests = 2
    async with direct(echo, config) as served:
        await served.give(request("/1") + request("/2") + request("/3"))
        await settle()
        assert served.seen.count(b"HTTP/1.1 200 ") == 2
        assert served.seen.index(b"connection: close") > served.seen.index(b"/1")
        assert served.closed
        assert served.http1.unread


async def test_a_server_that_ends_says_so_and_closes() -> None:
    held = Held()
    async with direct(held) as served:
        await served.give(request("/1"))
        await served.context.terminated.set()
        held.go.set()
        await settle()
        assert served.seen.count(b"connection: close\r\n") == 1
        assert served.closed


async def test_one_that_ends_after_the_head_closes() -> None:
    go = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await half(scope, receive, send)
        await go.wait()
        await send({"type": "http.response.body", "body": b"last"})

    async with direct(app) as served:
        await served.give(request("/1"))
        await settle()
        await served.context.terminated.set()
        go.set()
        await settle()
        assert served.seen.endswith(b"4\r\nlast\r\n0\r\n\r\n")
        assert served.events == [BUSY, Closed()]


async def test_requests_are_counted() -> None:
    async with direct(echo, max_requests=1) as served:
        await served.give(request("/1") + request("/2"))
        await settle()
        assert served.context.terminate.is_set()


def failing(step: str) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if step == "before":
            raise RuntimeError("secret")
        if step == "forgets":
            return
        bad = {"value": [(b"x", b"a\r\nb: c")], "few": [(b"content-length", b"9")], "many": [(b"content-length", b"1")]}
        await send({"type": "http.response.start", "status": 200, "headers": bad.get(step, [])})
        if step == "head":
            raise RuntimeError("secret")
        await send({"type": "http.response.body", "body": b"half", "more_body": step in {"begun", "late"}})
        if step in {"begun", "done"}:
            raise RuntimeError("secret")

    return app


@pytest.mark.parametrize("step", ["before", "forgets", "head", "value", "many", "few"])
async def test_an_application_that_fails_before_its_answer_begins_is_a_500_once(
    step: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with direct(failing(step)) as served:
        await served.give(request("/1") + request("/2"))
        await settle()
        assert error(served.seen) == (500, "the server failed at this request")
        assert b"secret" not in served.seen
        assert served.closed
    assert ("Traceback" in capsys.readouterr().err) == (step != "forgets")


@pytest.mark.parametrize("step", ["begun", "late"])
async def test_one_that_fails_after_it_is_seen_to_be_incomplete(step: str, capsys: pytest.CaptureFixture[str]) -> None:
    async with direct(failing(step)) as served:
        await served.give(request("/1") + request("/2"))
        await settle()
        assert served.seen.endswith(b"4\r\nhalf\r\n")
        assert served.closed
        assert not served.wire.aborted
    async with direct(failing(step)) as served:
        await served.give(b"GET /1 HTTP/1.0\r\n\r\n")
        await settle()
        assert served.wire.aborted  # an orderly end would be the body's
        assert served.wire.options
    assert ("Traceback" in capsys.readouterr().err) == (step == "begun")


async def test_a_connection_that_is_closed_already_is_not_reset(capsys: pytest.CaptureFixture[str]) -> None:
    go = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await half(scope, receive, send)
        await go.wait()

    async with direct(app) as served:
        await served.give(b"GET /1 HTTP/1.0\r\n\r\n")
        await settle()
        served.wire.shut = True
        go.set()
        await settle()
        assert (served.wire.options, served.wire.aborted, served.closed) == ([], False, True)
    assert capsys.readouterr().err == ""


async def test_one_that_fails_once_all_is_said_harms_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    async with direct(failing("done")) as served:
        await served.give(request("/1") + request("/2"))
        await settle()
        assert served.seen.count(b"4\r\nhalf\r\n0\r\n\r\n") == 2
        assert served.events == [BUSY, IDLE] * 2
    assert capsys.readouterr().err.count("RuntimeError: secret") == 2


async def test_the_next_request_does_not_wait_for_what_an_application_does_behind_its_answer() -> None:
    go = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await reply(send, scope["path"].encode())
        await go.wait()

    async with direct(app) as served:
        await served.give(request("/1") + request("/2"))
        await settle()
        assert served.seen.endswith(b"/2")
        go.set()


async def test_a_client_found_gone_while_it_is_written_to() -> None:
    async with direct(half) as served:
        served.wire.full, served.wire.fault = True, ConnectionResetError()
        await served.give(request("/1"))
        await settle()
        await served.give(request("/2"))
        await settle()
        assert served.seen.count(b"HTTP/1.1 ") == 1


async def test_an_application_that_no_longer_waits_for_the_client_leaves_no_connection_behind() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(0.01):
                await reply(send, b"whole")

    async with direct(app) as served:
        served.wire.full = True
        await served.give(request("/1"))
        await true(lambda: served.closed)
        assert served.seen.endswith(b"whole")
        assert served.seen.count(b"HTTP/1.1 ") == 1


async def test_http2_is_for_others() -> None:
    async with direct(echo) as served:
        await served.give(b"PRI * HTTP/2.0\r\n")
        with pytest.raises(H2ProtocolAssumedError) as assumed:
            await served.give(b"\r\nSM\r\n\r\n")
        assert assumed.value.data == b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        assert served.events == []


async def test_only_asgi_is_served() -> None:
    from core.serve.http1 import _no_thread  # noqa: PLC0415  what no other test reaches

    with pytest.raises(RuntimeError, match="ASGI"):
        _no_thread(print)


WIRES = (
    request("/1", b"hello"),
    b"GET /2 HTTP/1.1\r\nhost: h\r\n\r\n",
    CHUNKED + b"2\r\nhi\r\n3;a=b\r\n ho\r\n0\r\nx: y\r\n\r\n",
    b"HEAD /4 HTTP/1.1\r\nhost: h\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n",
    request("/5", b"\r\n\r\nGET /secret HTTP/1.1\r\n\r\n", b"expect: 100-continue"),
)


async def play(served: Direct, pieces: list[bytes]) -> bytes:
    for piece in pieces:
        await served.give(piece)
        await settle(3)
    await settle()
    return re.sub(rb"date: [^\r]+\r\n|HTTP/1.1 100 Continue\r\n\r\n", b"", served.seen)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(WIRES), min_size=1, max_size=4), st.data())
def test_any_way_to_cut_requests_gives_the_same_answers(wires: list[bytes], data: st.DataObject) -> None:
    wire = b"".join(wires)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(wire) - 1), max_size=12)))
    pieces = [wire[start:end] for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True)]

    async def answers(pieces: list[bytes]) -> bytes:
        async with direct(echo) as served:
            return await play(served, pieces)

    whole = asyncio.run(answers([wire]))
    assert whole.count(b"HTTP/1.1 200 ") == len(wires)
    assert asyncio.run(answers(pieces)) == whole
    single = b"".join(asyncio.run(answers([one])) for one in wires)
    assert single == whole
