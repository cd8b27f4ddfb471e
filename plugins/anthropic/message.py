"""Deltas -> a Message, whole. stream.py gives the same message as events; what both need is here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import orjson

from core import Delta, Request, State, Stop, Text, Thinking, ToolUse, fresh_id
from plugins.anthropic.arrange import Arranger, Piece, kind_of, opens_block
from plugins.anthropic.call_ids import ids_of
from plugins.anthropic.envelope import JSONAnswer
from plugins.anthropic.jsontext import dumps
from plugins.anthropic.seal import Seal
from plugins.anthropic.thought import Thought
from plugins.anthropic.usage import UsageCount


def message_value(model: str, content: list[Any], stop: Stop | None, usage: dict[str, int]) -> dict[str, Any]:
    """A Message with a fresh id; without a stop it is the one that a stream starts with."""
    return {
        "id": fresh_id("msg_"),  # clients merge the turns of one id
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


def arranger(request: Request) -> Arranger:
    """The arranger of a request's answer."""
    one_call = request.tool_choice is not None and not request.tool_choice.parallel
    return Arranger(one_call, ids_of(request))


def omits_thinking(request: Request) -> bool:
    """Whether the client wants thinking blocks without their text."""
    return request.thinking is not None and request.thinking.display == "omitted"


@attrs.define(eq=False)
class _Block:
    """A content block that still grows."""

    kind: type[Piece]
    id: str = ""
    name: str = ""
    pieces: list[str] = attrs.field(factory=list)
    thought: Thought = attrs.field(factory=Thought)

    def add(self, piece: Piece) -> None:
        if isinstance(piece, (Thinking, State)):
            self.thought.add(piece)
        else:
            self.pieces.append(piece.arguments if isinstance(piece, ToolUse) else piece.text)

    def value(self, seal: Seal, *, omitted: bool) -> dict[str, Any]:
        if self.kind is Thinking:
            text = "" if omitted else self.thought.text
            return {"type": "thinking", "thinking": text, "signature": self.thought.signature(seal, omitted=omitted)}
        if self.kind is Text:
            return {"type": "text", "text": "".join(self.pieces)}
        return {"type": "tool_use", "id": self.id, "name": self.name, "input": tool_input("".join(self.pieces))}


@attrs.define(eq=False)
class MessageAnswer(JSONAnswer):
    """The answer to a message request that does not stream."""

    request: Request
    seal: Seal = attrs.field(kw_only=True)
    cache_usage: bool = attrs.field(kw_only=True, default=False)
    _arranger: Arranger = attrs.field(init=False)
    _usage: UsageCount = attrs.field(init=False)
    _blocks: list[_Block] = attrs.field(init=False, factory=list)
    _stop: Stop | None = attrs.field(init=False, default=None)

    @_arranger.default
    def _arranged(self) -> Arranger:
        return arranger(self.request)

    @_usage.default
    def _counted(self) -> UsageCount:
        return UsageCount(self.request, self.cache_usage)

    def feed(self, deltas: Sequence[Delta]) -> bytes:
        """Keep the deltas; always b""."""
        for delta in self._arranger.feed(deltas):
            self._usage.add(delta)
            if isinstance(delta, Stop):
                self._stop = delta
            elif isinstance(delta, Piece):
                self._add(delta)
        return b""

    def finish(self) -> bytes:
        """The Message. Raises RuntimeError when no Stop was fed."""
        if self._stop is None:
            raise RuntimeError("finish() without a Stop")
        for state in self._arranger.end():
            self._add(state)
        omitted = omits_thinking(self.request)
        content = [block.value(self.seal, omitted=omitted) for block in self._blocks]
        return dumps(message_value(self.request.model, content, self._stop, self._usage.final()))

    def _add(self, piece: Piece) -> None:
        if opens_block(piece, self._blocks[-1].kind if self._blocks else None):
            block = _Block(ToolUse, piece.id, piece.name) if isinstance(piece, ToolUse) else _Block(kind_of(piece))
            self._blocks.append(block)
        self._blocks[-1].add(piece)
