"""A TCP connection in plain sight: what a scripted server needs and a high-level stream hides, a reset above all."""

from __future__ import annotations

import socket
import struct

import anyio


def listen(host: str = "127.0.0.1") -> socket.socket:
    """A listening socket on a free port."""
    listener = socket.create_server((host, 0))
    listener.setblocking(False)
    return listener


async def accept(listener: socket.socket) -> Connection:
    """The next connection."""
    while True:
        try:
            accepted, _ = listener.accept()
        except BlockingIOError:
            await anyio.wait_readable(listener)
        else:
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return Connection(accepted)


class Connection:
    """One accepted connection."""

    def __init__(self, accepted: socket.socket) -> None:
        self._socket = accepted
        self._socket.setblocking(False)

    async def receive(self) -> bytes:
        """The next bytes; b"" when the peer closed or reset the connection, or we did."""
        try:
            while True:
                try:
                    return self._socket.recv(65536)
                except BlockingIOError:
                    await anyio.wait_readable(self._socket)
        except (OSError, anyio.ClosedResourceError):
            return b""

    async def send(self, data: bytes) -> None:
        """Send all of it; raises ConnectionError when the peer is gone."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self._socket.send(rest) :]
            except BlockingIOError:
                await anyio.wait_writable(self._socket)

    def close(self) -> None:
        """Close in order (FIN); who waits for bytes gets b""."""
        if self._socket.fileno() >= 0:
            anyio.notify_closing(self._socket)
            self._socket.close()

    def reset(self) -> None:
        """Close with a reset (RST); what the peer has not read yet is lost to it."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()
