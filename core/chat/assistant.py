"""The model's own turns of the past: text, calls, reasoning, and what its engine wants back with them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any, Final

import attrs

from core.chat.dialect import Dialect
from core.chat.names import alias
from core.chat.parts import Place, all_text, joined, json_text, parts_of, path_of
from core.chat.tool_ids import ToolIds
from core.deltas import State
from core.errors import RequestError
from core.request import (
    Block,
    DocumentBlock,
    ImageBlock,
    OtherBlock,
    SearchResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)

_NO_FIELDS: Final = ("", "parts", "think_tags")


def assistant_message(blocks: Iterable[tuple[Block, Place]], dialect: Dialect, ids: ToolIds) -> dict[str, Any] | None:
    """The message of one turn's blocks, each with its place; None for a turn without text and calls.

    Raises RequestError, with the path of the block, for what cannot be said in an assistant's turn.
    """
    turn = _Turn()
    for block, place in blocks:
        # Nearly all blocks are of these two kinds, and agents send hundreds.
        if block.__class__ is TextBlock:
            turn.say("text", block.text)
        elif block.__class__ is ToolUseBlock:
            turn.calls.append((block, place))
        else:
            turn.add(block, path_of(place), dialect)
    text = turn.all_of("text")
    if not (turn.calls or text):
        return None
    message: dict[str, Any] = {"role": "assistant", "content": turn.content(text, dialect)}
    field = dialect.reasoning_history
    if field not in _NO_FIELDS:
        thinking = turn.all_of("thinking")
        if thinking or (turn.calls and dialect.reasoning_required):
            message[field] = thinking
    if turn.states:
        message.update(turn.kept(dialect))
    if turn.calls:
        message["tool_calls"] = [turn.call(block, place, dialect, ids) for block, place in turn.calls]
    return message


def own_text(block: Block) -> str:
    """The text of a block without a class of its own, where it has one (a summary of the talk so far, say), or ""."""
    if not isinstance(block, OtherBlock):
        return ""
    texts = (block.raw.get("text"), block.raw.get("content"))
    return next((text for text in texts if isinstance(text, str)), "")


@attrs.define
class _Turn:
    """What a turn says: (kind, text) in order, its calls, and its states."""

    said: list[tuple[str, str]] = attrs.field(factory=list)
    calls: list[tuple[ToolUseBlock, Place]] = attrs.field(factory=list)
    states: list[State] = attrs.field(factory=list)

    def all_of(self, kind: str) -> str:
        return "".join([text for said, text in self.said if said == kind])

    def add(self, block: Block, path: str, dialect: Dialect) -> None:
        """A block that is neither text nor a call."""
        match block:
            case ThinkingBlock():
                self.say("thinking", block.thinking)
                self.states += [block.state] if block.state else []
            case DocumentBlock() | SearchResultBlock() | ImageBlock():
                parts = parts_of(block, path, dialect)
                if not all_text(parts):
                    raise RequestError(f"{path}: this kind of block cannot be sent to this model in an assistant turn")
                self.say("text", joined(parts, "\n\n"))
            case _:
                self.say("text", own_text(block))

    def content(self, text: str, dialect: Dialect) -> Any:
        if dialect.reasoning_history in ("think_tags", "parts") and (thinking := self.all_of("thinking")):
            if dialect.reasoning_history == "parts":
                return self._content_parts()
            return f"<think>\n{thinking}\n</think>\n\n{text}"
        return text or None

    def kept(self, dialect: Dialect) -> dict[str, Any]:
        """The fields of the message that the engine gave to be kept: lists joined, of other values the last one."""
        out: dict[str, Any] = {}
        for state in self.states:
            for field, value in state.message.items():
                if field in dialect.keep:
                    before = out.get(field)
                    both = isinstance(before, list) and isinstance(value, list)
                    out[field] = [*before, *value] if both else value  # type: ignore[misc]
        return out

    def call(self, block: ToolUseBlock, place: Place, dialect: Dialect, ids: ToolIds) -> dict[str, Any]:
        name = alias(block.name, dialect.tool_name_limit)
        function = {"name": name, "arguments": json_text(block.input, f"{path_of(place)}.input")}
        call: dict[str, Any] = {"id": ids.sent(block.id), "type": "function", "function": function}
        for state in self.states:
            fields = state.calls.get(block.id, {})
            call.update((field, value) for field, value in fields.items() if field in dialect.keep_in_calls)
        return call

    def say(self, kind: str, text: str) -> None:
        if text:
            self.said.append((kind, text))

    def _content_parts(self) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = []
        for kind, run in groupby(self.said, key=lambda item: item[0]):
            part = {"type": "text", "text": "".join(text for _, text in run)}
            out.append({"type": "thinking", "thinking": [part]} if kind == "thinking" else part)
        return out
