"""Faults in the text, and in how it is let go."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from core import Chunk, ContentTranslator, Delta, Request, Text
from core.chat import Reasoning, the_choice
from tests.mutants.reference import Correct, Steps, edited


class FirstTextDropped(Correct):
    """The first piece of text is dropped."""

    def content(self, request: Request) -> ContentTranslator:
        return _WithoutFirst(self.reasoning())


class _WithoutFirst(Steps):
    def __init__(self, reasoning: Reasoning) -> None:
        super().__init__(reasoning)
        self.begun = False

    def given(self, deltas: Sequence[Delta]) -> Sequence[Delta]:
        out = []
        for delta in deltas:
            if isinstance(delta, Text) and not self.begun:
                self.begun = True
            else:
                out.append(delta)
        return out


class LastTextDropped(Correct):
    """Content on the chunk that carries the finish_reason is dropped."""

    def content(self, request: Request) -> ContentTranslator:
        return _NothingAtFinish(self.reasoning())


class _NothingAtFinish(Steps):
    def taken(self, chunk: Chunk) -> Chunk:
        finish = the_choice(chunk).get("finish_reason")
        return edited(chunk, lambda _: {}) if finish and chunk.get("object") != "chat.completion" else chunk


class TextHeldToTheEnd(Correct):
    """All text is held until the answer's end: nothing streams."""

    def content(self, request: Request) -> ContentTranslator:
        return _Held(self.reasoning())


class _Held(Steps):
    def __init__(self, reasoning: Reasoning) -> None:
        super().__init__(reasoning)
        self.held: list[Delta] = []

    def given(self, deltas: Sequence[Delta]) -> Sequence[Delta]:
        self.held += deltas
        return []

    def flush(self) -> Sequence[Delta]:
        super().flush()
        return self.held


class EmptyTextBlock(Correct):
    """Empty content gives an empty piece of text."""

    def content(self, request: Request) -> ContentTranslator:
        return _Empty(self.reasoning())


class _Empty(Steps):
    def feed(self, chunk: Chunk) -> Sequence[Delta]:
        empty = (the_choice(chunk).get("delta") or {}).get("content") == ""
        return [Text(""), *super().feed(chunk)] if empty else super().feed(chunk)


class NullContentCrashes(Correct):
    """A null content raises a TypeError."""

    def content(self, request: Request) -> ContentTranslator:
        return _AddsUp(self.reasoning())


class _AddsUp(Steps):
    def taken(self, chunk: Chunk) -> Chunk:
        return edited(chunk, lambda delta: {**delta, "content": delta.get("content", "") + ""})


class ListContentCrashes(Correct):
    """Content that is a list of parts raises an AttributeError."""

    def content(self, request: Request) -> ContentTranslator:
        return _Unifies(self.reasoning())


class _Unifies(Steps):
    def taken(self, chunk: Chunk) -> Chunk:
        return edited(chunk, lambda delta: {**delta, "content": (delta.get("content") or "").replace("\r\n", "\n")})


class TextStripped(Correct):
    """Blanks around each piece of text are lost."""

    def content(self, request: Request) -> ContentTranslator:
        return _Stripped(self.reasoning())


class _Stripped(Steps):
    def given(self, deltas: Sequence[Delta]) -> Sequence[Delta]:
        stripped = [Text(delta.text.strip()) if isinstance(delta, Text) else delta for delta in deltas]
        return [delta for delta in stripped if delta != Text("")]


class TextWithCallSwallowed(Correct):
    """Text in the same delta as a tool call is swallowed."""

    def content(self, request: Request) -> ContentTranslator:
        return _CallsAlone(self.reasoning())


class _CallsAlone(Steps):
    def taken(self, chunk: Chunk) -> Chunk:
        return edited(chunk, lambda delta: {**delta, "content": None} if delta.get("tool_calls") else delta)


class TextWithReasoningSwallowed(Correct):
    """Text in the same delta as reasoning is swallowed."""

    def content(self, request: Request) -> ContentTranslator:
        return _ReasoningAlone(self.reasoning())


class _ReasoningAlone(Steps):
    def taken(self, chunk: Chunk) -> Chunk:
        return edited(chunk, lambda delta: {**delta, "content": None} if delta.get("reasoning_content") else delta)


class RefusalDropped(Correct):
    """The text of a refusal is dropped."""

    def content(self, request: Request) -> ContentTranslator:
        return _NoRefusal(self.reasoning())


class _NoRefusal(Steps):
    def taken(self, chunk: Chunk) -> Chunk:
        return edited(chunk, lambda delta: {**delta, "refusal": None})


class HalfCharacterLost(Correct):
    """A character that comes as two surrogate halves in two chunks becomes two replacement characters."""

    def content(self, request: Request) -> ContentTranslator:
        return _EachWhole(self.reasoning())


class _EachWhole(Steps):
    def taken(self, chunk: Chunk) -> Chunk:
        def replaced(delta: dict[str, Any]) -> dict[str, Any]:
            text = delta.get("content")
            whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") if text else text
            return {**delta, "content": whole}

        return edited(chunk, replaced)


class OtherChoiceMixedIn(Correct):
    """The text of a second choice is put among that of the first."""

    def content(self, request: Request) -> ContentTranslator:
        return _AllChoices(self.reasoning())


class _AllChoices(Steps):
    def feed(self, chunk: Chunk) -> Sequence[Delta]:
        split = [{**chunk, "choices": [{**choice, "index": 0}]} for choice in chunk.get("choices") or ()]
        return [delta for one in split or [chunk] for delta in super(_AllChoices, self).feed(one)]


class FeedAnswersNone(Correct):
    """A chunk with nothing to say gives None and not an empty list."""

    def content(self, request: Request) -> ContentTranslator:
        return _NoneForNothing(self.reasoning())


class _NoneForNothing(Steps):
    def given(self, deltas: Sequence[Delta]) -> Sequence[Delta]:
        return deltas or None  # type: ignore[return-value]


class FlushHangs(Correct):
    """The flush never returns."""

    def content(self, request: Request) -> ContentTranslator:
        return _Hanging(self.reasoning())


class _Hanging(Steps):
    def flush(self) -> Sequence[Delta]:
        threading.Event().wait()
        return super().flush()


class FlushRaises(Correct):
    """The flush raises what is no GatewayError."""

    def content(self, request: Request) -> ContentTranslator:
        return _Raising(self.reasoning())


class _Raising(Steps):
    def flush(self) -> Sequence[Delta]:
        raise IndexError("pop from an empty list")
