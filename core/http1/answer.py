"""One connection's answers, made of the bytes it gives; no I/O."""

from __future__ import annotations

import httpx
from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

HEAD_LIMIT = 64 * 1024
"""Bytes of a head; also those that may come in a row without bringing a part of the body (trailers, say)."""

HEADER_LIMIT = 256
"""Headers of one answer; also trailers, and interim answers before it."""

PIECES = 10_000
PIECE = 16
"""A body may come in so many chunks, and one more for each so many bytes: a chunk of a byte costs far more than it
brings, and millions of them would keep the event loop from all else."""


class Answer:
    """What has come of the answer to one request; `begin` makes it ready for the next.

    `started` says that the head is there, with `status`, `reason` and `headers`; `complete` that nothing is missing,
    and then `reusable` whether the connection may serve another request. `size` bytes of the body wait to be taken.
    """

    def __init__(self) -> None:
        self._fresh: list[bytes] = []
        # The parser calls them by name. Its pieces of a body go straight into the list.
        self.on_body = self._fresh.append
        self.begin()
        self._parser: HttpResponseParser | None = HttpResponseParser(self)
        # Small servers written by hand send these, and aiohttp takes them too.
        self._parser.set_dangerous_leniencies(lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True)

    def begin(self, *, bodyless: bool = False) -> None:
        """Expect the next answer; one without a body, whatever its headers say, if the request was a HEAD."""
        self.status = 0
        self.reason = b""
        self.version = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.touched = self.started = self.complete = self.reusable = False
        self.size = 0
        self._bodyless = bodyless
        self._pieces: list[bytes] = []
        self._dry = self._more = 0
        self._chunks = self._bytes = 0

    def feed(self, data: bytes) -> None:
        """Take one network read. Raises httpx.RemoteProtocolError for what is no HTTP; what was good remains.

        Bytes after a whole answer are no error of that answer, but the connection is not reusable.
        """
        self.touched = True
        broken: Exception | None = None
        try:
            if self._parser is not None:
                self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            broken = error
        came = self._gather()
        if self.complete:
            self.reusable = self.reusable and broken is None
            return
        if broken is not None:
            why = broken.__context__ if isinstance(broken.__context__, httpx.RemoteProtocolError) else broken
            raise httpx.RemoteProtocolError(f"the answer is no valid HTTP: {why}") from broken
        if self._chunks > PIECES + self._bytes // PIECE:
            raise httpx.RemoteProtocolError("the body comes in too many small chunks")
        self._dry = 0 if came else self._dry + len(data)
        if self._dry > HEAD_LIMIT:
            raise httpx.RemoteProtocolError(f"more than {HEAD_LIMIT} bytes without a part of the body")

    def feed_eof(self) -> None:
        """The server closed the connection, which ends a body without a length; else RemoteProtocolError is raised."""
        if self.complete:
            return
        if not self.started:
            what = "an incomplete answer" if self.touched else "no answer"
            raise httpx.RemoteProtocolError(f"the server closed the connection and had sent {what}")
        if not self._until_closed():
            raise httpx.RemoteProtocolError("the server closed the connection before the body was complete")
        self.complete = True

    def take(self) -> bytes:
        """All of the body that waits, in one piece."""
        pieces = self._pieces
        if not pieces:
            return b""
        whole = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        self.size = 0
        return whole

    def forget(self) -> None:
        """No more bytes will come: drop the parser, which refers back to this object."""
        self._parser = None

    def _gather(self) -> bool:
        """Make one piece of what one read brought."""
        fresh = self._fresh
        if not fresh:
            return False
        piece = fresh[0] if len(fresh) == 1 else b"".join(fresh)
        self._chunks += len(fresh)
        self._bytes += len(piece)
        fresh.clear()
        if not self._bodyless:
            self._pieces.append(piece)
            self.size += len(piece)
        return True

    def _until_closed(self) -> bool:
        named = {name.lower(): value.lower() for name, value in self.headers}
        coding = named.get(b"transfer-encoding", b"").split(b",")[-1].strip()
        return b"content-length" not in named and coding != b"chunked"

    def _count(self, what: str) -> None:
        """One more of what is dropped, which costs more than its bytes do. When this raises the parser stops."""
        self._more += 1
        if self._more > HEADER_LIMIT:
            raise httpx.RemoteProtocolError(f"more than {HEADER_LIMIT} {what}")

    # --- what the parser calls ---

    def on_message_begin(self) -> None:
        """A status line begins."""
        if self.complete:
            raise httpx.RemoteProtocolError("bytes after the answer")

    def on_status(self, text: bytes) -> None:
        """A part of the reason phrase."""
        self.reason += text

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; behind the body, a trailer, which is dropped."""
        if self.started:
            self._count("trailers")
            return
        if len(self.headers) == HEADER_LIMIT:
            raise httpx.RemoteProtocolError(f"more than {HEADER_LIMIT} headers")
        # llhttp takes the white space before a value, not that behind it.
        self.headers.append((name, value.rstrip(b" \t")))

    def on_headers_complete(self) -> None:
        """The head is there."""
        parser = self._parser
        if parser is None or self.complete:
            return
        status = parser.get_status_code()
        if status == 101 or status < 100:
            raise httpx.RemoteProtocolError(f"status {status}")
        if sum([len(name) + len(value) for name, value in self.headers]) > HEAD_LIMIT:
            raise httpx.RemoteProtocolError(f"a head of more than {HEAD_LIMIT} bytes")
        if status < 200:
            self._count("interim answers")
            return
        self.status = status
        self.version = parser.get_http_version().encode()
        self.started = True
        # The parser does not know of HEAD and would wait for the body; so this connection ends here.
        self.complete = self._bodyless

    def on_message_complete(self) -> None:
        """An answer is there as a whole, or an interim one, after which the true one follows."""
        if self.started:
            if self._parser is not None and not self._bodyless:
                self.reusable = self._parser.should_keep_alive()
            self.complete = True
        else:
            self.headers = []
            self.reason = b""
