"""Faults in a tool call's arguments as a whole."""

from __future__ import annotations

import json
from collections.abc import Sequence

import attrs

from core import ContentTranslator, Delta, Request, ToolUse
from core.chat import Reasoning
from tests.mutants.reference import Correct, Steps


class _WholeArguments(Correct):
    """A backend that holds a call's arguments to the answer's end and tells them as `arguments` makes them."""

    def content(self, request: Request) -> ContentTranslator:
        return _AtEnd(self, self.reasoning())

    def arguments(self, pieces: Sequence[str]) -> str:
        return "".join(pieces)


class _AtEnd(Steps):
    def __init__(self, plugin: _WholeArguments, reasoning: Reasoning) -> None:
        super().__init__(reasoning)
        self.plugin = plugin
        self.calls: dict[int, tuple[ToolUse, list[str]]] = {}

    def given(self, deltas: Sequence[Delta]) -> Sequence[Delta]:
        for delta in deltas:
            if isinstance(delta, ToolUse):
                self.calls.setdefault(delta.index, (delta, []))[1].append(delta.arguments)
        return [delta for delta in deltas if not isinstance(delta, ToolUse)]

    def flush(self) -> Sequence[Delta]:
        rest = super().flush()
        whole = [attrs.evolve(call, arguments=self.plugin.arguments(pieces)) for call, pieces in self.calls.values()]
        return [*rest, *whole]


class ArgumentsHeld(_WholeArguments):
    """Calls are held to the answer's end: their arguments do not stream."""


class ArgumentsReordered(_WholeArguments):
    """The pieces of a call's arguments come in another order."""

    def arguments(self, pieces: Sequence[str]) -> str:
        return "".join(reversed(pieces))


class ArgumentsRedumped(_WholeArguments):
    """Arguments are parsed and written again, with whole numbers as floats: large ones are rounded."""

    def arguments(self, pieces: Sequence[str]) -> str:
        return json.dumps(json.loads("".join(pieces), parse_int=float))


class ArgumentsEncodedTwice(_WholeArguments):
    """Arguments are encoded as JSON a second time."""

    def arguments(self, pieces: Sequence[str]) -> str:
        return json.dumps("".join(pieces))
