"""One HTTP/1 answer as bytes; no I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import orjson

from core.identity import fresh_id
from core.serve.heads import TOKEN

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_LINES: Final = re.compile(rb"(?:" + TOKEN + rb"++: [^\x00\r\n]*+\r\n)*+")
_OURS: Final = frozenset({b"connection", b"content-length", b"transfer-encoding"})

Headers = Iterable[tuple[bytes, bytes]]


class Answer:
    """The answer to one request: `start` makes its head, `piece` the bytes of each piece of the body.

    The head goes with the first piece. `begun` and `done` say what has been handed out; `close` that the connection
    ends with the answer.
    """

    def __init__(self, method: str, *, old: bool, close: bool) -> None:
        self.begun = self.done = False
        self.close = close
        self._old = old
        self._asked_head = method == "HEAD"
        self._bodyless = False
        self._head: bytes | None = None
        self._left: int | None = None
        self._chunked = False

    @property
    def until_closed(self) -> bool:
        """Whether nothing but the connection's end says where the body ends."""
        return self.begun and not (self._chunked or self._bodyless) and self._left is None

    def start(self, status: int, headers: Headers, more: Headers) -> None:
        """Take the head, and further headers of the server.

        Raises ValueError for what would break the head, and RuntimeError when it is the second.
        """
        if self._head is not None or self.begun:
            raise RuntimeError("the answer has begun already")
        if not 200 <= status <= 999:
            raise ValueError(f"the answer's status is {status}; it must be from 200 to 999")
        lines: list[bytes] = []
        length: bytes | None = None
        for given, value in headers:
            name = bytes(given).strip()
            lowered = name.lower()
            if lowered not in _OURS:
                lines.append(b"%b: %b\r\n" % (name, bytes(value).strip()))
            elif lowered == b"content-length":
                length = _length(length, bytes(value).strip())
            elif lowered == b"connection":
                self.close = self.close or b"close" in [word.strip() for word in value.lower().split(b",")]
        lines += [b"%b: %b\r\n" % header for header in more]
        lines += self._framing(status, length)
        block = b"".join(lines)
        # A value may hold what looks like a header of its own.
        if block.count(b"\n") != len(lines) or _LINES.fullmatch(block) is None:
            raise ValueError("a header of the answer has a name that is none, or a line break or NUL in its value")
        self._head = b"HTTP/1.1 %d \r\n%b\r\n" % (status, block)

    def piece(self, data: bytes, more: bool) -> bytes:
        """The bytes for a piece of the body, the last one if there are no `more`.

        Raises RuntimeError before the head and after the end, and where the announced length does not hold: the answer
        is then not `done` and must be cut.
        """
        if self.begun:
            if self.done:
                raise RuntimeError("the answer has ended already")
            wire = self._frame(data, more)
        else:
            if self._head is None:
                raise RuntimeError("the body comes before the answer's head")
            wire = self._head + self._frame(data, more)
            self._head = None
            self.begun = True
        self.done = not more
        return wire

    def _frame(self, data: bytes, more: bool) -> bytes:
        if self._bodyless:
            return b""
        if self._chunked:
            if not more:
                return b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data) if data else b"0\r\n\r\n"
            return b"%x\r\n%b\r\n" % (len(data), data) if data else b""
        if self._left is not None:
            left = self._left - len(data)
            if left < 0 or (left and not more):
                raise RuntimeError(f"the answer's content-length is wrong: {abs(left)} bytes too {_few(left)}")
            self._left = left
        return bytes(data)

    def _framing(self, status: int, length: bytes | None) -> list[bytes]:
        """The lines that say where the body ends, and whether the connection does."""
        lines: list[bytes] = []
        self._bodyless = self._asked_head or status in {204, 304}
        if length is not None:
            lines.append(b"content-length: %b\r\n" % length)
            self._left = int(length)
        elif status in {204, 304}:
            pass
        elif self._old:
            self.close = True
        else:
            lines.append(b"transfer-encoding: chunked\r\n")
            self._chunked = True
        if self.close:
            lines.append(b"connection: close\r\n")
        return lines


def refusal(status: int, message: str, headers: Headers) -> bytes:
    """A whole answer in the Messages API's form of an error, the last on its connection."""
    kind = "api_error" if status == 500 else "invalid_request_error"
    request = fresh_id("req_")
    body = orjson.dumps({"type": "error", "error": {"type": kind, "message": message}, "request_id": request})
    answer = Answer("", old=False, close=True)
    ours = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    answer.start(status, [*ours, (b"request-id", request.encode())], headers)
    return answer.piece(body, more=False)


def _length(before: bytes | None, value: bytes) -> bytes:
    if not value.isdigit() or before not in {None, value}:
        raise ValueError("the answer's content-length is not one whole number")
    return value


def _few(left: int) -> str:
    return "few" if left > 0 else "many"
