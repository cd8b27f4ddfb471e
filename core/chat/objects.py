"""Where JSON objects end in text that comes in pieces, and their strings made readable on the way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

BLANKS: Final = " \t\n\r"
"""What JSON takes for blank."""

# Each reads up to the next character that matters, escapes as pairs: no loop of ours over characters.
_IN_STRING: Final = re.compile(r'[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+', re.DOTALL)
_OUTSIDE: Final = re.compile(r'[^"\\{}\[\]]*+(?:\\.?[^"\\{}\[\]]*+)*+', re.DOTALL)
_BLANK: Final = re.compile(f"[{BLANKS}]*+")
_SHORT: Final = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


class ObjectScanner:
    """Follows one object, from its first brace to its last, by quotes and brackets alone.

    Each character is looked at once, whatever the number of pieces. Whether the text is JSON is not asked.
    """

    def __init__(self) -> None:
        self.closed = False
        """Whether the last brace has come."""
        self._depth = 0
        self._in_string = False
        self._escaped = False

    def feed(self, text: str, start: int = 0) -> tuple[str, int]:
        """What the object has of the text from `start` on, and where that ends; nothing once it is closed.

        Raw control characters within strings, which weak models write and JSON forbids, are escaped.
        """
        if self.closed or start == len(text):
            return "", start
        out: list[str] = []
        begin, at = start, start + self._escaped
        self._escaped = False
        while not self.closed:
            at = _end(_IN_STRING if self._in_string else _OUTSIDE, text, at)
            if at == len(text):
                break
            if self._in_string and text[at] < " ":
                out += (text[begin:at], _SHORT.get(text[at]) or f"\\u{ord(text[at]):04x}")
                begin = at + 1
            else:
                self._take(text[at])
            at += 1
        last = text[begin:at]
        return "".join((*out, last)) if out else last, at

    def stays_open(self, text: str) -> bool:
        """Whether the object surely goes on behind this text: there is no brace in it that could be its last."""
        return not self.closed and self._depth > text.count("}") + text.count("]")

    def _take(self, mark: str) -> None:
        if mark == '"':
            self._in_string = not self._in_string
        elif mark == "\\":
            self._escaped = True
        elif mark in "{[":
            self._depth += 1
        else:
            self._depth -= 1
            self.closed = self._depth == 0


def objects(text: str) -> Iterator[str]:
    """A text that begins with an object, cut before each further object that begins right behind the one before it."""
    start = at = 0
    while at < len(text):
        scanner = ObjectScanner()
        _, at = scanner.feed(text, at)
        following = _end(_BLANK, text, at)
        if not text.startswith("{", following):
            break
        yield text[start:at]
        start = at = following
    yield text[start:]


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where the pattern, which matches anywhere, ends."""
    found = pattern.match(text, at)
    return found.end() if found else at
