"""The upstream: chat completions on raw sockets, each request answered, well or badly, as its plan says."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import socket
import struct
from contextlib import suppress
from typing import Any, Final

from tests.soak.plan import BROKEN, Piece, Plan, pieces_of, plan_of

REFUSALS: Final = {
    "429": ("Too Many Requests", {"error": {"message": "slow down", "type": "rate_limit_error", "code": 429}}),
    "500": ("Internal Server Error", {"error": {"message": "the engine broke", "type": "server_error"}}),
    "503": ("Service Unavailable", {"detail": "the model is loading"}),
}
ERROR: Final = {"error": {"message": "the engine broke", "type": "server_error", "code": 500}}
USAGE: Final = {"prompt_tokens": 7, "completion_tokens": 9, "total_tokens": 16}
NAMES: Final = {"thinking": "reasoning_content", "text": "content"}


class LeftError(Exception):
    """The gateway has left, or the plan wants the connection's end."""


class Upstream:
    """Listens on one port. `open` are its connections, `busy` those with a request, `first` when each plan's first
    piece was sent (the loop's time), `began` the plans whose request came."""

    def __init__(self) -> None:
        self.port = 0
        self.served = 0
        self.open: set[asyncio.StreamWriter] = set()
        self.busy: set[asyncio.StreamWriter] = set()
        self.first: dict[str, float] = {}
        self.began: set[str] = set()
        self.most = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def listen(self) -> None:
        """Begin."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, backlog=2048)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """End, with all that runs."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def forget(self, plan: Plan) -> None:
        """Nobody will ask for this plan any more."""
        self.first.pop(plan.id, None)
        self.began.discard(plan.id)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open.add(writer)
        self.most = max(self.most, len(self.open))
        try:
            while True:
                plan, request = await _read(reader)
                self.busy.add(writer)
                self.began.add(plan.id)
                await _Exchange(self, plan, reader, writer).answer(stream=bool(request.get("stream")))
                self.busy.discard(writer)
                self.served += 1
        except (LeftError, OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.busy.discard(writer)
            self.open.discard(writer)
            writer.transport.abort()


async def _read(reader: asyncio.StreamReader) -> tuple[Plan, dict[str, Any]]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    request: dict[str, Any] = json.loads(await reader.readexactly(length))
    return plan_of(request), request


class _Exchange:
    """One request on one connection."""

    def __init__(
        self, upstream: Upstream, plan: Plan, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._upstream = upstream
        self._plan = plan
        self._reader = reader
        self._writer = writer
        self._dice = random.Random(plan.seed + 2)

    async def answer(self, *, stream: bool) -> None:
        """Do what the plan says. Raises LeftError when the connection is of no use any more."""
        plan = self._plan
        if plan.kind in REFUSALS:
            reason, body = REFUSALS[plan.kind]
            await self._pause(plan.seconds / 8)
            await self._send(_whole(f"{plan.kind} {reason}", body))
        elif plan.kind == "hangup":
            await self._pause(plan.seconds / 8)
            raise LeftError
        elif stream:
            await self._stream()
        else:
            await self._complete()

    async def _stream(self) -> None:
        plan, pieces = self._plan, pieces_of(self._plan)
        at = plan.broken_at
        events = [_chunk(_delta(piece, plan)) for piece in pieces[:at]]
        if at is None:
            events += [_finish(plan), _event({"choices": [], "usage": USAGE}), b"data: [DONE]\n\n"]
        await self._send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        sent = _cut(b"".join(events), self._dice) if plan.kind == "dribble" else events
        if plan.kind in ("burst", "large", "silence"):
            # One that falls silent shall do so at its fault, not before.
            await self._pause(0 if plan.kind == "silence" else plan.seconds / 4)
            sent = [b"".join(sent)] if sent else []
        for number, data in enumerate(sent):
            # Of bytes that are cut anywhere the first are no piece yet.
            if number == 0 and events and plan.kind != "dribble":
                self._upstream.first[plan.id] = asyncio.get_running_loop().time()
            await self._send(_framed(data))
            await self._pause(plan.seconds / (len(sent) + 1))
        if at is not None:
            await self._break({"half": _framed(b'data: {"choices": [{"delta": {"con'), "error": _framed(_event(ERROR))})
        await self._send(b"0\r\n\r\n")

    async def _complete(self) -> None:
        plan = self._plan
        if plan.kind == "error":
            await self._send(_whole("200 OK", ERROR))
            return
        data = _whole("200 OK", _completion(plan))
        await self._pause(0 if plan.kind == "silence" else plan.seconds / 2)
        if plan.kind in BROKEN:
            await self._send(data[: self._dice.randrange(len(data))])
            await self._break({})
        for part in _cut(data, self._dice) if plan.kind == "dribble" else [data]:
            await self._send(part)
            await self._pause(0.01)

    async def _break(self, last_words: dict[str, bytes]) -> None:
        """The fault in the middle; after an error object the stream ends in order."""
        kind = self._plan.kind
        await self._send(last_words.get(kind, b""))
        if kind == "error" and last_words:
            return
        if kind == "reset":
            sock = self._writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif kind == "silence":
            with suppress(OSError):
                while await self._reader.read(4096):
                    pass
        else:
            self._writer.close()
            await self._writer.wait_closed()
        raise LeftError

    async def _send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds * self._dice.uniform(0.5, 1.5))
        if self._reader.at_eof() or self._writer.transport.is_closing():
            raise LeftError


def _delta(piece: Piece, plan: Plan) -> dict[str, Any]:
    if piece.field != "arguments":
        return {NAMES[piece.field]: piece.said}
    call: dict[str, Any] = {"index": 0, "function": {"arguments": piece.said}}
    if piece.said.startswith('{"said": "'):
        call |= {"id": f"call_{plan.id}", "type": "function"}
        call["function"]["name"] = "f"
    return {"tool_calls": [call]}


def _chunk(delta: dict[str, Any]) -> bytes:
    return _event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})


def _finish(plan: Plan) -> bytes:
    return _event({"choices": [{"index": 0, "delta": {}, "finish_reason": _reason(plan)}]})


def _reason(plan: Plan) -> str:
    return "tool_calls" if plan.content == "tool" else "stop"


def _event(value: Any) -> bytes:
    return b"data: %b\n\n" % json.dumps(value, ensure_ascii=False).encode()


def _framed(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _whole(status: str, value: Any) -> bytes:
    body = json.dumps(value, ensure_ascii=False).encode()
    return f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


def _completion(plan: Plan) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant"}
    pieces = pieces_of(plan)
    for field, name in NAMES.items():
        message[name] = "".join(piece.said for piece in pieces if piece.field == field)
    if arguments := "".join(piece.said for piece in pieces if piece.field == "arguments"):
        function = {"name": "f", "arguments": arguments}
        message["tool_calls"] = [{"id": f"call_{plan.id}", "type": "function", "function": function}]
    return {"choices": [{"index": 0, "message": message, "finish_reason": _reason(plan)}], "usage": USAGE}


def _cut(data: bytes, dice: random.Random) -> list[bytes]:
    """The bytes in some twenty pieces, cut anywhere."""
    places = sorted({0, len(data), *(dice.randrange(len(data) + 1) for _ in range(20))})
    return [data[start:end] for start, end in itertools.pairwise(places)]
