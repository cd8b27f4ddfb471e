"""How much of what was sent the other side's system has taken, which tells a closed connection from a lost request."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Final

_INFO: Final = getattr(socket, "TCP_INFO", None)
_AT: Final = 120
"""Where `tcpi_bytes_acked` is in Linux's `struct tcp_info` (since 4.1)."""
_SIZE: Final = _AT + 8


def bytes_taken(transport: asyncio.BaseTransport) -> int | None:
    """The bytes of this connection that the other side has acknowledged so far; None where the system does not tell.

    A socket that was closed acknowledges nothing any more: it answers with a reset. What was acknowledged the server
    may have read.
    """
    sock = transport.get_extra_info("socket")
    if sock is None or _INFO is None:
        return None
    try:
        told = sock.getsockopt(socket.IPPROTO_TCP, _INFO, _SIZE)
    except (OSError, RuntimeError):  # another system, no TCP, or closed already
        return None
    return int(struct.unpack_from("=Q", told, _AT)[0]) if len(told) == _SIZE else None
