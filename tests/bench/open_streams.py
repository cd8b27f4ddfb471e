"""Many open slow streams at once: memory for each, CPU for each chunk, and how late the chunks come."""

from __future__ import annotations

import asyncio
import time
from typing import Final, cast

import attrs

from tests.bench import bodies
from tests.bench.answers import STAMP
from tests.bench.generator import request
from tests.bench.measure import Figures, Target, quantile
from tests.bench.upstream import INTERVAL

_OPENING: Final = 60.0
"""Seconds in which all streams must have begun."""

_DIGITS: Final = 16


@attrs.define
class _Streams:
    """What all streams of a run count together."""

    open: int = 0
    lost: int = 0
    chunks: int = 0
    counting: bool = False
    late: list[float] = attrs.field(factory=list)


class _Stream(asyncio.Protocol):
    def __init__(self, data: bytes, shared: _Streams) -> None:
        self._data = data
        self._shared = shared
        self._begun = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast("asyncio.WriteTransport", transport).write(self._data)  # uvloop's is one, but not by class

    def connection_lost(self, exc: Exception | None) -> None:
        self._shared.lost += 1

    def data_received(self, data: bytes) -> None:
        at = data.rfind(STAMP)
        if at < 0:
            return
        shared = self._shared
        if not self._begun:
            self._begun = True
            shared.open += 1
        if shared.counting:
            shared.chunks += data.count(STAMP)
            sent = data[at + len(STAMP) : at + len(STAMP) + _DIGITS]
            if len(sent) == _DIGITS:
                shared.late.append(time.monotonic_ns() / 1e9 - int(sent) / 1e6)


async def hold_open(target: Target, streams: int, seconds: float) -> Figures:
    """Open the streams, look at them for a while, close them. The server must be fresh, or its memory says nothing."""
    data, shared = request(bodies.streamed("slow")), _Streams()
    before_pss, before_rss = target.process.pss(), target.process.rss()
    transports = await _open(target.port, data, streams, shared)
    shared.counting = True
    cpu, begin = target.process.cpu(), time.perf_counter()
    await asyncio.sleep(seconds)
    wall, spent = time.perf_counter() - begin, target.process.cpu() - cpu
    shared.counting = False
    pss, rss = target.process.pss() - before_pss, target.process.rss() - before_rss
    lost = shared.lost
    for transport in transports:
        transport.close()
    if lost or not shared.late:
        raise RuntimeError(f"{target.name}: {lost} of {streams} streams broke, {len(shared.late)} chunks came")
    return {
        "stream_kb": pss / streams / 1024,
        "stream_rss_kb": rss / streams / 1024,
        "chunk_us": spent / shared.chunks * 1e6,
        "busy": spent / wall,
        "late_p50_ms": quantile(shared.late, 0.5) * 1e3,
        "late_p99_ms": quantile(shared.late, 0.99) * 1e3,
        "delivered": shared.chunks / (streams * wall / INTERVAL),
    }


async def _open(port: int, data: bytes, streams: int, shared: _Streams) -> list[asyncio.BaseTransport]:
    """Open them one after another, so that their chunks come spread over the interval, and wait until all have begun."""
    loop = asyncio.get_running_loop()
    transports = []
    for _ in range(streams):
        transport, _protocol = await loop.create_connection(lambda: _Stream(data, shared), "127.0.0.1", port)
        transports.append(transport)
        await asyncio.sleep(0.002)
    limit = time.monotonic() + _OPENING
    while shared.open < streams:
        if time.monotonic() > limit or shared.lost:
            raise RuntimeError(f"only {shared.open} of {streams} streams began, {shared.lost} broke")
        await asyncio.sleep(0.05)
    return list(transports)
