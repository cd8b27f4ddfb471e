"""A request's body in chunks (RFC 9112, 7.1), read by the letter.

Not by llhttp: it does not say where in what it was given a request ends, and takes sizes of any number of digits.
"""

from __future__ import annotations

import re
from typing import Final

from core.serve.heads import BARE, TOKEN, RefusedError

FRAMING: Final = 16
"""Bytes around the content that each byte of it allows, beyond the limit that all of them have together."""
_SIZE: Final = rb"([0-9A-Fa-f]{1,16})(?:;[\t\x20-\x7e\x80-\xff]*+)?\r\n"
_FIRST: Final = re.compile(_SIZE)
_NEXT: Final = re.compile(rb"\r\n" + _SIZE)
_TRAILERS: Final = re.compile(
    rb"(?:(?!(?i:content-length|transfer-encoding):)" + TOKEN + rb"++:[\t\x20-\x7e\x80-\xff]*+\r\n)*+\r\n"
)


class Chunks:
    """`feed` takes bytes as they come; `done` says that the body has ended. Trailers are checked and dropped.

    At most `limit` bytes of trailers and extensions are taken, and FRAMING more for each byte of content.
    """

    def __init__(self, limit: int) -> None:
        self.done = False
        self._allowed = limit
        self._limit = limit
        self._left = 0
        self._expected = _FIRST
        self._scanned = 0

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """The content in these bytes, and those that are left: to be given again with more behind them, or what
        follows the body. Raises RefusedError."""
        pieces: list[bytes] = []
        at = 0
        while not self.done:
            if self._left:
                piece = data[at : at + self._left]
                pieces.append(piece)
                at += len(piece)
                self._left -= len(piece)
                self._allowed += FRAMING * len(piece)
                if self._left:
                    break
            if not (end := self._end(data, at)):
                self._check(data[at:])
                break
            if (match := self._expected.fullmatch(data, at, end)) is None:
                raise self._broken()
            self._allowed -= end - at
            at = end
            if self._allowed < 0:
                raise _too_large(self._limit)
            self._advance(match)
        return b"".join(pieces), data[at:]

    def _end(self, data: bytes, at: int) -> int:
        """Where what is expected ends; 0: further on."""
        if self._expected is _TRAILERS and not data.startswith(b"\r\n", at):
            found = data.find(b"\r\n\r\n", at + self._scanned)
            return found + 4 if found >= 0 else 0
        found = data.find(b"\r\n", at + max(self._scanned, 2 * (self._expected is _NEXT)))
        return found + 2 if found >= 0 else 0

    def _advance(self, match: re.Match[bytes]) -> None:
        self._scanned = 0
        if self._expected is _TRAILERS:
            self.done = True
            return
        self._left = int(match[1], 16)
        self._expected = _NEXT if self._left else _TRAILERS

    def _check(self, rest: bytes) -> None:
        """Refuse what cannot become what is expected, however it goes on."""
        if len(rest) > self._limit:
            raise _too_large(self._limit)
        if self._expected is _NEXT and not rest.startswith(b"\r\n"[: len(rest)]):
            raise self._broken()
        if BARE.search(rest, self._scanned):
            raise self._broken()
        # Of bytes that come one by one none is looked at again and again.
        self._scanned = max(0, len(rest) - 3)

    def _broken(self) -> RefusedError:
        what = "a chunk does not begin with its size in hexadecimal digits, or is longer than that"
        if self._expected is _TRAILERS:
            what = "a trailer is not one line `name: value`, or says where the body ends"
        return RefusedError(400, f"the request's body is no valid HTTP/1.1: {what}")


def _too_large(limit: int) -> RefusedError:
    return RefusedError(431, f"trailers and chunk extensions have more than {limit} bytes")
