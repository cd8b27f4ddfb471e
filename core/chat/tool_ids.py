"""Ids of tool calls for engines that are strict about them; the same conversation has the same ids always."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import chain, product
from typing import Final

from core.errors import RequestError

_ALPHABETS: Final = (string.digits + string.ascii_lowercase, string.digits, string.ascii_uppercase)
_TABLES: Final = tuple(bytes(ord(alphabet[byte % len(alphabet)]) for byte in range(256)) for alphabet in _ALPHABETS)
_LONGEST: Final = 64  # the bytes of a digest
_LENGTHS: Final = (9, 24, 32, 40, *(length for length in range(_LONGEST, 0, -1) if length not in (9, 24, 32, 40)))
_PREFIXES: Final = ("", "call_", "toolu_", "chatcmpl-tool-")

_Shape = tuple[bytes, int, str]
"""What an id looks like: a table from bytes to characters, how many of them, what stands in front."""

_SHAPES: Final[tuple[_Shape, ...]] = tuple(product(_TABLES, _LENGTHS, _PREFIXES))
_TRIES: Final = 50
"""How often an id is made anew that does not fit or is taken."""


class ToolIds:
    """The ids of one conversation, asked for in its order: an id given once is never changed by what comes later.

    `pattern` is a regular expression that every id must match as a whole; "": every id is kept.
    """

    def __init__(self, pattern: str = "") -> None:
        self._pattern = re.compile(pattern) if pattern else None
        self._sent: dict[str, str] = {}
        self._taken: set[str] = set()
        self._last: tuple[_Shape, ...] = ()

    def sent(self, identity: str) -> str:
        """The id to send for the client's. Raises RequestError where the pattern leaves too few ids."""
        if self._pattern is None:
            return identity
        found = self._sent.get(identity)
        if found is None:
            found = self._sent[identity] = self._choose(identity, self._pattern)
            self._taken.add(found)
        return found

    def _choose(self, identity: str, pattern: re.Pattern[str]) -> str:
        if identity not in self._taken and pattern.fullmatch(identity):
            return identity
        # The shape that fitted last first: most patterns have just one.
        for candidate, shape in chain(_made_of(identity, self._last, 3), _made_of(identity, _SHAPES, _TRIES)):
            if candidate not in self._taken and pattern.fullmatch(candidate):
                self._last = (shape,)
                return candidate
        raise RequestError(f"messages: no id of a tool call can be made that this model's server takes: {identity!r}")


def check_pattern(pattern: str) -> None:
    """Raise ValueError for a pattern that is no regular expression, or one that no id made here matches."""
    try:
        ToolIds(pattern).sent("an id that is not one")
    except re.error as error:
        raise ValueError(f"tool_id_pattern is no regular expression: {error}") from error
    except RequestError as error:
        raise ValueError("tool_id_pattern matches no id that can be made: up to 64 letters and digits") from error


def _made_of(identity: str, shapes: Iterable[_Shape], tries: int) -> Iterator[tuple[str, _Shape]]:
    """Ids made of the one given, each with its shape."""
    for salt in range(tries):
        digest = blake2b(f"{salt} {identity}".encode("utf-8", "surrogatepass")).digest()
        for shape in shapes:
            table, length, prefix = shape
            yield prefix + digest[:length].translate(table).decode(), shape
