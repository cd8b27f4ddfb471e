"""A thinking block that still grows: its text, and what the engine wants back with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from core import State, Thinking
from plugins.anthropic.seal import Seal


@attrs.define(eq=False)
class Thought:
    """Thinking and State in the order in which they came."""

    _texts: list[str] = attrs.field(init=False, factory=list)
    _states: list[State] = attrs.field(init=False, factory=list)

    @property
    def text(self) -> str:
        """All of the thinking."""
        return "".join(self._texts)

    def add(self, delta: Thinking | State) -> None:
        """One more piece."""
        if isinstance(delta, State):
            self._states.append(delta)
        else:
            self._texts.append(delta.text)

    def signature(self, seal: Seal, *, omitted: bool) -> str:
        """The block's signature; it keeps the text only where the client does not get it, or streams would double."""
        state = joined(self._states) if self._states else None
        return seal.close(self.text, state, keep_text=omitted)


def joined(states: Iterable[State]) -> State:
    """One State of several: lists are appended, other fields replaced, calls joined by their ids."""
    message: dict[str, Any] = {}
    calls: dict[str, Mapping[str, Any]] = {}
    for state in states:
        for field, value in state.message.items():
            before = message.get(field)
            both = isinstance(before, list) and isinstance(value, list)
            message[field] = [*before, *value] if both else value  # type: ignore[misc]
        for call_id, fields in state.calls.items():
            calls[call_id] = {**calls.get(call_id, {}), **fields}
    return State(message, calls)
