"""Chunks to deltas: reasoning, text, refusals, tool calls and usage, in the order in which the client sees them.

And what the engine wants back with the turn: a `State` behind the reasoning it belongs to, before what follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.chat.completion import Chunk, the_choice, the_delta
from core.chat.kept import Kept
from core.chat.reasoning import Reasoning, ReasoningField
from core.chat.text import Joiner
from core.chat.toolcalls import ToolCalls
from core.chat.usage import Counts, together, usage_of
from core.deltas import Delta, Text, Thinking, Usage

_ANY_FIELD = ReasoningField()


class Content:
    """The translator that backends configure with the place of their reasoning.

    Within one chunk reasoning comes before text and text before calls (vLLM may send all three in one delta). Text and
    reasoning that arrive in the middle of a call wait for its end, so that nothing overlaps and nothing is lost.
    `keep` and `keep_in_calls` name the fields of message and tool call that the engine wants back, unchanged. `usage`
    finds the token counts where they are not in the usual place, which is looked at all the same.
    """

    def __init__(
        self,
        reasoning: Reasoning = _ANY_FIELD,
        keep: Sequence[str] = (),
        keep_in_calls: Sequence[str] = (),
        usage: Counts | None = None,
    ) -> None:
        self._reasoning = reasoning
        self._kept = Kept(keep) if keep else None
        self._keep_in_calls = keep_in_calls
        self._kind: type[Text | Thinking] | None = None
        self._joiner = Joiner()
        self._calls: ToolCalls | None = None
        self._counts = usage
        self._usage: Usage | None = None

    def feed(self, chunk: Chunk) -> Sequence[Delta]:
        """The deltas of one chunk; [] for role-only, empty and null ones."""
        out: list[Delta] = []
        delta = the_delta(the_choice(chunk))
        if delta:
            self._delta(delta, out)
        usage = None if self._counts is None else self._counts(chunk)
        if usage is None and (chunk.get("usage") or chunk.get("x_groq")):
            usage = usage_of(chunk)
        if usage is not None and (usage.input_tokens or usage.output_tokens):
            self._usage = together(self._usage, usage)
            out.append(self._usage)
        return out

    def flush(self) -> Sequence[Delta]:
        """What was held: half a character, calls that never got their name, text behind an unfinished call."""
        out: list[Delta] = []
        self._end_text(out)
        self._give_back(out)
        return out if self._calls is None else [*out, *self._calls.flush()]

    def _delta(self, delta: dict[str, Any], out: list[Delta]) -> None:
        if self._kept is not None:
            self._kept.add(delta)
        thought = self._reasoning(delta)
        if thought:
            self._say(Thinking, thought, out)
        content = delta.get("content")
        if content:
            if content.__class__ is str:
                self._say(Text, content, out)
            else:
                self._parts(content, out)
        refusal = delta.get("refusal")
        if refusal and isinstance(refusal, str):
            self._say(Text, refusal, out)
        calls = delta.get("tool_calls")
        legacy = delta.get("function_call")
        if calls and isinstance(calls, list | dict):
            self._call(calls if isinstance(calls, list) else [calls], out)
        elif legacy and isinstance(legacy, dict):
            self._call([{"index": 0, "function": legacy}], out)

    def _parts(self, content: Any, out: list[Delta]) -> None:
        for part in content if isinstance(content, list) else []:
            # Mistral sends its reasoning and text as parts: {"type": "thinking", "thinking": [{"type": "text", …}]}.
            if isinstance(part, dict) and part.get("type") in ("thinking", "reasoning"):
                self._say(Thinking, _text_of(part.get("thinking")) or _text_of(part), out)
            else:
                self._say(Text, _text_of(part), out)

    def _say(self, kind: type[Text | Thinking], text: str, out: list[Delta]) -> None:
        if kind is not self._kind and text:
            self._end_text(out)
            if kind is Text:
                self._give_back(out)
            self._kind = kind
        if text := self._joiner.feed(text):
            if self._calls is None:
                out.append(kind(text))
            else:
                self._emit(kind(text), out)

    def _end_text(self, out: list[Delta]) -> None:
        """Let half a character go before something else follows it."""
        if self._kind is not None and (half := self._joiner.flush()):
            self._emit(self._kind(half), out)

    def _give_back(self, out: list[Delta]) -> None:
        """Let go what the engine wants back: its pieces are complete when something follows the reasoning."""
        if self._kept is not None and (state := self._kept.pull()) is not None:
            self._emit(state, out)

    def _emit(self, delta: Delta, out: list[Delta]) -> None:
        if self._calls is None:
            out.append(delta)
        else:
            out += self._calls.between(delta)

    def _call(self, calls: list[Any], out: list[Delta]) -> None:
        self._end_text(out)
        self._give_back(out)
        if self._calls is None:
            self._calls = ToolCalls(self._keep_in_calls)
        for fragment in calls:
            if isinstance(fragment, dict):
                out += self._calls.feed(fragment)


def _text_of(value: Any) -> str:
    """The text of a part or of a list of parts."""
    return "".join(map(_part, value)) if isinstance(value, list) else _part(value)


def _part(value: Any) -> str:
    if isinstance(value, dict):
        value = value.get("text") or value.get("refusal")
    return value if isinstance(value, str) else ""
