"""Messages and tools that were read before, by their JSON text.

An agent sends its whole history again with each request, byte for byte: to read only what is new takes a third of the
cost of such a request away. What is known is found by its text alone, so that nothing can differ from reading it anew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs
import msgspec
import orjson

from core import Message, Tool

FROM: Final = 16 * 1024
"""Bytes of a body from which on it is worth the looking."""
_ENTRY: Final = 1024
"""Bytes that an entry takes beside its text."""
_LARGEST: Final = 16
"""The part of the room that one entry may take, as 1 / this: an image is better read anew."""
_PARTS: Final[Mapping[str, type]] = {"messages": Message, "tools": Tool}


@attrs.frozen
class Split:
    """A body as a JSON object in which known messages and tools stand as they were read, and the texts of both."""

    value: dict[str, Any]
    texts: Mapping[str, Sequence[bytes]]


class Known:
    """Up to `room` bytes of messages and tools; the least lately used go first.

    `fields` are the fields of a body that anyone looks at; others are left out.
    """

    def __init__(self, room: int, fields: Iterable[str]) -> None:
        self.used = 0
        self._room = room
        kinds = [(name, list[msgspec.Raw] if name in _PARTS else msgspec.Raw, msgspec.UNSET) for name in fields]
        self._decoder = msgspec.json.Decoder(msgspec.defstruct("Body", kinds))
        self._entries: OrderedDict[bytes, Message | Tool] = OrderedDict()

    def split(self, data: bytes) -> Split | None:
        """A body; None for one that is small or not as it should be, which is left to a reader that explains."""
        if len(data) < FROM or not self._room:
            return None
        texts: dict[str, list[bytes]] = {}
        value: dict[str, Any] = {}
        try:
            for name, found in msgspec.structs.asdict(self._decoder.decode(data)).items():
                if found is msgspec.UNSET:
                    continue
                if name in _PARTS:
                    texts[name] = [bytes(raw) for raw in found]
                    value[name] = [self._read(text, _PARTS[name]) for text in texts[name]]
                else:
                    value[name] = orjson.loads(bytes(found))
        except (msgspec.MsgspecError, orjson.JSONDecodeError, RecursionError):
            return None
        return Split(value, texts)

    def keep(self, split: Split, **read: Sequence[Any]) -> None:
        """Remember what was read of a split body, by the name of the part."""
        for name, made in read.items():
            for text, value, item in zip(split.texts.get(name, ()), split.value.get(name, ()), made, strict=False):
                if item is not value and item.__class__ is _PARTS[name]:
                    self._add(text, item)

    def _read(self, text: bytes, kind: type) -> Any:
        found = self._entries.get(text)
        if found.__class__ is not kind:
            return orjson.loads(text)
        self._entries.move_to_end(text)
        return found

    def _add(self, text: bytes, item: Any) -> None:
        size = len(text) + _ENTRY
        if size > self._room // _LARGEST or text in self._entries:
            return
        self._entries[text] = item
        self.used += size
        while self.used > self._room:
            gone, _ = self._entries.popitem(last=False)
            self.used -= len(gone) + _ENTRY
