"""The arguments of one tool call: JSON text that comes in pieces and goes out as the text of one object.

What a stream has sent cannot be taken back. So text that is no object from its beginning on waits for the end, text
behind the object waits too, and faults in between go out as they came: they must not become a call that can be run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import orjson

from core.chat.objects import BLANKS, ObjectScanner, objects
from core.chat.text import Joiner, loads, whole

_BEGINNINGS: Final = ('{"', "{}")


class Arguments:
    """Takes the pieces and gives them on once they begin as an object does: `{`, then `"` or `}`."""

    def __init__(self) -> None:
        self._joiner = Joiner()
        self._scanner = ObjectScanner()
        self._begin = ""  # the first two characters, but for blanks
        self._came: list[str] = []
        self._out: list[str] = []
        self._sent = 0
        self._last = ""  # the piece that closed the object
        self._whole = ""  # the object as it came, once it is closed
        self._behind: list[str] = []
        self._spoilt = False

    @property
    def begun(self) -> bool:
        """Whether anything but blanks came."""
        return bool(self._begin)

    @property
    def complete(self) -> bool:
        """Whether the object's last brace has come, and nothing but blanks after it."""
        return self._scanner.closed and not self._spoilt

    @property
    def behind(self) -> str:
        """What stands behind the object and is no part of the arguments, without blanks around it."""
        return "" if self._broken else "".join(self._behind).strip()

    def add(self, text: str) -> Sequence[str]:
        """The next piece. Gives the texts of further objects right behind this one, which are no part of it."""
        text = self._joiner.feed(text)
        if not self._begin:
            text = text.lstrip()
        if not text:
            return ()
        if len(self._begin) < 2:
            beginning = self._begin + text
            self._begin = beginning[0] + beginning[1:].lstrip(BLANKS)[:1]
        if self._begin[0] == "{":
            return self._scan(text)
        self._came.append(text)
        return ()

    def more(self, text: Any) -> str | None:
        """What `add` and `pull` would make of a piece within an object that has begun; None where that is not all."""
        if (
            text.__class__ is not str
            or not text
            or not text.isascii()
            or self._begin not in _BEGINNINGS
            or self._sent != len(self._out)
            or self._joiner.holds
        ):
            return None
        return self._scan_more(text)

    def _scan_more(self, text: str) -> str | None:
        if not self._scanner.stays_open(text):
            return None
        piece, _ = self._scanner.feed(text)
        self._out.append(piece)
        self._came.append(text)
        self._sent += 1
        return piece

    def repeats(self, text: str) -> bool:
        """Whether the text is all of these arguments again, or their last piece: some engines send the end twice."""
        return self.complete and text.strip() in (self._last, self._whole)

    def pull(self) -> str:
        """What has come since the last time, "" while it is not known to be an object."""
        return self._fresh() if self._begin in _BEGINNINGS else ""

    def end(self) -> str:
        """The rest; with what was pulled before it is the whole text."""
        if half := self._joiner.flush():
            self.add(half)
        if self._begin not in ("{", *_BEGINNINGS):
            return as_object("".join((*self._came, *self._behind)))
        return self._fresh() + ("".join(self._behind) if self._broken else "")

    def _fresh(self) -> str:
        fresh = self._out[self._sent :]
        self._sent = len(self._out)
        return fresh[0] if len(fresh) == 1 else "".join(fresh)

    def _scan(self, text: str) -> Sequence[str]:
        piece, end = self._scanner.feed(text)
        if end:
            came = text[:end]
            self._out.append(piece)
            self._came.append(came)
            if self._scanner.closed:
                self._last, self._whole = came.strip(), "".join(self._came)
        if not (behind := text[end:]):
            return ()
        if not self._spoilt and (further := behind.lstrip()).startswith("{"):
            return tuple(objects(further))
        self._behind.append(behind)
        self._spoilt = self._spoilt or not behind.isspace()
        return ()

    @property
    def _broken(self) -> bool:
        """Whether what stands behind the object belongs to the arguments, and shows them to be no JSON.

        A quote behind it says that the object ended within a string whose own quotes were not escaped: the call with
        half of that string is not the one that the model made.
        """
        if not self._spoilt:
            return False
        started = self._begin in _BEGINNINGS
        return not started or any('"' in text for text in self._behind) or not _is_object("".join(self._out))


def as_object(text: str) -> str:
    """Arguments that do not begin as an object, as the JSON of one.

    "" and null are {}; an object that was encoded twice is taken out; anything else is kept as
    {"unparsed_arguments": text}, so that nothing is lost and nothing runs that the model did not ask for.
    """
    if not text.strip():
        return "{}"
    try:
        value = loads(text)
    except ValueError:
        value = text
    if value is None:
        return "{}"
    if isinstance(value, str):
        inner, end = ObjectScanner().feed(value := whole(value))
        if _is_object(inner := inner + value[end:]):
            return inner
    return orjson.dumps({"unparsed_arguments": text}).decode()


def as_text(value: Any) -> str:
    """Arguments as engines give them: JSON text, or (some) the value itself; "" for none."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        pass
    try:
        # Surrogate halves stay characters: they are put together, or replaced, where the text is joined.
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return ""


def _is_object(text: str) -> bool:
    """Whether it is JSON, to the letter, of an object."""
    try:
        return isinstance(orjson.loads(text), dict)
    except orjson.JSONDecodeError:
        return False
