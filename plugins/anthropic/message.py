"""Deltas -> a Message, whole. stream.py gives the same message as events; what both need is here."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import attrs
import orjson

from core import Delta, Request, Stop, Text, Thinking, ToolUse, Usage
from plugins.anthropic.envelope import JSONAnswer
from plugins.anthropic.jsontext import dumps
from plugins.anthropic.signature import sign

Piece = Text | Thinking | ToolUse
"""A delta that is part of a content block."""


def new_id() -> str:
    """A fresh message id: clients merge the turns of one id."""
    return f"msg_{secrets.token_hex(12)}"


def opens_block(piece: Piece, open_kind: type[Piece] | None) -> bool:
    """Whether a piece begins a block, given the kind of the block before it. Raises RuntimeError for a lost piece."""
    if piece.__class__ is not ToolUse:
        return piece.__class__ is not open_kind
    if not piece.id and open_kind is not ToolUse:
        raise RuntimeError("the first piece of a tool call has no id")
    return bool(piece.id)


def usage_value(usage: Usage, *, cache_usage: bool) -> dict[str, int]:
    """`usage`; with `cache_usage` its three input counts add up to the prompt, else `input_tokens` is the prompt."""
    if not cache_usage:
        return {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    cached = usage.cache_read_tokens + usage.cache_creation_tokens
    return {
        "input_tokens": max(0, usage.input_tokens - cached),
        "output_tokens": usage.output_tokens,
        "cache_creation_input_tokens": usage.cache_creation_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
    }


def message_value(model: str, content: list[Any], stop: Stop | None, usage: dict[str, int]) -> dict[str, Any]:
    """A Message with a fresh id; without a stop it is the one that a stream starts with."""
    return {
        "id": new_id(),
        "type": "message",
        "role": "assistant",
        "content": content,
        "model": model,
        "stop_reason": stop.reason if stop else None,
        "stop_sequence": stop.sequence if stop else None,
        "usage": usage,
    }


def tool_input(arguments: str) -> Any:
    """A call's `input`, always an object: what the model wrote when it is one, {} when it wrote nothing or null.

    Anything else (broken JSON, a list) is `{"unparsed_arguments": TEXT}`: nothing is lost, no tool takes it for its
    own input, and the model reads in the tool's refusal what it did.
    """
    try:
        value = orjson.loads(arguments) if arguments.strip() else None
    except orjson.JSONDecodeError:
        return {"unparsed_arguments": arguments}
    if isinstance(value, dict):
        return orjson.Fragment(arguments)  # as written: parsing would round large numbers
    return {} if value is None else {"unparsed_arguments": arguments}


@attrs.define(eq=False)
class _Block:
    """A content block that still grows."""

    kind: type[Piece]
    id: str = ""
    name: str = ""
    pieces: list[str] = attrs.field(factory=list)

    def value(self, *, omit_thinking: bool) -> dict[str, Any]:
        text = "".join(self.pieces)
        if self.kind is Text:
            return {"type": "text", "text": text}
        if self.kind is Thinking:
            return {"type": "thinking", "thinking": "" if omit_thinking else text, "signature": sign(text)}
        return {"type": "tool_use", "id": self.id, "name": self.name, "input": tool_input(text)}


@attrs.define(eq=False)
class MessageAnswer(JSONAnswer):
    """The answer to a message request that does not stream."""

    request: Request
    cache_usage: bool = attrs.field(kw_only=True, default=False)
    _blocks: list[_Block] = attrs.field(init=False, factory=list)
    _usage: Usage = attrs.field(init=False, factory=Usage)
    _stop: Stop | None = attrs.field(init=False, default=None)

    def feed(self, deltas: Sequence[Delta]) -> bytes:
        """Keep the deltas; always b""."""
        for delta in deltas:
            if isinstance(delta, Usage):
                self._usage = delta
            elif isinstance(delta, Stop):
                self._stop = delta
            elif isinstance(delta, Piece):
                self._add(delta)
        return b""

    def finish(self) -> bytes:
        """The Message. Raises RuntimeError when no Stop was fed."""
        if self._stop is None:
            raise RuntimeError("finish() without a Stop")
        omit = omits_thinking(self.request)
        content = [block.value(omit_thinking=omit) for block in self._blocks]
        usage = usage_value(self._usage, cache_usage=self.cache_usage)
        return dumps(message_value(self.request.model, content, self._stop, usage))

    def _add(self, piece: Piece) -> None:
        if opens_block(piece, self._blocks[-1].kind if self._blocks else None):
            block = _Block(ToolUse, piece.id, piece.name) if isinstance(piece, ToolUse) else _Block(piece.__class__)
            self._blocks.append(block)
        self._blocks[-1].pieces.append(piece.arguments if isinstance(piece, ToolUse) else piece.text)


def omits_thinking(request: Request) -> bool:
    """Whether the client wants thinking blocks without their text."""
    return request.thinking is not None and request.thinking.display == "omitted"
