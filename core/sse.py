"""Server-sent events: bytes to events, whatever the cuts and line ends."""

from __future__ import annotations

from typing import Final, NamedTuple

from core.errors import UpstreamError

EVENT_LIMIT: Final = 64 * 1024 * 1024
"""Bytes of one event; more is taken for a broken peer, for nothing may grow without bound."""

_BOM: Final = b"\xef\xbb\xbf"


class Event(NamedTuple):
    """One event: its name ("" when the peer gave none) and its data lines, joined by newlines."""

    name: str
    data: bytes


class EventDecoder:
    """Incremental reader. `feed` may be given any bytes, cut anywhere; `flush` gives what an unended last line held."""

    def __init__(self, limit: int = EVENT_LIMIT) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._cr = False
        self._start = True

    def feed(self, data: bytes) -> list[Event]:
        """The events that these bytes complete. Raises UpstreamError when one grows over the limit."""
        if self._cr or b"\r" in data:
            data = self._unify_line_ends(data)
        if not data:
            return []
        ends = b"\n\n" in data or (data[0] == 10 and bool(self._parts) and self._parts[-1][-1] == 10)
        self._parts.append(data)
        self._size += len(data)
        if not ends:
            if self._size > self._limit:
                raise UpstreamError(f"the upstream sent an event of more than {self._limit} bytes", status=502)
            return []
        *blocks, rest = b"".join(self._parts).split(b"\n\n")
        self._parts = [rest] if rest else []
        self._size = len(rest)
        if self._start:
            return [event for block in blocks if (event := self._read(block))]
        # Most blocks are one line of data.
        return [
            event
            for block in blocks
            if (
                event := Event("", block[6:])
                if block.startswith(b"data: ") and b"\n" not in block
                else self._read(block)
            )
        ]

    def flush(self) -> list[Event]:
        """The last event of a peer that ended without its blank line."""
        rest = b"".join(self._parts)
        self._parts, self._size, self._cr = [], 0, False
        event = self._read(rest)
        return [event] if event else []

    def _unify_line_ends(self, data: bytes) -> bytes:
        # A CR ends its line at once, for a peer that ends lines so may say nothing more; the LF of a CRLF that was cut
        # in two is then skipped.
        if self._cr and data:
            data = data.removeprefix(b"\n")
            self._cr = False
        self._cr = data.endswith(b"\r") or self._cr
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _read(self, block: bytes) -> Event | None:
        if self._start and block:
            self._start = False
            block = block.removeprefix(_BOM)
        if block.startswith(b"data: ") and b"\n" not in block:
            return Event("", block[6:])
        name, lines = "", []
        for line in block.split(b"\n"):
            field, _, value = line.partition(b":")
            if field == b"data":
                lines.append(value.removeprefix(b" "))
            elif field == b"event":
                name = value.removeprefix(b" ").decode("utf-8", "replace")
        return Event(name, b"\n".join(lines)) if lines else None
