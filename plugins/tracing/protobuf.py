"""Protobuf as bytes, as far as spans need it: https://protobuf.dev/programming-guides/encoding."""

from __future__ import annotations

from functools import cache
from typing import Final

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5
"""Kinds of fields."""

_SHORT: Final = tuple(bytes((number,)) for number in range(128))


@cache
def tag(number: int, kind: int) -> bytes:
    """What stands before a field: its number and its kind."""
    return varint(number << 3 | kind)


def varint(number: int) -> bytes:
    """A number from 0 on, seven bits a byte, the lowest first."""
    if number < 128:
        return _SHORT[number]
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number: int, data: bytes) -> bytes:
    """A field that holds bytes: a message, mostly."""
    return tag(number, BYTES) + varint(len(data)) + data
