from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from core.serve.writer import Writer

pytestmark = pytest.mark.anyio


class Transport:
    """A transport whose buffer has these sizes, look by look."""

    def __init__(self, *sizes: int) -> None:
        self.sizes = list(sizes)
        self.aborted = False

    def get_write_buffer_size(self) -> int:
        return self.sizes.pop(0)

    def abort(self) -> None:
        self.aborted = True

    def is_closing(self) -> bool:
        return True


async def test_a_slow_client_is_no_stalled_one() -> None:
    transport = Transport(90, 80, 80, 10, 10, 10)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    writer = Writer(cast("Any", transport), asyncio.StreamReaderProtocol(reader), reader, loop)
    writer.stall = 0.01
    never: asyncio.Future[None] = loop.create_future()

    async def wait() -> None:
        await asyncio.shield(never)

    with pytest.raises(ConnectionAbortedError):
        await writer._moving(wait)
    assert (transport.sizes, transport.aborted) == ([], True)
    never.cancel()


async def test_to_a_closed_transport_nothing_is_said() -> None:
    said: list[bytes] = []

    class Closing(Transport):
        def write(self, data: bytes) -> None:
            said.append(data)
            if len(said) > 1:
                raise RuntimeError("the handler is closed")

    reader = asyncio.StreamReader()
    writer = Writer(cast("Any", Closing()), asyncio.StreamReaderProtocol(reader), reader, asyncio.get_running_loop())
    writer.say(b"one")
    writer.say(b"two")
    assert said == [b"one", b"two"]
    assert not writer.full
