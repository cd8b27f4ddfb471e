"""Faults in the reasoning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core import Chunk, ContentTranslator, Delta, Request, Text, Thinking
from core.chat import Reasoning
from tests.mutants.reference import Correct, Steps, edited


class ReasoningDropped(Correct):
    """Reasoning is dropped."""

    def reasoning(self) -> Reasoning:
        return lambda delta: ""


class ReasoningDoubled(Correct):
    """Each piece of reasoning is given twice."""

    def content(self, request: Request) -> ContentTranslator:
        return _Doubled(self.reasoning())


class _Doubled(Steps):
    def given(self, deltas: Sequence[Delta]) -> Sequence[Delta]:
        return [delta for one in deltas for delta in ([one, one] if isinstance(one, Thinking) else [one])]


class ReasoningAfterText(Correct):
    """Reasoning is held until the answer's end and comes after the text."""

    def content(self, request: Request) -> ContentTranslator:
        return _Behind(self.reasoning())


class _Behind(Steps):
    def __init__(self, reasoning: Reasoning) -> None:
        super().__init__(reasoning)
        self.held: list[Delta] = []

    def given(self, deltas: Sequence[Delta]) -> Sequence[Delta]:
        self.held += [delta for delta in deltas if isinstance(delta, Thinking)]
        return [delta for delta in deltas if not isinstance(delta, Thinking)]

    def flush(self) -> Sequence[Delta]:
        return [*super().flush(), *self.held]


class ReasoningNamesAddedUp(Correct):
    """The same reasoning under two field names is taken twice."""

    def reasoning(self) -> Reasoning:
        return lambda delta: _string(delta, "reasoning_content") + _string(delta, "reasoning")


class ReasoningAsText(Correct):
    """Reasoning becomes part of the text."""

    def content(self, request: Request) -> ContentTranslator:
        return _AsText(self.reasoning())


class _AsText(Steps):
    def given(self, deltas: Sequence[Delta]) -> Sequence[Delta]:
        return [Text(delta.text) if isinstance(delta, Thinking) else delta for delta in deltas]


class ReasoningAsThinkTags(Correct):
    """Reasoning is written into the text between <think> tags."""

    def content(self, request: Request) -> ContentTranslator:
        return _Tagged(self.reasoning())


class _Tagged(Steps):
    def given(self, deltas: Sequence[Delta]) -> Sequence[Delta]:
        return [Text(f"<think>{one.text}</think>") if isinstance(one, Thinking) else one for one in deltas]


class ReasoningLostInJSON(Correct):
    """Reasoning is read from streams only; a whole completion's is lost."""

    def content(self, request: Request) -> ContentTranslator:
        return _StreamsOnly(self.reasoning())


class _StreamsOnly(Steps):
    def taken(self, chunk: Chunk) -> Chunk:
        if chunk.get("object") != "chat.completion":
            return chunk
        return edited(chunk, lambda delta: {**delta, "reasoning_content": None, "reasoning": None})


class ReasoningStripped(Correct):
    """Blanks around each piece of reasoning are lost."""

    def reasoning(self) -> Reasoning:
        inner = super().reasoning()
        return lambda delta: inner(delta).strip()


class ReasoningRequired(Correct):
    """A delta without the reasoning field raises a KeyError."""

    def reasoning(self) -> Reasoning:
        return lambda delta: delta[self.reasoning_field] or ""


class ReasoningNullAsWord(Correct):
    """Null reasoning becomes the text "None"."""

    def reasoning(self) -> Reasoning:
        return lambda delta: str(delta.get(self.reasoning_field, ""))


class ReasoningEmptyBlock(Correct):
    """An answer without reasoning begins with an empty piece of it."""

    def content(self, request: Request) -> ContentTranslator:
        return _EmptyFirst(self.reasoning())


class _EmptyFirst(Steps):
    def __init__(self, reasoning: Reasoning) -> None:
        super().__init__(reasoning)
        self.begun = False

    def given(self, deltas: Sequence[Delta]) -> Sequence[Delta]:
        begins = not self.begun and any(isinstance(delta, Thinking | Text) for delta in deltas)
        self.begun = self.begun or begins
        return [Thinking(""), *deltas] if begins else deltas


class ReasoningSecondNameUnread(Correct):
    """Reasoning that an older or newer engine sends under `reasoning` alone is not read."""

    def reasoning(self) -> Reasoning:
        return lambda delta: _string(delta, self.reasoning_field)


def _string(delta: Mapping[str, Any], name: str) -> str:
    value = delta.get(name)
    return value if isinstance(value, str) else ""
