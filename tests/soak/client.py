"""One request of a client's, on a raw socket: reads, reads slowly, leaves in the middle, or stalls."""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from contextlib import suppress
from typing import Final, Literal

import attrs

from tests.soak.plan import Plan
from tests.soak.told import Told, WrongError

SMALL: Final = 8192
"""Bytes that a slow client takes at a time."""
ROOM: Final = {"slow": 65536, "stalls": SMALL}
"""Bytes that the kernel keeps for it; with less than a packet's it would send by its own timers, ever more slowly."""
SPEED: Final = 100_000
"""Bytes per second that a slow client takes."""
STALL: Final = 20.0
"""Seconds that a client takes nothing that stalls: longer than any limit of the gateway's."""

End = Literal["", "whole", "closed", "left"]


@attrs.define
class Result:
    """What became of one request; times are the loop's. `wrong` is the rule that the answer broke.

    `end`: "whole" by the rules of HTTP, "closed" before that, "left" by the client; "" is a request that hangs.
    """

    plan: Plan
    port: int = 0
    began: float = 0.0
    ended: float = 0.0
    first: float = 0.0
    end: End = ""
    wrong: str = ""
    status: int = 0
    headers: dict[str, str] = attrs.field(factory=dict)
    told: Told | None = None
    body: bytes = b""


class Connection:
    """A client's connection, good for one request after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._taken = 0
        self.port: int = writer.get_extra_info("sockname")[1]

    @classmethod
    async def open(cls, port: int, plan: Plan) -> Connection:
        """Connect as this plan's client does. Raises OSError."""
        sock = socket.socket()
        sock.setblocking(False)
        room = ROOM.get(plan.client)
        if room:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        try:
            await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
            return cls(*await asyncio.open_connection(sock=sock, limit=room or 1 << 18))
        except BaseException:
            sock.close()
            raise

    def leave(self) -> None:
        """Reset it."""
        if not self._writer.transport.is_closing():
            sock = self._writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def ask(self, plan: Plan, result: Result) -> None:
        """Send the request, and take its answer into the result. Raises OSError, IncompleteReadError or WrongError."""
        result.port = self.port
        body = plan.body
        lines = [
            "POST /v1/messages HTTP/1.1",
            "host: gateway",
            "x-api-key: sk-client-secret",
            "anthropic-version: 2023-06-01",
        ]
        head = "\r\n".join([*lines, f"content-length: {len(body)}", "", ""])
        self._writer.write(head.encode() + body)
        await self._writer.drain()
        if plan.client == "leaves":
            with suppress(TimeoutError):
                async with asyncio.timeout(plan.seconds * random.Random(plan.seed + 3).random()):
                    await self._answer(plan, result)
                    return
            result.end = "left"
        else:
            await self._answer(plan, result)

    async def _answer(self, plan: Plan, result: Result) -> None:
        head = await self._reader.readuntil(b"\r\n\r\n")
        status, *headers = head[:-4].decode("latin-1").split("\r\n")
        result.status = int(status.split(" ")[1])
        pairs = [header.partition(":") for header in headers]
        result.headers = {name.lower(): value.strip() for name, _, value in pairs}
        if len(result.headers) != len(headers):
            raise WrongError(f"a header twice: {headers}")
        if result.headers["content-type"].startswith("text/event-stream"):
            result.told = Told()
        if plan.client == "stalls":
            await asyncio.sleep(STALL)
        await self._body(plan, result)
        result.end = "whole"
        if result.told is not None:
            result.told.finish()

    async def _body(self, plan: Plan, result: Result) -> None:
        if "content-length" in result.headers:
            await self._take(int(result.headers["content-length"]), plan, result)
            return
        if result.headers.get("transfer-encoding") != "chunked":
            raise WrongError(f"neither chunks nor a length: {result.headers}")
        while size := int((await self._reader.readuntil(b"\r\n"))[:-2], 16):
            await self._take(size, plan, result)
            await self._line(b"\r\n")
        await self._line(b"\r\n")

    async def _line(self, wanted: bytes) -> None:
        if await self._reader.readexactly(len(wanted)) != wanted:
            raise WrongError("a chunk does not end where it should")

    async def _take(self, size: int, plan: Plan, result: Result) -> None:
        while size:
            data = await self._reader.read(min(size, SMALL if plan.client == "slow" else 1 << 16))
            if not data:
                raise asyncio.IncompleteReadError(b"", size)
            size -= len(data)
            if result.told is None:
                result.body += data
            elif result.told.feed(data) and not result.first:
                result.first = asyncio.get_running_loop().time()
            if plan.client == "slow":
                self._taken += len(data)
                # On a machine that is slow itself it makes up for it: the gateway's limit is for a client's own pace.
                await asyncio.sleep(max(0.0, self._taken / SPEED - asyncio.get_running_loop().time() + result.began))


async def request(port: int, plan: Plan, kept: Connection | None, limit: float) -> tuple[Result, Connection | None]:
    """One request within so many seconds; its result, and the connection if it goes on."""
    loop = asyncio.get_running_loop()
    result = Result(plan, began=loop.time())
    connection = kept
    try:
        async with asyncio.timeout(limit):
            connection = connection or await Connection.open(port, plan)
            await connection.ask(plan, result)
    except TimeoutError:
        result.end = ""
    except (OSError, asyncio.IncompleteReadError):
        result.end = "closed"
    except Exception as error:  # noqa: BLE001  whatever it is, the answer is wrong
        result.wrong = f"{type(error).__name__}: {error}"
    result.ended = loop.time()
    if connection is not None and (
        result.end != "whole" or result.wrong or not plan.again or result.headers.get("connection") == "close"
    ):
        connection.leave()
        connection = None
    return result, connection
