"""Chunks that differ from one before them in nothing but a piece of text, read without decoding them.

Nearly all chunks of a stream are such. What stands around the text is compared as bytes, which costs a tenth of
decoding the chunk; and the pieces of several in a row become one chunk, which costs their translation once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

_FIELDS: Final = ("content", "reasoning_content", "reasoning")
"""Fields of a delta that hold text, each as engines call it."""
_MARK: Final = "\x00text\x00"
_QUOTED: Final = orjson.dumps(_MARK)
_TRIES: Final = 8
"""Chunks of one stream that are looked at in vain before its engine is taken for one whose chunks are never alike."""


class Alike:
    """Knows one chunk, and the text of each that is like it."""

    def __init__(self) -> None:
        self._before = b""
        self._behind = b""
        self._chunk: Mapping[str, Any] = {}
        self._field = ""
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

    def chunk(self, text: str) -> dict[str, Any]:
        """The known chunk with this text."""
        (choice,) = self._chunk["choices"]
        return {**self._chunk, "choices": [{**choice, "delta": {**choice["delta"], self._field: text}}]}

    def learn(self, data: bytes, chunk: Mapping[str, Any]) -> None:
        """Know this chunk, if it holds one text and that can be told from the rest by its place in the bytes.

        `data` is the JSON of `chunk`, which has one choice with a delta.
        """
        if self._tries >= _TRIES:
            return
        self._tries += 1
        self._before = b""
        delta = chunk["choices"][0]["delta"]
        fields = [name for name in _FIELDS if delta.get(name)]
        if len(fields) != 1 or delta[fields[0]].__class__ is not str or delta.get("tool_calls"):
            return
        self._field, self._chunk = fields[0], chunk
        try:
            quoted = orjson.dumps(delta[self._field])
        except orjson.JSONEncodeError:  # half a character
            return
        before, found, behind = data.partition(quoted)
        if not found or quoted in behind:
            return
        # The proof that it is this text and nothing else: with a mark in its place the chunk has the mark there.
        try:
            marked = orjson.loads(b"%b%b%b" % (before, _QUOTED, behind))
        except orjson.JSONDecodeError:
            return
        if marked == self.chunk(_MARK):
            self._before, self._behind = before + b'"', b'"' + behind
