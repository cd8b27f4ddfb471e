"""What the HTTP/1.1 transport costs beside aiohttp's, each alone on one core: `python -m tests.bench.transports`.

An asyncio server that answers with fixed bytes runs on the other core, if there is one.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection as Pipe
from typing import cast

import aiohttp
import httpx
import uvloop
from httpx_aiohttp import AiohttpTransport

from core.http1 import HTTP1Transport

SMALL = b'{"id":"chatcmpl-1","choices":[{"index":0,"message":{"role":"assistant","content":"Hello."}}]}'
CHUNK = b'data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":" word"}}]}\n\n'
CHUNKS = 200
PAUSE = 0.005
"""Seconds between two chunks: long enough that each is read alone."""
TIMES = {"connect": 10.0, "read": 600.0, "write": 600.0, "pool": None}
BODY = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}' * 4

Maker = Callable[[], httpx.AsyncBaseTransport]


class Upstream(asyncio.Protocol):
    """Answers /small with JSON and all else with a stream, chunk by chunk."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if b"/small" in data:
            self.transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(SMALL), SMALL))
        else:
            self.transport.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            self.next(CHUNKS)

    def next(self, left: int) -> None:
        if not left:
            self.transport.write(b"0\r\n\r\n")
            return
        self.transport.write(b"%x\r\n%b\r\n" % (len(CHUNK), CHUNK))
        asyncio.get_running_loop().call_later(PAUSE, self.next, left - 1)


def serve(pipe: Pipe) -> None:
    """Run the upstream for ever, on the last core."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(Upstream, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    uvloop.run(run())


def aiohttp_transport() -> httpx.AsyncBaseTransport:
    """The other transport, set up as for a backend."""

    def session() -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(limit=0)
        return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())

    return AiohttpTransport(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), client=session)


async def ask(transport: httpx.AsyncBaseTransport, url: str) -> int:
    """One request, read to its end; the pieces that came."""
    request = httpx.Request("POST", url, content=BODY, extensions={"timeout": TIMES})
    response = await transport.handle_async_request(request)
    assert isinstance(response.stream, httpx.AsyncByteStream)
    pieces = 0
    async for _ in response.stream:
        pieces += 1
    await response.aclose()
    return pieces


async def load(make: Maker, url: str, *, connections: int, requests: int) -> tuple[float, float, float]:
    """Requests per second, CPU ms per request, and pieces per request."""
    transport = make()

    async def client(count: int) -> int:
        return sum([await ask(transport, url) for _ in range(count)])

    await asyncio.gather(*(client(2) for _ in range(connections)))
    wall, cpu = time.perf_counter(), time.process_time()
    pieces = sum(await asyncio.gather(*(client(requests // connections) for _ in range(connections))))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    await transport.aclose()
    done = requests // connections * connections
    return done / wall, cpu / done * 1000, pieces / done


def main() -> None:
    """Print the table."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    upstream = context.Process(target=serve, args=(theirs,), daemon=True)
    upstream.start()
    root = f"http://127.0.0.1:{ours.recv()}"
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    makers: dict[str, Maker] = {"aiohttp": aiohttp_transport, "http1": HTTP1Transport}
    runners = {"uvloop": uvloop.run, "asyncio": asyncio.run}
    print(f"{'loop':8} {'load':24} {'transport':9} {'req/s':>8} {'CPU ms/req':>11} {'pieces':>7}")
    for loop, run in runners.items():
        for path, connections, requests in (("/small", 32, 6_000), ("/small", 1, 1_000), ("/stream", 32, 96)):
            for name, make in makers.items():
                runs = [
                    run(load(make, root + path, connections=connections, requests=requests)) for _ in range(rounds())
                ]
                best = min(runs, key=lambda figures: figures[1])
                label = f"{path} × {connections}"
                print(f"{loop:8} {label:24} {name:9} {best[0]:8.0f} {best[1]:11.3f} {best[2]:7.1f}", flush=True)
    upstream.terminate()


def rounds() -> int:
    """Runs per line; the one with the least CPU counts, for others may use the machine too."""
    return int(sys.argv[1]) if len(sys.argv) > 1 else 3


if __name__ == "__main__":
    main()
