"""Chunks to deltas: reasoning, text, refusals, tool calls and usage, in the order in which the client shall see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.chat.chunks import Chunk, the_choice, the_delta
from core.chat.reasoning import Reasoning, ReasoningField
from core.chat.text import Joiner
from core.chat.toolcalls import ToolCalls
from core.chat.usage import usage_of
from core.deltas import Delta, Text, Thinking

_ANY_FIELD = ReasoningField()


class Content:
    """The translator that backends configure with the place of their reasoning.

    Within one chunk reasoning comes before text and text before calls (vLLM may send all three in one delta). Text and
    reasoning that arrive in the middle of a call wait for its end, so that nothing overlaps and nothing is lost.
    """

    def __init__(self, reasoning: Reasoning = _ANY_FIELD) -> None:
        self._reasoning = reasoning
        self._thought = Joiner()
        self._text = Joiner()
        self._calls: ToolCalls | None = None

    def feed(self, chunk: Chunk) -> Sequence[Delta]:
        """The deltas of one chunk; [] for role-only, empty and null ones."""
        out: list[Delta] = []
        delta = the_delta(the_choice(chunk))
        if delta:
            thought = self._reasoning(delta)
            if thought:
                self._thinking(thought, out)
            content = delta.get("content")
            if content:
                self._content(content, out)
            refusal = delta.get("refusal")
            if refusal and isinstance(refusal, str):
                self._say(refusal, out)
            calls = delta.get("tool_calls")
            if calls and isinstance(calls, list):
                self._call(calls, out)
            legacy = delta.get("function_call")
            if legacy and isinstance(legacy, dict):
                self._call([{"index": 0, "function": legacy}], out)
        usage = usage_of(chunk)
        if usage is not None:
            out.append(usage)
        return out

    def flush(self) -> Sequence[Delta]:
        """What was held: halves of characters, calls that never got their name, text behind an unfinished call."""
        out: list[Delta] = []
        if half := self._thought.flush():
            self._emit(Thinking(half), out)
        if half := self._text.flush():
            self._emit(Text(half), out)
        return out if self._calls is None else [*out, *self._calls.flush()]

    def _thinking(self, text: str, out: list[Delta]) -> None:
        if text := self._thought.feed(text):
            self._emit(Thinking(text), out)

    def _say(self, text: str, out: list[Delta]) -> None:
        if text := self._text.feed(text):
            self._emit(Text(text), out)

    def _emit(self, delta: Delta, out: list[Delta]) -> None:
        if self._calls is None:
            out.append(delta)
        else:
            out += self._calls.between(delta)

    def _content(self, content: Any, out: list[Delta]) -> None:
        if isinstance(content, str):
            self._say(content, out)
            return
        for part in content if isinstance(content, list) else []:
            # Mistral sends its reasoning and text as parts: {"type": "thinking", "thinking": [{"type": "text", …}]}.
            if isinstance(part, str):
                self._say(part, out)
            elif isinstance(part, dict) and part.get("type") == "thinking":
                self._thinking(_joined(part.get("thinking")), out)
            elif isinstance(part, dict):
                self._say(_joined(part), out)

    def _call(self, calls: list[Any], out: list[Delta]) -> None:
        if self._calls is None:
            self._calls = ToolCalls()
        for fragment in calls:
            if isinstance(fragment, dict):
                out += self._calls.feed(fragment)


def _joined(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_joined(item) for item in value)
    return _joined(value.get("text") or value.get("refusal")) if isinstance(value, dict) else ""
