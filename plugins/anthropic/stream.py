"""Deltas -> a Message as server-sent events."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from core import Delta, GatewayError, HTTPRequest, Request, State, Stop, Text, Thinking, ToolUse
from plugins.anthropic.arrange import Arranger, Piece, kind_of, opens_block
from plugins.anthropic.envelope import Headers, error_headers, error_value
from plugins.anthropic.events import DELTA_END, END, PIECE_TYPES, PING, delta_prefix, event, skeleton, stream_headers
from plugins.anthropic.jsontext import dumps
from plugins.anthropic.message import arranger, message_value, omits_thinking
from plugins.anthropic.seal import Seal
from plugins.anthropic.thought import Thought
from plugins.anthropic.usage import UsageCount


@attrs.define(eq=False)
class _OpenBlock:
    """The block that is being written. `prefix` is what each of its deltas begins with, up to the string."""

    kind: type[Piece]
    index: int
    prefix: bytes
    thought: Thought = attrs.field(factory=Thought)
    silent: bool = True  # no delta was written yet


@attrs.define(eq=False)
class StreamAnswer:
    """The answer to a message request that streams."""

    http: HTTPRequest
    request: Request
    seal: Seal = attrs.field(kw_only=True)
    cache_usage: bool = attrs.field(kw_only=True, default=False)
    status: int = attrs.field(init=False, default=200)
    headers: Headers = attrs.field(init=False)
    _started: bool = attrs.field(init=False, default=False)
    _blocks: int = attrs.field(init=False, default=0)
    _open: _OpenBlock | None = attrs.field(init=False, default=None)
    _omit_thinking: bool = attrs.field(init=False)
    _arranger: Arranger = attrs.field(init=False)
    _usage: UsageCount = attrs.field(init=False)
    _stop: Stop | None = attrs.field(init=False, default=None)

    @headers.default
    def _stream(self) -> Headers:
        return stream_headers(self.http)

    @_omit_thinking.default
    def _omitted(self) -> bool:
        return omits_thinking(self.request)

    @_arranger.default
    def _arranged(self) -> Arranger:
        return arranger(self.request)

    @_usage.default
    def _counted(self) -> UsageCount:
        return UsageCount(self.request, self.cache_usage)

    def feed(self, deltas: Sequence[Delta]) -> bytes:
        """The events that the deltas make; usage and stop wait for the end."""
        out: list[bytes] = []
        arranged = self._arranger.feed(deltas)
        for delta in arranged:
            self._usage.add(delta)  # all before any is written: the message's start tells what is known by now
        for delta in arranged:
            if isinstance(delta, (Text, Thinking, ToolUse, State)):
                self._write(delta, out)
            elif isinstance(delta, Stop):
                self._stop = delta
        return b"".join(out)

    def ping(self) -> bytes:
        """A `ping`, after the start of the message."""
        out: list[bytes] = []
        self._start(out)
        return b"".join((*out, PING))

    def finish(self) -> bytes:
        """The end of the open block and of the message. Raises RuntimeError when no Stop was fed."""
        if self._stop is None:
            raise RuntimeError("finish() without a Stop")
        out: list[bytes] = []
        self._start(out)
        for state in self._arranger.end():
            self._write(state, out)
        self._close(out)
        delta = {"stop_reason": self._stop.reason, "stop_sequence": self._stop.sequence}
        out.append(event({"type": "message_delta", "delta": delta, "usage": self._usage.final()}))
        out.append(END)
        return b"".join(out)

    def fail(self, error: GatewayError) -> bytes:
        """The envelope with its status while nothing was sent; else an `error` event, which is the last."""
        if not self._started:
            self.status = error.status
            self.headers = error_headers(self.http, error)
            return dumps(error_value(self.http, error))
        out: list[bytes] = []
        self._close(out, whole=False)
        out.append(event(error_value(self.http, error)))
        return b"".join(out)

    def _start(self, out: list[bytes]) -> None:
        if not self._started:
            self._started = True
            message = message_value(self.request.model, [], None, self._usage.begun())
            out.append(event({"type": "message_start", "message": message}))

    def _write(self, piece: Piece, out: list[bytes]) -> None:
        block = self._open
        if opens_block(piece, block.kind if block else None) or block is None:
            block = self._begin(piece, out)
        if isinstance(piece, Text):
            text = piece.text
        elif isinstance(piece, ToolUse):
            text = piece.arguments
        else:
            block.thought.add(piece)
            text = "" if self._omit_thinking or isinstance(piece, State) else piece.text
        if text:
            block.silent = False
            out += (block.prefix, dumps(text), DELTA_END)

    def _begin(self, piece: Piece, out: list[bytes]) -> _OpenBlock:
        self._start(out)
        self._close(out)
        index, self._blocks = self._blocks, self._blocks + 1
        out.append(event({"type": "content_block_start", "index": index, "content_block": skeleton(piece)}))
        kind = kind_of(piece)
        self._open = _OpenBlock(kind, index, delta_prefix(index, *PIECE_TYPES[kind]))
        return self._open

    def _close(self, out: list[bytes], *, whole: bool = True) -> None:
        """End the open block; one that is not whole gets nothing that the model did not write."""
        block, self._open = self._open, None
        if block is None:
            return
        if block.kind is Thinking:
            prefix = delta_prefix(block.index, b"signature_delta", b"signature")
            signature = block.thought.signature(self.seal, omitted=self._omit_thinking)
            out += (prefix, dumps(signature), DELTA_END)
        elif block.kind is ToolUse and block.silent and whole:
            out += (block.prefix, b'"{}"', DELTA_END)
        out.append(event({"type": "content_block_stop", "index": block.index}))
