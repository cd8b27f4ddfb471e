"""Chunks that differ from one before them in nothing but a piece of text, read without decoding them.

Nearly all chunks of a stream are such. What stands around the text is compared as bytes, which costs a tenth of
decoding the chunk; and the pieces of several in a row become one chunk, which costs their translation once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

_Path = tuple[str | int, ...]

_FIELDS: Final = ("content", "reasoning_content", "reasoning")
"""Fields of a delta that hold text, each as engines call it."""
_DELTA: Final[_Path] = ("choices", 0, "delta")
_ARGUMENTS: Final[_Path] = (*_DELTA, "tool_calls", 0, "function", "arguments")
_MARK: Final = "\x00text\x00"
_QUOTED: Final = orjson.dumps(_MARK)
_TRIES: Final = 16
"""Chunks of one stream that are learned before its engine is taken for one whose chunks are never alike."""


class Alike:
    """Knows one chunk, and the text of each that is like it."""

    def __init__(self) -> None:
        self._before = b""
        self._behind = b""
        self._chunk: Mapping[str, Any] = {}
        self._path: _Path = ()
        self._tries = 0

    def text(self, data: bytes) -> str | None:
        """The text of an event's data, if that is the known chunk with another text; else None."""
        before, behind = self._before, self._behind
        if not before or not data.startswith(before) or not data.endswith(behind):
            return None
        try:
            # With a quote too many or too few in between this is no string: then it was another chunk after all.
            text = orjson.loads(data[len(before) - 1 : len(data) - len(behind) + 1])
        except orjson.JSONDecodeError:
            return None
        return text if text.__class__ is str else None

    def alone(self, text: str) -> bool:
        """Whether a piece must stay a chunk of its own: the end of a call's arguments, which some engines repeat."""
        return "}" in text and self._path is _ARGUMENTS

    def chunk(self, text: str) -> dict[str, Any]:
        """The known chunk with this text."""
        return _with(self._chunk, self._path, text)  # type: ignore[no-any-return]

    def learn(self, data: bytes, chunk: Mapping[str, Any]) -> None:
        """Know this chunk, if it holds one text and that can be told from the rest by its place in the bytes.

        `data` is the JSON of `chunk`, which has one choice with a delta.
        """
        if self._tries >= _TRIES:
            return
        self._tries += 1
        self._before = b""
        path, text = _place(chunk["choices"][0]["delta"])
        try:
            quoted = orjson.dumps(text)
        except orjson.JSONEncodeError:  # half a character
            return
        before, found, behind = data.partition(quoted)
        if not text or not found or quoted in behind:
            return
        # The proof that it is this text and nothing else: with a mark in its place the chunk has the mark there.
        try:
            marked = orjson.loads(b"%b%b%b" % (before, _QUOTED, behind))
        except orjson.JSONDecodeError:
            return
        if marked == _with(chunk, path, _MARK):
            self._chunk, self._path = chunk, path
            self._before, self._behind = before + b'"', b'"' + behind


def _place(delta: Mapping[str, Any]) -> tuple[_Path, str]:
    """Where the one text of a delta is, and that text; "" when there is none, or more than one."""
    calls = delta.get("tool_calls")
    fields = [name for name in _FIELDS if delta.get(name)]
    if not calls and len(fields) == 1:
        text = delta[fields[0]]
        return (*_DELTA, fields[0]), text if isinstance(text, str) else ""
    if fields or not isinstance(calls, list) or len(calls) != 1 or not isinstance(calls[0], dict):
        return (), ""
    function = calls[0].get("function")
    # The beginning of a call, and what repeats it in each piece, is for the translator to see piece by piece.
    if calls[0].get("id") or not isinstance(function, dict) or function.get("name"):
        return (), ""
    arguments = function.get("arguments")
    return _ARGUMENTS, arguments if isinstance(arguments, str) else ""


def _with(value: Any, path: _Path, text: str) -> Any:
    """A copy of the value with the text at that place; what is not on the way there is shared."""
    if not path:
        return text
    key, *rest = path
    copied = value.copy()
    copied[key] = _with(value[key], tuple(rest), text)
    return copied
