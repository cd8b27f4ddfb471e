"""JSON and text as engines write them: characters cut in two, and what else a strict reader would refuse."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import orjson

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_HIGH_AT_END: Final = re.compile("[\ud800-\udbff]\\Z")


class Joiner:
    """Text piece by piece; a first half at the end of a piece waits for its second half.

    Servers that cut between UTF-16 units escape the two surrogate halves of a character one by one.
    """

    def __init__(self) -> None:
        self._held = ""

    @property
    def holds(self) -> bool:
        """Whether a half waits."""
        return bool(self._held)

    def feed(self, text: str) -> str:
        """The piece, whole characters only."""
        if not self._held and (text.isascii() or not _SURROGATE.search(text)):
            return text
        text = self._held + text
        half = _HIGH_AT_END.search(text)
        self._held = half.group() if half else ""
        return whole(text[: half.start()] if half else text)

    def flush(self) -> str:
        """A half that never got its other half, as U+FFFD."""
        held, self._held = self._held, ""
        return "\ufffd" if held else ""


def whole(text: str) -> str:
    """The text with surrogate halves put together; a half without its other half becomes U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def loads(data: bytes | str) -> Any:
    """JSON as engines write it. Raises ValueError.

    orjson refuses what servers written in Python send: surrogate halves, and NaN; and a byte that is no UTF-8 shall
    cost its own character, not the answer.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        text = data if isinstance(data, str) else data.decode("utf-8-sig", "replace")
        try:
            return json.loads(text)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


def dumps(value: Any) -> bytes:
    """JSON for an engine. Raises ValueError for what is nested too deeply.

    orjson writes no integer of more than 64 bits, no surrogate half and no more than 254 levels; schemas have them all.
    """
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        pass
    try:
        return json.dumps(value, separators=(",", ":")).encode()
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
