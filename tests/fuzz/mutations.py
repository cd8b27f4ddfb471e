"""Mutations: of bytes, and of JSON values."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from hypothesis import strategies as st

TOKENS: Final = (
    b"\0",
    b"\n\n",
    b"\r\n\r\n",
    b"\r",
    b": \n\n",
    b"data: ",
    b"data: [DONE]\n\n",
    b"event: error\n",
    b'{"error": {"message": "x"}}',
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\xbd",
    b"\\ud83d",
    b"{",
    b"]",
    b'"',
    b"\\",
    b"null",
    b"-1",
    b"1e999",
    b"NaN",
    b"9" * 400,
    b"[" * 3000,
    b"<think>",
)
ODD: Final[tuple[Any, ...]] = (
    None,
    True,
    False,
    0,
    -1,
    1.5,
    10**30,
    -(10**400),
    float("inf"),
    float("nan"),
    "",
    " ",
    "x",
    "\ud800",
    "\x00",
    "x" * 5000,
    [],
    [None],
    [[]],
    {},
    {"": None},
    {"type": "text"},
    {"type": "text", "text": None},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "!"}},
    {"type": "tool_use", "id": "", "name": "", "input": []},
    {"type": "tool_result", "tool_use_id": "nobody", "content": [{}]},
    {"type": "thinking", "thinking": 5, "signature": []},
    {"error": "x"},
    {"index": -1},
    {"index": 10**20, "function": {"arguments": None}},
    {"message": {"content": 5}},
)
"""Values that are seldom expected where they are."""

_PLACES: Final = st.floats(0, 1)
_EDITS: Final = st.lists(
    st.tuples(
        st.sampled_from(("flip", "delete", "double", "insert", "cut", "move")),
        _PLACES,
        st.integers(0, 300),
        st.sampled_from(TOKENS),
    ),
    min_size=1,
    max_size=3,
)


def bytes_of(data: bytes) -> st.SearchStrategy[bytes]:
    """The bytes with a few faults: bits that flip, parts that are missing, doubled, moved, cut off, or not theirs."""
    return _EDITS.map(lambda edits: _edited(data, edits))


def _edited(data: bytes, edits: Sequence[tuple[str, float, int, bytes]]) -> bytes:
    for kind, place, size, token in edits:
        at = int(place * len(data))
        before, part, after = data[:at], data[at : at + size], data[at + size :]
        if kind == "flip":
            data = before + bytes(byte ^ (1 << (size % 8)) for byte in part[:1]) + data[at + 1 :]
        else:
            data = {
                "delete": before + after,
                "double": before + part + part + after,
                "insert": before + token + part + after,
                "cut": before,
                "move": before + after[:size] + part + after[size:],
            }[kind]
    return data


_CHANGES: Final = st.lists(
    st.tuples(st.sampled_from(("set", "set", "delete", "double", "wrap", "swap")), _PLACES, st.sampled_from(ODD)),
    min_size=1,
    max_size=2,
)


def values_of(value: Any) -> st.SearchStrategy[Any]:
    """The JSON value with a few places changed: another value, none, twice, wrapped, another place's."""
    return _CHANGES.map(lambda changes: _changed(value, changes))


def _changed(value: Any, changes: Sequence[tuple[str, float, Any]]) -> Any:
    root = [copy.deepcopy(value)]
    for kind, where, odd in changes:
        places = list(_places(root))
        holder, key = places[min(len(places) - 1, int(where * len(places)))]
        if kind == "set":
            holder[key] = copy.deepcopy(odd)
        elif kind == "delete" and holder is not root:
            del holder[key]
        elif kind == "double" and isinstance(holder, list) and holder is not root:
            holder.insert(key, copy.deepcopy(holder[key]))
        elif kind == "wrap":
            holder[key] = [holder[key]]
        elif kind == "swap":
            other, there = places[int(where * 7919) % len(places)]
            holder[key] = copy.deepcopy(other[there])
    return root[0]


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(pairs):
        yield value, key
        if isinstance(inner, dict | list):
            yield from _places(inner)


def written(value: Any) -> bytes:
    """The value as JSON, with all that Python's writer allows: NaN, lone surrogates, numbers of any length."""
    return json.dumps(value).encode()
