"""The scripted upstream: `python -m tests.bench.upstream PORT [--per-write N]`.

A bare protocol with answers made beforehand. It reads of a request no more than where it ends and the model's name.
It runs on asyncio's own loop on purpose: there each `write` is one `send`, uvloop would join them.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Iterator
from typing import Final, cast

from tests.bench import answers

INTERVAL: Final = 0.05
"""Seconds between the chunks of a slow stream: 20 a second."""

_LENGTH: Final = b"\r\ncontent-length:"
_MODEL: Final = b'"model":'


class Upstream(asyncio.Protocol):
    """One connection."""

    def __init__(self, per_write: int) -> None:
        self._per_write = per_write
        self._got = bytearray()
        self._need = 0
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """End a slow stream."""
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Answer each request that is complete."""
        self._got += data
        if not self._need:
            end = self._got.find(b"\r\n\r\n")
            if end < 0:
                return
            self._need = end + 4 + _length(bytes(self._got[:end]).lower())
        if len(self._got) >= self._need:
            model = _model(self._got)
            del self._got[: self._need]
            self._need = 0
            self._answer(model)

    def _answer(self, model: str) -> None:
        if self._transport is None:
            return
        if model == "slow":
            begin, before, after = answers.slow_parts(model)
            self._transport.write(begin)
            self._tick(asyncio.get_running_loop(), before, after)
        elif "-" in model:
            writes = iter(answers.stream(model, self._per_write))
            if pause := answers.pause(model):
                self._one_by_one(asyncio.get_running_loop(), writes, pause)
            else:
                for data in writes:
                    self._transport.write(data)
        else:
            self._transport.write(answers.whole(model))

    def _one_by_one(self, loop: asyncio.AbstractEventLoop, writes: Iterator[bytes], pause: float) -> None:
        if self._transport is not None and (data := next(writes, b"")):
            self._transport.write(data)
            self._timer = loop.call_later(pause, self._one_by_one, loop, writes, pause)

    def _tick(self, loop: asyncio.AbstractEventLoop, before: bytes, after: bytes) -> None:
        if self._transport is not None:
            self._transport.write(b"%b%016d%b" % (before, time.monotonic_ns() // 1000, after))
            self._timer = loop.call_later(INTERVAL, self._tick, loop, before, after)


def _length(head: bytes) -> int:
    at = head.find(_LENGTH)
    return 0 if at < 0 else int(head[at + len(_LENGTH) :].split(b"\r\n", 1)[0])


def _model(got: bytearray) -> str:
    """What follows `"model":`; providers' names may stand before it, behind slashes."""
    at = got.find(_MODEL) + len(_MODEL)
    return got[at : at + 80].split(b'"', 2)[1].rsplit(b"/", 1)[-1].decode()


async def serve(port: int, per_write: int = 1) -> None:
    """Serve until cancelled."""
    server = await asyncio.get_running_loop().create_server(
        lambda: Upstream(per_write), "127.0.0.1", port, backlog=4096, reuse_address=True
    )
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--per-write", type=int, default=1)
    asyncio.run(serve(**vars(parser.parse_args())))
