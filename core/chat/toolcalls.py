"""Tool calls as engines send them, put into order: one call after another, each piece once.

Seen in the field: fragments interleaved by `index`, no index, no id, id or name repeated on every fragment (TGI,
TensorRT-LLM), a new id on every fragment, the same id for two calls, whole calls in one fragment (Ollama), arguments
before the name, arguments as an object, none at all, the closing chunk sent twice, a second call under the first one's
index, several objects in one call's arguments, fragments with nothing in them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

from core.chat.arguments import Arguments, as_text
from core.chat.text import whole
from core.deltas import Delta, State, Text, ToolUse
from core.identity import fresh_id

NO_NAME: Final = "unknown_tool"
"""The name of a call whose engine never gave one."""


class _Call:
    """One call as far as it is known: `given` is the engine's id, `identity` ours; `number` is set when it goes out."""

    def __init__(self, given: str, identity: str) -> None:
        self.given = given
        self.identity = identity
        self.name = ""
        self.number: int | None = None
        self.ended = False
        self.arguments = Arguments()
        self.kept: dict[str, Any] = {}


class ToolCalls:
    """The calls of one answer. The first unfinished one streams; whatever comes after it waits for its end.

    `keep` names the fields of a call that the engine wants back: they go out in a `State` before the call's start, or
    at `flush` when they come later.
    """

    def __init__(self, keep: Sequence[str] = ()) -> None:
        self._keep = keep
        self._late: dict[str, dict[str, Any]] = {}
        self._line: deque[_Call | Delta] = deque()
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}
        self._last: _Call | None = None
        self._count = 0
        self._ids: set[str] = set()

    def feed(self, fragment: Mapping[str, Any]) -> list[Delta]:
        """The deltas that one entry of a delta's `tool_calls` lets go."""
        more = self._more(fragment)
        return self._any(fragment) if more is None else more

    def _more(self, fragment: Mapping[str, Any]) -> list[Delta] | None:
        """The deltas of a fragment that can be nothing but more arguments of the call that streams: most are such."""
        function = fragment.get("function")
        call, index = self._last, fragment.get("index")
        if (
            call is None
            or call.number is None
            or index.__class__ is not int
            or function.__class__ is not dict
            or fragment.get("id")
            or function.get("name")
            or len(self._line) != 1
            or self._keep
            or self._by_index.get(index) is not call
        ):
            return None
        piece = call.arguments.more(function.get("arguments"))
        return None if piece is None else [ToolUse(call.number, piece)]

    def _any(self, fragment: Mapping[str, Any]) -> list[Delta]:
        function = fragment.get("function")
        function = function if isinstance(function, dict) else {}
        name, arguments = _word(function.get("name")), as_text(function.get("arguments"))
        given = _word(fragment.get("id"))
        index = _number(fragment.get("index"))
        call, repeated = self._find(index, given, name, arguments)
        if call is not None:
            self._adopt(call, given)
            self._keep_fields(call, fragment)
            if not repeated:
                call.name = call.name or name
                self._add(call, index, arguments)
        return self._advance()

    def between(self, delta: Delta) -> list[Delta]:
        """Text or reasoning that came after a call began: given at once when no call is unfinished."""
        self._line.append(delta)
        return self._advance()

    def flush(self) -> list[Delta]:
        """Everything that is left, each call ended."""
        out: list[Delta] = []
        for item in self._line:
            out += self._end(item) if isinstance(item, _Call) else [item]
        self._line.clear()
        if self._late:
            out.append(State(calls=self._late))
            self._late = {}
        return out

    def _keep_fields(self, call: _Call, fragment: Mapping[str, Any]) -> None:
        for name in self._keep:
            value = fragment.get(name)
            if value and value != call.kept.get(name):
                call.kept[name] = value
                if call.number is not None:
                    self._late.setdefault(call.identity, {})[name] = value

    def _add(self, call: _Call, index: int | None, arguments: str) -> None:
        """The next arguments of a call; further objects behind its own are further calls of the same tool."""
        for text in call.arguments.add(arguments):
            if not call.arguments.repeats(text):
                name = call.name
                call = self._new(index, call.given)
                call.name = name
                call.arguments.add(text)

    def _advance(self) -> list[Delta]:
        out: list[Delta] = []
        while self._line:
            head = self._line[0]
            if not isinstance(head, _Call):
                out.append(head)
            elif len(self._line) > 1 and head.name and head.arguments.complete:
                out += self._end(head)
            else:
                out += self._pull(head)
                break
            self._line.popleft()
        return out

    def _pull(self, call: _Call) -> list[Delta]:
        """What can go out now: the start once the name is known, the arguments once they begin as an object."""
        if not call.name:
            return []
        out: list[Delta] = []
        if call.number is None:
            call.number = self._count
            self._count += 1
            if call.kept:
                out.append(State(calls={call.identity: dict(call.kept)}))
            out.append(ToolUse(call.number, "", call.identity, call.name))
        if text := call.arguments.pull():
            out.append(ToolUse(call.number, text))
        return out

    def _end(self, call: _Call) -> list[Delta]:
        call.ended = True
        if not (call.name or call.arguments.begun):
            return []
        call.name = call.name or NO_NAME
        out = self._pull(call)
        if (text := call.arguments.end()) and call.number is not None:
            out.append(ToolUse(call.number, text))
        if text := call.arguments.behind:
            out.append(Text(text))
        return out

    def _find(self, index: int | None, given: str, name: str, arguments: str) -> tuple[_Call | None, bool]:
        """The call that a fragment belongs to, a new one if need be, and whether it says nothing new of it."""
        known = (
            self._by_index.get(index) if index is not None else self._by_id.get(given) if given else self._current(name)
        )
        says = bool(arguments.strip())
        if known is None:
            return (self._new(index, given), False) if given or name or says else (None, True)
        if known.arguments.repeats(arguments) and name in ("", known.name) and given in ("", known.given):
            return known, True
        if _another(known, given, name, arguments if says else ""):
            call = self._new(index, given)
            call.name = name or known.name
            return call, False
        return known, known.ended

    def _current(self, name: str) -> _Call | None:
        """The call of a fragment without index and id: the last one, unless a name begins another."""
        last = self._last
        if name and last is not None and (name != last.name or not last.arguments.begun or last.arguments.complete):
            return None
        return last

    def _adopt(self, call: _Call, given: str) -> None:
        """Take the id that came after the call's first fragment, while the client has seen no other."""
        if given and not call.given and call.number is None:
            call.given = given
            self._by_id.setdefault(given, call)
            if given not in self._ids:
                self._ids.add(given)
                call.identity = given

    def _new(self, index: int | None, given: str) -> _Call:
        unique = given if given and given not in self._ids else fresh_id("toolu_")
        self._ids.add(unique)
        call = _Call(given, unique)
        if index is not None:
            self._by_index[index] = call
        if given:
            self._by_id[given] = call
        self._last = call
        self._line.append(call)
        return call


def _another(known: _Call, given: str, name: str, arguments: str) -> bool:
    """Whether a fragment under a known call's index or id begins another call."""
    complete = known.arguments.complete
    if name and known.name and name != known.name:
        return True
    if given and known.given and given != known.given and (name or complete):
        # A new id without a name, in the midst of the arguments, is an engine that makes one up for every chunk.
        return True
    return bool(arguments) and complete and (bool(given or name) or known.ended or arguments.lstrip().startswith("{"))


def _number(value: Any) -> int | None:
    """An index; None for anything that is no integer."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _word(value: Any) -> str:
    """An id or a name; a number is taken as one, anything else is none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return whole(value.strip()) if isinstance(value, str) else ""
