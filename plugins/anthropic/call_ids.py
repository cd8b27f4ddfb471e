"""Ids of tool calls that are unique in their conversation, as clients need them.

Engines may number their calls anew in each answer (Kimi on vLLM, Text Generation Inference): clients then take a new
call for the old one, and its result is lost.
"""

from __future__ import annotations

import re
from typing import Final

import attrs

from core import Request, State, ToolResultBlock, ToolUse, ToolUseBlock

_NUMBER: Final = re.compile(r"[0-9]{1,9}\Z")


def ids_of(request: Request) -> set[str]:
    """The ids of all calls that stand in the request's turns."""
    found: set[str] = set()
    for turn in request.messages:
        for block in turn.content:
            if isinstance(block, ToolUseBlock):
                found.add(block.id)
            elif isinstance(block, ToolResultBlock):
                found.add(block.tool_use_id)
    return found


@attrs.define(eq=False)
class CallIds:
    """The ids of one answer's calls. The same answer to the same request has the same ids, on any worker.

    An id that is `taken` is counted up until it is free: by the number at its end, so that it keeps its engine's form,
    or by one that is put there.
    """

    _taken: set[str]
    _given: dict[str, str] = attrs.field(init=False, factory=dict)

    def call(self, piece: ToolUse) -> ToolUse:
        """The piece with its call's id for the client."""
        unique = self._unique(piece.id) if piece.id else ""
        return piece if unique == piece.id else attrs.evolve(piece, id=unique)

    def state(self, state: State) -> State:
        """The state, its calls by their ids for the client."""
        if not state.calls:
            return state
        return attrs.evolve(state, calls={self._unique(key): fields for key, fields in state.calls.items()})

    def _unique(self, identity: str) -> str:
        found = self._given.get(identity)
        if found is None:
            found = self._given[identity] = self._free(identity)
            self._taken.add(found)
        return found

    def _free(self, identity: str) -> str:
        if identity not in self._taken:
            return identity
        number = _NUMBER.search(identity)
        stem, digits = (identity[: number.start()], number.group()) if number else (f"{identity}_", "2")
        count = int(digits)
        while (candidate := f"{stem}{count:0{len(digits)}}") in self._taken:
            count += 1
        return candidate
