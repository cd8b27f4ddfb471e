"""A client's reader, written apart from hookline: it takes nothing on trust, neither HTTP nor the events."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import attrs


class BrokenAnswerError(Exception):
    """The answer is not what HTTP allows, or ends before its end."""


@attrs.define
class Answer:
    """One HTTP answer. `first` and `ended` are the loop's times of the first byte and of the last."""

    status: int = 0
    headers: dict[str, str] = attrs.field(factory=dict)
    body: bytes = b""
    raw: bytes = b""
    first: float = 0.0
    ended: float = 0.0

    def json(self) -> Any:
        return json.loads(self.body)


async def read_answer(reader: asyncio.StreamReader) -> Answer:
    """One whole answer. Raises BrokenAnswerError when it is not whole."""
    time = asyncio.get_running_loop().time
    answer = Answer()
    try:
        line = await reader.readuntil(b"\r\n")
        answer.first = time()
        answer.raw = line + await reader.readuntil(b"\r\n\r\n")
        version, status, *_ = line.split(b" ", 2)
        if version != b"HTTP/1.1":
            raise BrokenAnswerError(f"no status line: {line!r}")
        answer.status = int(status)
        for header in answer.raw[len(line) :].rstrip(b"\r\n").split(b"\r\n"):
            name, _, value = header.decode("latin-1").partition(":")
            if name.lower() in answer.headers and name.lower() != "set-cookie":
                raise BrokenAnswerError(f"the header {name} twice")
            answer.headers[name.lower()] = value.strip()
        await _read_body(reader, answer)
    except (asyncio.IncompleteReadError, ConnectionError) as error:
        raise BrokenAnswerError(f"cut off after {answer.raw[-300:]!r} {answer.body[-300:]!r}: {error!r}") from error
    answer.ended = time()
    return answer


async def _read_body(reader: asyncio.StreamReader, answer: Answer) -> None:
    if answer.headers.get("transfer-encoding") == "chunked":
        if "content-length" in answer.headers:
            raise BrokenAnswerError("both chunks and a length")
        while size := int((await reader.readuntil(b"\r\n"))[:-2], 16):
            answer.body += await reader.readexactly(size)
            if await reader.readexactly(2) != b"\r\n":
                raise BrokenAnswerError("a chunk does not end with its line")
        if await reader.readexactly(2) != b"\r\n":
            raise BrokenAnswerError("something follows the last chunk")
    elif "content-length" in answer.headers:
        answer.body = await reader.readexactly(int(answer.headers["content-length"]))
    else:
        raise BrokenAnswerError(f"neither chunks nor a length: {answer.headers}")


@attrs.define
class Stream:
    """What an event stream told."""

    text: str = ""
    thinking: str = ""
    arguments: str = ""
    stop_reason: str = ""
    error: dict[str, Any] | None = None
    request_id: str = ""
    pings: int = 0
    events: list[str] = attrs.field(factory=list)


def read_stream(body: bytes) -> Stream:
    """The events, each rule of the protocol asserted: one start, blocks opened and closed one by one, one end."""
    assert body.endswith(b"\n\n"), f"the stream ends inside an event: {body[-200:]!r}"
    stream = Stream()
    opened: int | None = None
    blocks = 0
    for block in body[:-2].split(b"\n\n"):
        name, data = _event(block)
        assert not stream.events or stream.events[-1] not in ("message_stop", "error"), f"{name} after the end"
        assert bool(stream.events) != (name == "message_start"), f"{name} as event {len(stream.events)}"
        stream.events.append(name)
        if name == "content_block_start":
            assert opened is None
            assert data["index"] == blocks
            opened, blocks = blocks, blocks + 1
        elif name == "content_block_delta":
            assert data["index"] == opened
            delta = data["delta"]
            stream.text += delta.get("text", "")
            stream.thinking += delta.get("thinking", "")
            stream.arguments += delta.get("partial_json", "")
        elif name == "content_block_stop":
            assert data["index"] == opened
            opened = None
        elif name == "message_delta":
            assert opened is None, "message_delta inside a block"
            stream.stop_reason = data["delta"]["stop_reason"]
        elif name == "message_stop":
            assert stream.stop_reason, "message_stop without message_delta"
        elif name == "error":
            assert opened is None, "an error inside an open block"
            assert not stream.stop_reason, "an error after message_delta"
            stream.error, stream.request_id = data["error"], data["request_id"]
        elif name == "ping":
            stream.pings += 1
        else:
            assert name == "message_start", f"an unknown event {name}"
    assert stream.events[-1] in ("message_stop", "error"), f"no end: {stream.events[-3:]}"
    return stream


def _event(block: bytes) -> tuple[str, dict[str, Any]]:
    first, _, second = block.partition(b"\n")
    assert first.startswith(b"event: "), block
    assert second.startswith(b"data: "), block
    assert b"\n" not in second, block
    name, data = first[7:].decode(), json.loads(second[6:])
    assert data["type"] == name
    return name, data
