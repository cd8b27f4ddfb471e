"""Tool calls as engines send them, put into order: one call after another, each piece once.

Seen in the field: fragments interleaved by `index`, no index, no id, id or name repeated on every fragment (TGI,
TensorRT-LLM), the same id for two calls, whole calls in one fragment (Ollama), arguments before the name, arguments as an
object, none at all, the closing chunk sent twice, a second call under the first one's index.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

import orjson

from core.chat.text import Joiner
from core.deltas import Delta, ToolUse

NO_NAME: Final = "unknown_tool"
"""The name of a call whose engine never gave one."""


class _Call:
    """One call as far as it is known. `sent` is what was given away of its arguments; None: not even its start."""

    def __init__(self, number: int, identity: str) -> None:
        self.number = number
        self.identity = identity
        self.name = ""
        self._pieces: list[str] = []
        self._fresh: list[str] = []
        self._joiner = Joiner()
        self._started = False
        self._streaming = False

    def add(self, arguments: str) -> None:
        if text := self._joiner.feed(arguments):
            self._pieces.append(text)
            self._fresh.append(text)

    def arguments(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def complete(self) -> bool:
        """Whether the arguments are a whole JSON object."""
        if not self._pieces or not self._pieces[-1].rstrip().endswith("}"):
            return False
        return _object(self.arguments()) is not None

    def pull(self, given_id: str) -> list[Delta]:
        """What can go out now: the start once the name is known, the arguments once they begin as an object."""
        if not self.name:
            return []
        out: list[Delta] = []
        if not self._started:
            self._started = True
            out.append(ToolUse(self.number, "", given_id, self.name))
        if not self._streaming and self._fresh:
            begin = self.arguments().lstrip()
            self._streaming = begin.startswith("{")
            self._fresh = [begin] if self._streaming else []
        if self._streaming and self._fresh:
            out.append(ToolUse(self.number, "".join(self._fresh)))
            self._fresh = []
        return out

    def end(self, given_id: str) -> list[Delta]:
        """Everything that is left. Arguments that are no object become one: {} for none, else the raw text, kept."""
        self.add(self._joiner.flush())
        self.name = self.name or NO_NAME
        out = self.pull(given_id)
        if not self._streaming:
            out.append(ToolUse(self.number, as_object(self.arguments())))
        return out


class ToolCalls:
    """The calls of one answer. The first unfinished one streams; whatever comes after it waits for its end."""

    def __init__(self) -> None:
        self._line: deque[_Call | Delta] = deque()
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}
        self._last: _Call | None = None
        self._count = 0
        self._ids: set[str] = set()

    def feed(self, fragment: Mapping[str, Any]) -> list[Delta]:
        """The deltas that one entry of a delta's `tool_calls` lets go."""
        function = fragment.get("function")
        function = function if isinstance(function, dict) else {}
        name, arguments = _text(function.get("name")), _arguments(function.get("arguments"))
        identity = _text(fragment.get("id"))
        call = self._find(fragment.get("index"), identity, name, arguments)
        if call is not None:
            call.name = call.name or name
            call.add(arguments)
        return self._advance()

    def between(self, delta: Delta) -> list[Delta]:
        """Text or reasoning that came after a call began: given at once when no call is unfinished."""
        self._line.append(delta)
        return self._advance()

    def flush(self) -> list[Delta]:
        """Everything that is left, each call ended."""
        out: list[Delta] = []
        for item in self._line:
            out += item.end(item.identity) if isinstance(item, _Call) else [item]
        self._line.clear()
        return out

    def _advance(self) -> list[Delta]:
        out: list[Delta] = []
        while self._line:
            head = self._line[0]
            if not isinstance(head, _Call):
                out.append(head)
            elif len(self._line) > 1 and head.name and head.complete():
                out += head.end(head.identity)
            else:
                out += head.pull(head.identity)
                break
            self._line.popleft()
        return out

    def _find(self, index: Any, identity: str, name: str, arguments: str) -> _Call | None:
        """The call that a fragment belongs to, a new one if need be; None for a repetition that says nothing."""
        numbered = isinstance(index, int) and not isinstance(index, bool)
        known = self._by_index.get(index) if numbered else self._by_id.get(identity) if identity else None
        if known is None and not numbered and not identity and not name:
            known = self._last
        if known is None:
            return self._new(index if numbered else None, identity)
        other_id = bool(identity) and self._by_id.get(identity) is not known
        if (other_id and known in self._by_id.values()) or (name and known.name and name != known.name):
            return self._new(index if numbered else None, identity)
        if arguments.strip() and known.complete():
            if arguments == known.arguments():
                return None
            if identity or name or known not in self._line:
                new = self._new(index if numbered else None, identity)
                new.name = known.name
                return new
        return None if known not in self._line else known

    def _new(self, index: int | None, identity: str) -> _Call:
        unique = identity if identity and identity not in self._ids else f"toolu_{secrets.token_hex(12)}"
        self._ids.add(unique)
        call = _Call(self._count, unique)
        self._count += 1
        if index is not None:
            self._by_index[index] = call
        if identity:
            self._by_id[identity] = call
        self._last = call
        self._line.append(call)
        return call


def as_object(text: str) -> str:
    """Arguments that do not begin as an object, as the JSON of one.

    "" and null are {}; an object that was encoded twice is taken out; anything else is kept as
    {"unparsed_arguments": text}, so that nothing is lost and nothing runs that the model did not ask for.
    """
    if not text.strip():
        return "{}"
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        value = text
    if value is None:
        return "{}"
    if isinstance(value, str) and _object(value) is not None:
        return value
    return orjson.dumps({"unparsed_arguments": text}).decode()


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _arguments(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS, default=str).decode()
