from __future__ import annotations

import socket

import anyio
import pytest

from core.testing.sockets import Connection, accept, listen

pytestmark = pytest.mark.anyio


async def pair() -> tuple[Connection, socket.socket]:
    with listen() as listener:
        peer = socket.create_connection(listener.getsockname())
        return await accept(listener), peer


async def test_bytes_both_ways_and_the_peers_end() -> None:
    connection, peer = await pair()
    with peer:
        peer.sendall(b"in")
        assert await connection.receive() == b"in"
        await connection.send(b"out")
        assert peer.recv(10) == b"out"
        peer.shutdown(socket.SHUT_WR)
        assert await connection.receive() == b""
        connection.close()
        connection.close()
        assert peer.recv(10) == b""


async def test_reset_reaches_the_peer_as_one() -> None:
    connection, peer = await pair()
    with peer:
        connection.reset()
        with pytest.raises(ConnectionResetError):
            peer.recv(10)


async def test_closing_wakes_who_waits_for_bytes() -> None:
    connection, peer = await pair()
    received: list[bytes] = []

    async def receive() -> None:
        received.append(await connection.receive())

    with peer:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(receive)
            await anyio.wait_all_tasks_blocked()
            connection.close()
    assert received == [b""]


async def test_a_large_send_waits_for_the_reader() -> None:
    connection, peer = await pair()
    data = b"x" * 8_000_000
    with peer:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connection.send, data)
            await anyio.wait_all_tasks_blocked()
            size = await anyio.to_thread.run_sync(drain, peer, len(data))
        connection.close()
    assert size == len(data)


def drain(peer: socket.socket, size: int) -> int:
    got = 0
    while got < size:
        got += len(peer.recv(65536))
    return got
