"""The arguments of one tool call: JSON text that comes in pieces and goes out as the text of one object."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import orjson

from core.chat.text import Joiner, loads, whole

_MARK: Final = re.compile(r'\\.?|["{}\[\]]', re.DOTALL)


class Arguments:
    """Takes the pieces and gives them on as soon as they begin as an object; anything else waits for `end`."""

    def __init__(self) -> None:
        self._joiner = Joiner()
        self._pieces: list[str] = []
        self._sent = 0
        self._begin = ""
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._closed = False
        self._spoilt = False

    @property
    def begun(self) -> bool:
        """Whether anything but blanks came."""
        return bool(self._begin)

    @property
    def complete(self) -> bool:
        """Whether the object's last brace has come, and nothing but blanks after it."""
        return self._closed and not self._spoilt

    def add(self, text: str) -> None:
        """The next piece."""
        text = self._joiner.feed(text)
        if not self._begin:
            text = text.lstrip()
            self._begin = text[:1]
        if text:
            self._pieces.append(text)
            if self._begin == "{":
                self._scan(text)

    def repeats(self, text: str) -> bool:
        """Whether the text is all of these arguments again, or their last piece: some engines send the end twice."""
        return self.complete and (text == self._pieces[-1] or text.strip() == "".join(self._pieces).strip())

    def pull(self) -> str:
        """What has come since the last time, "" while it is not known to be an object."""
        if self._begin != "{" or self._sent == len(self._pieces):
            return ""
        fresh = self._pieces[self._sent :]
        self._sent = len(self._pieces)
        return fresh[0] if len(fresh) == 1 else "".join(fresh)

    def end(self) -> str:
        """The rest; with what was pulled before it is the whole text."""
        if half := self._joiner.flush():
            self.add(half)
        return self.pull() if self._begin == "{" else as_object("".join(self._pieces))

    def _scan(self, text: str) -> None:
        """Count the braces outside strings: each character is looked at once, whatever the number of pieces."""
        if self._closed:
            self._spoilt = self._spoilt or not text.isspace()
            return
        at = 1 if self._escaped else 0
        self._escaped = False
        for match in _MARK.finditer(text, at):
            mark = match.group()
            if self._in_string:
                self._in_string = mark != '"'
                self._escaped = mark == "\\"
            elif mark == '"':
                self._in_string = True
            elif mark in "{[":
                self._depth += 1
            elif mark in "}]":
                self._depth -= 1
                if self._depth == 0:
                    self._closed = True
                    self._spoilt = bool(text[match.end() :].strip())
                    return


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
    if isinstance(value, str) and _is_object(value):
        return whole(value)
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
    try:
        return isinstance(loads(text), dict)
    except ValueError:
        return False
