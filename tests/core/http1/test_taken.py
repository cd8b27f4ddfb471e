from __future__ import annotations

import asyncio
import socket

import pytest

from core.http1 import taken
from core.http1.taken import bytes_taken
from tests.core.http1.server import Peer, serving

pytestmark = pytest.mark.anyio


async def test_what_the_other_side_s_system_took() -> None:
    async def handle(peer: Peer) -> None:
        await peer.reader.readexactly(5000)
        await peer.send(b".")
        await peer.gone()

    async with serving(handle) as server:
        host, port = server.url.removeprefix("http://").split("/")[0].split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        before = bytes_taken(writer.transport)
        assert before is not None
        writer.write(b"x" * 5000)
        await reader.readexactly(1)
        after = bytes_taken(writer.transport)
        assert after == before + 5000
        writer.close()


class Told:
    """A transport with this socket."""

    def __init__(self, sock: object) -> None:
        self._sock = sock

    def get_extra_info(self, name: str) -> object:
        assert name == "socket"
        return self._sock


class Old:
    """A socket of a system that tells less."""

    def getsockopt(self, *_: int) -> bytes:
        return b"\0" * 104


def test_where_the_system_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = socket.socketpair()
    with one, other:
        for sock in (None, one, Old()):
            assert bytes_taken(Told(sock)) is None  # type: ignore[arg-type]
        monkeypatch.setattr(taken, "_INFO", None)
        assert bytes_taken(Told(one)) is None  # type: ignore[arg-type]
