"""Upstream answers as values, from which both wire forms are made: one JSON completion, and a stream of chunks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import attrs

USAGE: Mapping[str, Any] = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
"""The usage of an answer that names none."""


@attrs.frozen
class UpstreamToolCall:
    """One tool call as an engine sends it; `arguments` is the JSON text, `id` None when the engine gives none."""

    name: str
    arguments: str = "{}"
    id: str | None = "call_1"


@attrs.frozen
class ChunkShape:
    """How an engine cuts its answer into chunks.

    `piece` is the number of characters per chunk (0: each string whole); `role` the first chunk (`content` being "",
    null or missing, or no such chunk); `numbered` tool calls carry an index; `interleaved` ones come in turns;
    `nulls` fills each delta with the null fields some engines send; `shared` puts neighbouring pieces into one delta;
    `finish_early` has the finish reason on the last piece of content; `halves` may cut a character beyond U+FFFF into
    its two surrogates (servers that count UTF-16 units do; it needs ASCII JSON).
    """

    piece: int = 4
    role: Literal["empty", "null", "bare", "none"] = "empty"
    numbered: bool = True
    interleaved: bool = False
    nulls: bool = False
    shared: bool = False
    finish_early: bool = False
    halves: bool = False

    def cut(self, text: str) -> list[str]:
        """The pieces of one string; none of an empty one."""
        units = "".join(map(_surrogates, text)) if self.halves else text
        size = self.piece or len(units) or 1
        return [units[start : start + size] for start in range(0, len(units), size)]


@attrs.frozen
class Framing:
    """How chunks become bytes: the line end, comments and blank lines between events, `[DONE]` or none, ASCII JSON."""

    eol: Literal["\n", "\r\n", "\r"] = "\n"
    comment: str = ""
    blank_lines: int = 0
    done: bool = True
    space: bool = True
    ascii: bool = False

    def data(self, value: Any) -> bytes:
        """One event: JSON of `value`, or `value` itself when it is a string."""
        text = value if isinstance(value, str) else dump(value, ascii_only=self.ascii)
        lead = f": {self.comment}{self.eol}{self.eol}" if self.comment else ""
        return (lead + ("data: " if self.space else "data:") + text + self.eol * (2 + self.blank_lines)).encode()

    def stream(self, values: Iterable[Any]) -> bytes:
        """All events of one stream, `[DONE]` at the end if this framing has one."""
        return b"".join(self.data(value) for value in [*values, *(["[DONE]"] if self.done else [])])


@attrs.frozen
class UpstreamAnswer:
    """One answer of an upstream, apart from its wire form.

    `reasoning` goes out under every one of `reasoning_fields`. `choice` and `top` are further fields of the choice and
    of the object that carry the finish reason (`{"stop_reason": "5"}`). `usage` None: the upstream counts nothing;
    `usage_at` places it in a stream: on a chunk of its own, on the finish chunk, or growing on every chunk.
    `error` set: the stream breaks off with that object after its content; the JSON form is the object alone.
    """

    text: str | None = "Hello."
    reasoning: str | None = None
    reasoning_fields: tuple[str, ...] = ("reasoning_content",)
    tool_calls: tuple[UpstreamToolCall, ...] = ()
    refusal: str | None = None
    finish_reason: str | None = "stop"
    choice: Mapping[str, Any] = attrs.field(factory=dict)
    top: Mapping[str, Any] = attrs.field(factory=dict)
    usage: Mapping[str, Any] | None = attrs.field(factory=lambda: dict(USAGE))
    usage_at: Literal["apart", "finish", "every"] = "apart"
    error: Any = None
    model: str = "upstream-model"
    shape: ChunkShape = ChunkShape()
    framing: Framing = Framing()

    def completion(self) -> dict[str, Any]:
        """The whole answer as one chat completion (or as the error object)."""
        if self.error is not None:
            return {"error": self.error}
        message: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self.reasoning is not None:
            message |= dict.fromkeys(self.reasoning_fields, self.reasoning)
        if self.refusal is not None:
            message["refusal"] = self.refusal
        if self.tool_calls:
            message["tool_calls"] = [_call(call, call.arguments) for call in self.tool_calls]
        choice = {"index": 0, "message": message, "finish_reason": self.finish_reason, **self.choice}
        usage = {} if self.usage is None else {"usage": dict(self.usage)}
        return {**self._head("chat.completion"), "choices": [choice], **usage, **self.top}

    def chunks(self) -> list[dict[str, Any]]:
        """The whole answer as the chunks of a stream."""
        deltas = self._deltas()
        last = deltas.pop() if self.shape.finish_early and deltas and self.error is None else {}
        chunks = [self._chunk(delta) for delta in [*self._role(), *deltas]]
        if self.error is not None:
            chunks.append({"error": self.error})
        else:
            chunks.append({**self._chunk(last, self.finish_reason, **self.choice), **self.top})
        return self._with_usage(chunks)

    def json(self) -> bytes:
        """The completion's bytes; blank lines of the framing come before it (DeepSeek keeps connections alive so)."""
        lead = self.framing.eol * self.framing.blank_lines
        return (lead + dump(self.completion(), ascii_only=self.framing.ascii)).encode()

    def sse(self) -> bytes:
        """The stream's bytes."""
        return self.framing.stream(self.chunks())

    def wire(self, *, stream: bool) -> bytes:
        """The bytes of one of the two forms."""
        return self.sse() if stream else self.json()

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": "chatcmpl-7", "object": kind, "created": 1_700_000_000, "model": self.model}

    def _chunk(self, delta: Mapping[str, Any], finish: str | None = None, **choice: Any) -> dict[str, Any]:
        nulls = {"content": None, "reasoning_content": None, "tool_calls": None} if self.shape.nulls else {}
        whole = {"index": 0, "delta": {**nulls, **delta}, "finish_reason": finish, **choice}
        return {**self._head("chat.completion.chunk"), "choices": [whole]}

    def _role(self) -> list[dict[str, Any]]:
        content: dict[str, dict[str, Any]] = {"empty": {"content": ""}, "null": {"content": None}, "bare": {}}
        return [{"role": "assistant", **content[self.shape.role]}] if self.shape.role in content else []

    def _deltas(self) -> list[dict[str, Any]]:
        cut = self.shape.cut
        deltas: list[dict[str, Any]] = [
            dict.fromkeys(self.reasoning_fields, piece) for piece in cut(self.reasoning or "")
        ]
        deltas += [{"content": piece} for piece in cut(self.text or "")]
        deltas += [{"refusal": piece} for piece in cut(self.refusal or "")]
        deltas += [{"tool_calls": [fragment]} for fragment in self._fragments()]
        return _pair(deltas) if self.shape.shared else deltas

    def _fragments(self) -> list[dict[str, Any]]:
        calls = []
        for index, call in enumerate(self.tool_calls):
            number = {"index": index} if self.shape.numbered else {}
            first, *rest = self.shape.cut(call.arguments) or [""]
            later = [{**number, "function": {"arguments": piece}} for piece in rest]
            calls.append([{**number, **_call(call, first)}, *later])
        if not (self.shape.interleaved and self.shape.numbered):
            return [fragment for call in calls for fragment in call]
        longest = max((len(call) for call in calls), default=0)
        return [call[turn] for turn in range(longest) for call in calls if turn < len(call)]

    def _with_usage(self, chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if self.usage is None or self.error is not None:
            return chunks
        usage = dict(self.usage)
        if self.usage_at == "apart":
            return [*chunks, {**self._head("chat.completion.chunk"), "choices": [], "usage": usage}]
        if self.usage_at == "every":
            begun = {**usage, "completion_tokens": 0, "total_tokens": usage.get("prompt_tokens", 0)}
            chunks = [*({**chunk, "usage": begun} for chunk in chunks[:-1]), chunks[-1]]
        return [*chunks[:-1], {**chunks[-1], "usage": usage}]


def dump(value: Any, *, ascii_only: bool = False) -> str:
    """JSON text, with every character as it is or (as Python servers send it) escaped to ASCII."""
    return json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":"))


def _call(call: UpstreamToolCall, arguments: str) -> dict[str, Any]:
    identity = {} if call.id is None else {"id": call.id}
    return {**identity, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _surrogates(character: str) -> str:
    if ord(character) < 0x10000:
        return character
    high, low = divmod(ord(character) - 0x10000, 0x400)
    return chr(0xD800 + high) + chr(0xDC00 + low)


def _pair(deltas: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join each two neighbours that have no field in common; their order then is the order of their fields."""
    joined: list[dict[str, Any]] = []
    for delta in deltas:
        if joined and not joined[-1].keys() & delta.keys():
            joined[-1] = {**joined[-1], **delta}
        else:
            joined.append(delta)
    return joined
