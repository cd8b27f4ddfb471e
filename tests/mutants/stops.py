"""Faults in why the answer ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core import Chunk, Delta, Request, Stop, StopTranslator
from core.chat import FinishReason, StopField, the_choice
from core.deltas import StopReason
from tests.mutants.reference import Correct


class StopIntAsString(Correct):
    """A stop token's number is taken for the stop string of the same digits."""

    def stop(self, request: Request) -> StopTranslator:
        return _AnyType("stop_reason", request.stop_sequences)


class _AnyType(StopField):
    def look(self, chunk: Chunk, choice: Mapping[str, Any]) -> None:
        super().look(chunk, {self._field: str(choice.get(self._field))})


class StopForeignReported(Correct):
    """A stop string that the client never asked for is reported."""

    def stop(self, request: Request) -> StopTranslator:
        return _Foreign("stop_reason", request.stop_sequences)


class _Foreign(StopField):
    def look(self, chunk: Chunk, choice: Mapping[str, Any]) -> None:
        value = choice.get(self._field)
        self._match = value if isinstance(value, str) else self._match


class StopNeverReported(Correct):
    """The engine's report of the matched stop string is not read."""

    def stop(self, request: Request) -> StopTranslator:
        return FinishReason()


class StopNullIsAMatch(Correct):
    """An end with a null report is taken for a match of the client's first stop sequence."""

    def stop(self, request: Request) -> StopTranslator:
        return _Guess("stop_reason", request.stop_sequences)


class _Guess(StopField):
    def matched(self) -> str | None:
        guess = self._wanted[0] if self._wanted and self._finish == "stop" else None
        return super().matched() or guess


class StopOnlyFirstSequence(Correct):
    """Of several stop sequences only the first is recognised."""

    def stop(self, request: Request) -> StopTranslator:
        return StopField("stop_reason", request.stop_sequences[:1])


class StopSequenceUnnamed(Correct):
    """The stop reason is stop_sequence, but which one is left out."""

    def stop(self, request: Request) -> StopTranslator:
        return _Unnamed("stop_reason", request.stop_sequences)


class _Unnamed(StopField):
    def flush(self) -> Sequence[Delta]:
        return [Stop("stop_sequence") if self.matched() else delta for delta in super().flush()]


class StopSequenceWithEndTurn(Correct):
    """The matched sequence is named, but the stop reason stays end_turn."""

    def stop(self, request: Request) -> StopTranslator:
        return _EndTurn("stop_reason", request.stop_sequences)


class _EndTurn(StopField):
    def flush(self) -> Sequence[Delta]:
        return [Stop("end_turn", self.matched()) if self.matched() else delta for delta in super().flush()]


class StopLostInJSON(Correct):
    """The matched stop string of a whole completion is not read."""

    def stop(self, request: Request) -> StopTranslator:
        return _StreamsOnly("stop_reason", request.stop_sequences)


class _StreamsOnly(StopField):
    def look(self, chunk: Chunk, choice: Mapping[str, Any]) -> None:
        if chunk.get("object") != "chat.completion":
            super().look(chunk, choice)


class _Reasons(Correct):
    """A backend whose stop reasons are told by `reason` instead, where that gives one."""

    def stop(self, request: Request) -> StopTranslator:
        return _Told(self, request)

    def reason(self, finish: str, calls: bool) -> StopReason | None:
        return None


class _Told(StopField):
    def __init__(self, plugin: _Reasons, request: Request) -> None:
        super().__init__("stop_reason", request.stop_sequences)
        self.plugin = plugin

    def _reason(self, finish: str) -> StopReason:
        return self.plugin.reason(finish, self._calls) or super()._reason(finish)


class LengthIsEndTurn(_Reasons):
    """An answer cut by its length is told as end_turn."""

    def reason(self, finish: str, calls: bool) -> StopReason | None:
        return "end_turn" if finish == "length" else None


class LengthWithCallsIsToolUse(_Reasons):
    """An answer with a call that was cut by its length is told as tool_use."""

    def reason(self, finish: str, calls: bool) -> StopReason | None:
        return "tool_use" if finish == "length" and calls else None


class ToolUseWithoutCalls(_Reasons):
    """finish_reason tool_calls without a call is told as tool_use."""

    def reason(self, finish: str, calls: bool) -> StopReason | None:
        return "tool_use" if finish == "tool_calls" else None


class CallsLoseToStop(_Reasons):
    """An answer with calls whose finish_reason is stop is told as end_turn."""

    def reason(self, finish: str, calls: bool) -> StopReason | None:
        return "end_turn" if finish == "stop" else None


class FilterIsEndTurn(_Reasons):
    """A filtered answer is told as end_turn."""

    def reason(self, finish: str, calls: bool) -> StopReason | None:
        return "end_turn" if finish == "content_filter" else None


class RefusalIsEndTurn(_Reasons):
    """An answer that is a refusal is told as end_turn."""

    def reason(self, finish: str, calls: bool) -> StopReason | None:
        return "end_turn" if finish == "stop" and not calls else None


class UnknownFinishCrashes(_Reasons):
    """A finish_reason of the engine's own raises a KeyError."""

    def reason(self, finish: str, calls: bool) -> StopReason | None:
        known = dict.fromkeys(("stop", "length", "tool_calls", "content_filter", "function_call"))
        return known[finish]


class _Flushes(Correct):
    """A backend whose last deltas are told by `last`."""

    def stop(self, request: Request) -> StopTranslator:
        return _Last(self, request)

    def last(self, deltas: Sequence[Delta]) -> Sequence[Delta]:
        return deltas


class _Last(StopField):
    def __init__(self, plugin: _Flushes, request: Request) -> None:
        super().__init__("stop_reason", request.stop_sequences)
        self.plugin = plugin

    def flush(self) -> Sequence[Delta]:
        return self.plugin.last(super().flush())


class StopTwice(_Flushes):
    """The end comes twice."""

    def last(self, deltas: Sequence[Delta]) -> Sequence[Delta]:
        return [*deltas, *deltas]


class StopMissing(_Flushes):
    """The end never comes."""

    def last(self, deltas: Sequence[Delta]) -> Sequence[Delta]:
        return []


class TruncatedIsEndTurn(_Flushes):
    """A stream that breaks off without a finish_reason is told as end_turn."""

    def last(self, deltas: Sequence[Delta]) -> Sequence[Delta]:
        return deltas or [Stop("end_turn")]


class StopBeforeLastText(Correct):
    """The end is given before the deltas of the chunk that it came with."""

    def stop(self, request: Request) -> StopTranslator:
        return _AtFinish(request, before=True)


class StopBeforeUsage(Correct):
    """The end is given with the finish_reason, so that the call is closed before the usage comes."""

    def stop(self, request: Request) -> StopTranslator:
        return _AtFinish(request, before=False)


class _AtFinish(StopField):
    def __init__(self, request: Request, *, before: bool) -> None:
        super().__init__("stop_reason", request.stop_sequences)
        self.before = before

    def feed(self, chunk: Chunk, deltas: Sequence[Delta]) -> Sequence[Delta]:
        deltas = super().feed(chunk, deltas)
        if not the_choice(chunk).get("finish_reason"):
            return deltas
        return [*super().flush(), *deltas] if self.before else [*deltas, *super().flush()]
