"""One connection's requests, made of the bytes that come, one at a time; no I/O."""

from __future__ import annotations

from typing import Final

from hypercorn.protocol.h11 import H2ProtocolAssumedError

from core.serve.chunks import Chunks
from core.serve.heads import BARE, Head, RefusedError, read_head

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\n"
"""What a client begins with that speaks HTTP/2 (RFC 9113, 3.4), up to the first empty line."""


class Requests:
    """`add` takes bytes; `next` gives a request's head and `body` what is there of its body, until it is `complete`.

    After that `release` makes way for the next one. What comes meanwhile waits in `rest`, as it is.
    """

    def __init__(self, limit: int) -> None:
        self.rest = b""
        self.current = False
        """Whether there is a request, from its head on until it is released."""
        self.complete = False
        """Whether its body has been taken to the end."""
        self._limit = limit
        self._fresh = True
        self._scanned = 0
        self._left = 0
        self._chunks: Chunks | None = None

    def add(self, data: bytes) -> None:
        """Take what has come."""
        self.rest = self.rest + data if self.rest else data

    def next(self) -> Head | None:
        """The next request's head; None as long as it is not all there.

        Raises RefusedError, and H2ProtocolAssumedError, with all bytes, where the connection begins as HTTP/2.
        """
        rest = self.rest
        end = rest.find(b"\r\n\r\n", self._scanned) + 4
        if end < 4:
            self._check(rest)
            return None
        if end > self._limit:
            raise _too_large(self._limit)
        raw = rest[:end]
        if self._fresh and raw == PREFACE:
            raise H2ProtocolAssumedError(rest)
        head = read_head(raw)
        self.rest = rest[end:]
        self._scanned = 0
        self._fresh = False
        self.current = True
        self._chunks = Chunks(self._limit) if head.length is None else None
        self._left = head.length or 0
        self.complete = head.length == 0
        return head

    def body(self) -> bytes:
        """What is there of the body and was not taken yet. Raises RefusedError."""
        if self._chunks is not None:
            piece, self.rest = self._chunks.feed(self.rest)
            self.complete = self._chunks.done
            return piece
        rest = self.rest
        piece = rest if len(rest) <= self._left else rest[: self._left]
        self.rest = rest[len(piece) :]
        self._left -= len(piece)
        self.complete = not self._left
        return piece

    def release(self) -> None:
        """The request is over."""
        self.current = self.complete = False
        self._chunks = None

    def _check(self, rest: bytes) -> None:
        """Refuse at once what cannot become a head: whoever speaks TLS here, say, would wait for an answer."""
        if len(rest) > self._limit:
            raise _too_large(self._limit)
        if rest and not (0x21 <= rest[0] <= 0x7E and BARE.search(rest, self._scanned) is None):
            raise RefusedError(
                400, "the request is no valid HTTP/1.1: lines end with a carriage return and a line feed"
            )
        self._scanned = max(0, len(rest) - 3)


def _too_large(limit: int) -> RefusedError:
    return RefusedError(431, f"the request's line and headers have more than {limit} bytes")
