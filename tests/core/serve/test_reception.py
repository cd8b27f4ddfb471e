from __future__ import annotations

import asyncio
import errno
import socket
import time
from typing import Any

import pytest
from structlog.testing import capture_logs

from core.serve import reception
from tests.core.serve.served import Served, request, serving, true

pytestmark = pytest.mark.anyio


async def refuses(served: Served) -> bool:
    try:
        await served.connect()
    except ConnectionRefusedError:
        return True
    return False


async def test_draining_closes_what_is_idle_and_lets_the_rest_end() -> None:
    async with serving() as served:
        fresh, idle, running = [await served.connect() for _ in range(3)]
        await idle.send(request())
        await idle.until(b"}")
        await running.send(request("/drain"))
        await running.until(b"first ")
        draining = asyncio.create_task(served.reception.drain(5))
        assert await fresh.rest() == b""
        assert await idle.rest() == b""
        assert await refuses(served)
        assert not draining.done()
        served.app.begin_drain()
        assert (await running.rest()).endswith(b"last\r\n0\r\n\r\n")
        await draining


async def test_an_answer_that_begins_while_it_drains_is_the_last_of_its_connection() -> None:
    async with serving() as served:
        client = await served.connect()
        whole = request("/x", b"hi")
        await client.send(whole[:-1])
        await true(lambda: bool(served.app.seen))
        draining = asyncio.create_task(served.reception.drain(5))
        await asyncio.sleep(0)
        await client.send(whole[-1:])
        answer = await client.rest()
        assert b"\r\nconnection: close\r\n" in answer
        assert answer.endswith(b'"body":"hi"}')
        await draining


@pytest.mark.parametrize("path", ["/forever", "/never", "/flood"])
async def test_what_does_not_end_in_time_is_cut(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reception, "LAST", 0.1)
    async with serving() as served:
        client = await served.connect()
        await client.send(request(path))
        await client.until(b"first")
        began = time.monotonic()
        await served.reception.drain(0.1)
        assert time.monotonic() - began < 1
        assert served.app.left.is_set()
        client.socket.close()


async def test_it_closes_twice() -> None:
    async with serving() as served:
        served.reception.close()
        served.reception.close()
        assert await refuses(served)


async def test_without_files_it_rests_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reception, "REST", 0.05)
    accept, failures = socket.socket.accept, [errno.EMFILE, errno.ECONNABORTED, errno.EAGAIN]

    def fail_at_first(self: socket.socket) -> Any:
        if failures:
            number = failures.pop(0)
            raise OSError(number, "no")
        return accept(self)

    monkeypatch.setattr(socket.socket, "accept", fail_at_first)
    async with serving() as served:
        with capture_logs() as logs:
            assert b"200" in await served.ask(request("/x", b"", b"connection: close"))
        assert [log["event"] for log in logs] == ["no connection can be taken"]
        assert failures == []
