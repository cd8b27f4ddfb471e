"""Raw bytes into the real HTTP server: each connection ends, no request is answered twice, and the next one is served."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import attrs
from hypercorn.app_wrappers import ASGIWrapper
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from core.asgi import ASGIApp
from core.config import ServerConfig
from core.serve.reception import Reception
from core.serve.settings import ServerOptions, protocol_config
from core.testing.split import cut
from tests.fuzz.door import application
from tests.fuzz.profile import fuzz
from tests.fuzz.wire import REQUESTS, statuses, talks

WITHIN = 20.0
"""Seconds in which a connection must be over; its limits are far shorter."""
AT_ONCE = 20
QUIET = ("request", "server_tool_dropped")


@attrs.define
class Server:
    """The application behind a reception; `asked` counts the requests that it got, by the client's port."""

    app: ASGIApp
    port: int = 0
    asked: Counter[int] = attrs.field(factory=Counter)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            self.asked[scope["client"][1]] += 1
        await self.app(scope, receive, send)


@asynccontextmanager
async def serving() -> AsyncIterator[Server]:
    options = ServerOptions(keep_alive=0.3)
    async with application("vllm", ServerConfig(body_timeout=0.3)) as app:
        listener = socket.create_server(("127.0.0.1", 0))
        server = Server(app, listener.getsockname()[1])
        reception = Reception(ASGIWrapper(server), protocol_config(options), [listener], {}, 65.0)
        reception.open()
        yield server
        await reception.drain(5)
        assert reception.connections == []


async def talk(server: Server, pieces: list[bytes], *, half: bool) -> tuple[int, bytes]:
    """What comes back until the server closes, and the client's port; with `half` the client closes its side."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    port = int(writer.get_extra_info("sockname")[1])
    seen = b""
    try:
        async with asyncio.timeout(WITHIN):
            for piece in pieces:
                writer.write(piece)
                await asyncio.sleep(0)
            if half:
                writer.write_eof()
            while data := await reader.read(65536):
                seen += data
    except TimeoutError:
        raise AssertionError(f"hangs after {pieces} with {seen!r}") from None
    except ConnectionError:
        pass  # the server does not read on after a fault
    finally:
        writer.transport.abort()
    return port, seen


def test_any_bytes() -> None:
    one = st.tuples(talks(), st.lists(st.floats(0, 1), max_size=4), st.sampled_from((False, False, True)))

    @fuzz(15)
    @given(st.lists(one, min_size=AT_ONCE, max_size=AT_ONCE))
    def check(all_: list[tuple[bytes, list[float], bool]]) -> None:
        with capture_logs() as log:
            asyncio.run(play(all_))
        assert [entry for entry in log if entry["event"] not in QUIET] == []
        assert not [entry for entry in log if entry.get("status") == 500]

    check()


async def play(all_: list[tuple[bytes, list[float], bool]]) -> None:
    async with serving() as server:
        talking = []
        for data, places, half in all_:
            pieces = cut(data, sorted({int(place * len(data)) for place in places} - {0, len(data)}))
            talking.append(talk(server, pieces, half=half))
        for (data, _, half), (port, seen) in zip(all_, await asyncio.gather(*talking), strict=True):
            if seen.startswith(b"HTTP/1.1 "):
                hold(data, seen, server.asked[port], half=half)
        # A body that was cut off may have eaten what follows: another connection must be served.
        assert statuses((await talk(server, [REQUESTS[3]], half=False))[1]) == [200]


def hold(data: bytes, seen: bytes, asked: int, *, half: bool) -> None:
    """As many answers as requests, and one more at most: the server's own, to what was none."""
    try:
        found = [status for status in statuses(seen) if status >= 200]
    except AssertionError:
        # The client that closes its side counts as one that left.
        if half:
            return
        raise
    assert len(found) <= asked + 1, (data, seen)
    assert not [status for status in found if status >= 500 and status not in {501, 505}], (data, seen)
    assert all(status >= 400 for status in found[asked:]), (data, seen)
