"""What an engine wants back with a turn: fields of its message, put together from the pieces they came in.

A stream gives OpenRouter's `reasoning_details` in pieces: items with an `index` and a `type` (reasoning.text, .summary,
.encrypted), whose `text`, `summary` or `data` grows from chunk to chunk and whose signature comes last. A whole message
gives the same items whole; both come out as equal lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from core.chat.text import whole
from core.deltas import State

_GROWING: Final = ("text", "summary", "data")
"""The fields of an item that come in pieces."""


class Kept:
    """Collects the named fields of an answer's deltas. Lists are put together, strings joined, the rest replaced."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._lists: dict[str, _Items] = {}
        self._strings: dict[str, list[str]] = {}
        self._fresh: dict[str, Any] = {}

    def add(self, delta: Mapping[str, Any]) -> None:
        """One delta's fields; absent, null and empty ones are none."""
        for name in self._names:
            value = delta.get(name)
            if not value:
                continue
            if isinstance(value, list):
                self._lists.setdefault(name, _Items()).add(value)
                self._fresh[name] = None
            elif isinstance(value, str):
                self._strings.setdefault(name, []).append(value)
                self._fresh[name] = None
            else:
                self._fresh[name] = value

    def pull(self) -> State | None:
        """What has come since the last time, or None. A list holds its new items, a string is always whole."""
        if not self._fresh:
            return None
        message = {name: self._value(name, value) for name, value in self._fresh.items()}
        self._fresh = {}
        return State(message)

    def _value(self, name: str, value: Any) -> Any:
        if value is not None:
            return value
        items = self._lists.pop(name, None)
        return whole("".join(self._strings[name])) if items is None else items.values()


class _Items:
    """A list that comes in pieces."""

    def __init__(self) -> None:
        self._items: list[_Item | Any] = []
        self._numbered: dict[tuple[int, str], _Item] = {}

    def add(self, pieces: Sequence[Any]) -> None:
        last = self._items[-1] if self._items else None
        for piece in pieces:
            if not isinstance(piece, dict):
                self._items.append(piece)
            elif (item := self._continued(piece, last)) is not None:
                item.add(piece)
            else:
                self._begin(piece)

    def values(self) -> list[Any]:
        return [item.value() if isinstance(item, _Item) else item for item in self._items]

    def _continued(self, piece: Mapping[str, Any], last: Any) -> _Item | None:
        """The item that the piece is a part of: of the same index and type, or, without an index, the one before."""
        key = _key(piece)
        if key is not None:
            known = self._numbered.get(key)
            return known if known is not None and known.may_be(piece) else None
        # An encrypted item without an index comes whole: two of them joined would be nobody's.
        follows = isinstance(last, _Item) and _key(last.fields) is None and "data" not in piece
        return last if follows and last.fields.get("type") == piece.get("type") and last.may_be(piece) else None

    def _begin(self, piece: Mapping[str, Any]) -> None:
        item = _Item(piece)
        self._items.append(item)
        if (key := _key(piece)) is not None:
            self._numbered[key] = item


class _Item:
    """One item, growing."""

    def __init__(self, piece: Mapping[str, Any]) -> None:
        self.fields: dict[str, Any] = {}
        self._pieces: dict[str, list[str]] = {}
        self.add(piece)

    def add(self, piece: Mapping[str, Any]) -> None:
        for name, value in piece.items():
            if name in _GROWING and isinstance(value, str):
                self.fields.setdefault(name, "")
                self._pieces.setdefault(name, []).append(value)
            elif value is not None or name not in self.fields:
                self.fields[name] = value

    def may_be(self, piece: Mapping[str, Any]) -> bool:
        """Whether a piece's id, if it has one, is this item's."""
        given, known = piece.get("id"), self.fields.get("id")
        return given is None or known is None or given == known

    def value(self) -> dict[str, Any]:
        return self.fields | {name: whole("".join(pieces)) for name, pieces in self._pieces.items()}


def _key(fields: Mapping[str, Any]) -> tuple[int, str] | None:
    index, kind = fields.get("index"), fields.get("type")
    numbered = isinstance(index, int) and not isinstance(index, bool) and isinstance(kind, str)
    return (index, kind) if numbered else None  # type: ignore[return-value]
