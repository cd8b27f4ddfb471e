"""Characters that were cut in two: surrogate halves, which some servers escape one by one, put together again."""

from __future__ import annotations

import re
from typing import Final

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_HIGH_AT_END: Final = re.compile("[\ud800-\udbff]\\Z")


class Joiner:
    """Text piece by piece; a first half at the end of a piece waits for its second half."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """The piece, whole characters only."""
        if not self._held and (text.isascii() or not _SURROGATE.search(text)):
            return text
        text = self._held + text
        half = _HIGH_AT_END.search(text)
        self._held = half.group() if half else ""
        return _whole(text[: half.start()] if half else text)

    def flush(self) -> str:
        """A half that never got its other half, as U+FFFD."""
        held, self._held = self._held, ""
        return "\ufffd" if held else ""


def _whole(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
