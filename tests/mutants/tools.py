"""Faults in tool calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from core import Chunk, ContentTranslator, Delta, Request, Route, ToolUse, UpstreamCall
from core.chat import Reasoning, UpstreamClient, the_choice, the_delta
from tests.mutants.reference import DIALECT, Correct, ReadingCall, Steps, edited

Fragment = dict[str, Any]


class _Fragments(Correct):
    """A backend that reads each fragment of a call as `fragment` makes it; None: not at all."""

    def content(self, request: Request) -> ContentTranslator:
        translator = _Read(self.reasoning())
        translator.change = self.changer()
        return translator

    def changer(self) -> Callable[[Fragment], Fragment | None]:
        return lambda fragment: fragment


class _Read(Steps):
    change: Callable[[Fragment], Fragment | None]

    def taken(self, chunk: Chunk) -> Chunk:
        def changed(delta: dict[str, Any]) -> dict[str, Any]:
            calls = [self.change(dict(call)) for call in delta.get("tool_calls") or ()]
            return {**delta, "tool_calls": [call for call in calls if call is not None]}

        return edited(chunk, changed)


class ArgumentsLostAtCut(_Fragments):
    """Fragments without an id, which are all but a call's first, are lost."""

    def changer(self) -> Callable[[Fragment], Fragment | None]:
        return lambda fragment: fragment if fragment.get("id") else None


class ArgumentsStripped(_Fragments):
    """Blanks around each piece of arguments are lost."""

    def changer(self) -> Callable[[Fragment], Fragment | None]:
        return lambda fragment: _with_arguments(fragment, lambda text: text.strip())


class ArgumentsObjectCrashes(_Fragments):
    """Arguments that are an object already raise an AttributeError."""

    def changer(self) -> Callable[[Fragment], Fragment | None]:
        return lambda fragment: _with_arguments(fragment, lambda text: text.replace("\0", ""))


class CallsMixed(_Fragments):
    """A fragment's index is not read: interleaved calls are mixed."""

    def changer(self) -> Callable[[Fragment], Fragment | None]:
        return lambda fragment: {key: value for key, value in fragment.items() if key != "index"}


class CallsAllInOne(_Fragments):
    """All calls are taken for one, and only the first keeps its name."""

    def changer(self) -> Callable[[Fragment], Fragment | None]:
        return lambda fragment: fragment if fragment.get("index") in (0, None) else None


class UnnumberedCallsLost(_Fragments):
    """Fragments without an index are lost."""

    def changer(self) -> Callable[[Fragment], Fragment | None]:
        return lambda fragment: fragment if "index" in fragment else None


class CallsWithoutIdLost(_Fragments):
    """A call that the engine gave no id is lost."""

    def changer(self) -> Callable[[Fragment], Fragment | None]:
        named: set[Any] = set()

        def known(fragment: Fragment) -> Fragment | None:
            if fragment.get("id"):
                named.add(fragment.get("index"))
            return fragment if fragment.get("index") in named else None

        return known


def _with_arguments(fragment: Fragment, change: Callable[[str], str]) -> Fragment:
    function = fragment.get("function") or {}
    return {**fragment, "function": {**function, "arguments": change(function.get("arguments") or "")}}


class _Pieces(Correct):
    """A backend that gives each piece of a call as `piece` makes it; None: not at all."""

    def content(self, request: Request) -> ContentTranslator:
        return _Given(self, self.reasoning())

    def piece(self, delta: ToolUse) -> ToolUse | None:
        return delta


class _Given(Steps):
    def __init__(self, plugin: _Pieces, reasoning: Reasoning) -> None:
        super().__init__(reasoning)
        self.plugin = plugin

    def given(self, deltas: Sequence[Delta]) -> Sequence[Delta]:
        told = [self.plugin.piece(delta) if isinstance(delta, ToolUse) else delta for delta in deltas]
        return [delta for delta in told if delta is not None]


class CallIdsChanged(_Pieces):
    """The ids that the engine gave are replaced."""

    def piece(self, delta: ToolUse) -> ToolUse | None:
        return attrs.evolve(delta, id=f"toolu_{delta.id}") if delta.id else delta


class CallIdsRepeated(_Pieces):
    """All calls of an answer have one id."""

    def piece(self, delta: ToolUse) -> ToolUse | None:
        return attrs.evolve(delta, id="toolu_1") if delta.id else delta


class CallNameLost(_Pieces):
    """The name of a call is lost."""

    def piece(self, delta: ToolUse) -> ToolUse | None:
        return attrs.evolve(delta, name="tool") if delta.name else delta


class CallsNumberedFromOne(_Pieces):
    """The calls of an answer are numbered from 1."""

    def piece(self, delta: ToolUse) -> ToolUse | None:
        return attrs.evolve(delta, index=delta.index + 1)


class SecondCallLost(_Pieces):
    """Of several calls only the first is given."""

    def piece(self, delta: ToolUse) -> ToolUse | None:
        return delta if delta.index == 0 else None


class CallsLost(_Pieces):
    """Calls are lost."""

    def piece(self, delta: ToolUse) -> ToolUse | None:
        return None


class CallWithoutStart(_Pieces):
    """A call begins with its arguments: the piece with id and name is missing."""

    def piece(self, delta: ToolUse) -> ToolUse | None:
        return attrs.evolve(delta, id="", name="")


class UnfinishedCallLost(Correct):
    """What is held of a call when the answer ends is lost."""

    def content(self, request: Request) -> ContentTranslator:
        return _NoFlush(self.reasoning())


class _NoFlush(Steps):
    def flush(self) -> Sequence[Delta]:
        return []


class CallsLostInJSON(Correct):
    """The calls of a whole completion are lost."""

    def content(self, request: Request) -> ContentTranslator:
        return _StreamsOnly(self.reasoning())


class _StreamsOnly(Steps):
    def taken(self, chunk: Chunk) -> Chunk:
        if chunk.get("object") != "chat.completion":
            return chunk
        return edited(chunk, lambda delta: {**delta, "tool_calls": None})


class CallsUnordered(Correct):
    """The fragments of interleaved calls are given as they come, and not one call after another."""

    def content(self, request: Request) -> ContentTranslator:
        return _AsTheyCome(self.reasoning())


class _AsTheyCome(Steps):
    def feed(self, chunk: Chunk) -> Sequence[Delta]:
        calls = the_delta(the_choice(chunk)).get("tool_calls") or ()
        rest = super().feed(edited(chunk, lambda delta: {**delta, "tool_calls": None}))
        return [*rest, *(_piece(call) for call in calls)]


def _piece(call: Mapping[str, Any]) -> ToolUse:
    function = call.get("function") or {}
    return ToolUse(call["index"], function.get("arguments") or "", call.get("id") or "", function.get("name") or "")


@attrs.frozen(eq=False)
class _Unnamed(ReadingCall):
    def named(self, chunks: list[Chunk]) -> list[Chunk]:
        return chunks


class CallAliasShown(Correct):
    """A tool whose name the engine cannot take is called by its alias."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return _Unnamed(request, route, client, DIALECT)
