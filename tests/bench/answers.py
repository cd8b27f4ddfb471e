"""What the scripted upstream says: vLLM's shapes, as bytes made beforehand.

A model's name is `small`, or `text-N` or `tool-N` for a stream of N chunks, or `slow` for one without end. `text-N-M` is a
stream with M milliseconds between its writes.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import orjson

FIRST: Final = "Zebra"
"""In the first piece of every answer that has text or arguments."""

LAST: Final = "Omega"
"""In its last piece."""

STAMP: Final = b" t="
"""Before the time, in microseconds of the monotonic clock with 16 digits, in each chunk of a slow stream."""

_ID: Final = {"id": "chatcmpl-9a0c3b1f4d5e6f70", "created": 1790000000}
_JSON_HEAD: Final = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
STREAM_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
)
STREAM_END: Final = b"0\r\n\r\n"
_SLOW: Final = "@@@@"


@cache
def whole(model: str) -> bytes:
    """The HTTP answer of one piece."""
    message = {"role": "assistant", "content": f"{FIRST} crossing, blue light scattered. {LAST}", "refusal": None}
    choice = {"index": 0, "message": {**message, "reasoning": None}, "logprobs": None, "finish_reason": "stop"}
    usage = {"prompt_tokens": 15, "total_tokens": 69, "completion_tokens": 54, "prompt_tokens_details": None}
    choice |= {"stop_reason": None, "token_ids": None}
    body = orjson.dumps({**_ID, "object": "chat.completion", "model": model, "choices": [choice], "usage": usage})
    return _JSON_HEAD % (len(body), body)


@cache
def stream(model: str, per_write: int = 1) -> tuple[bytes, ...]:
    """The writes of an HTTP answer that streams: the head with the first chunk, then `per_write` chunks each."""
    kind, count = model.split("-")[:2]
    chunks = [_chunk(model, {"role": "assistant", "content": ""})]
    chunks += [_chunk(model, delta) for delta in (_tool if kind == "tool" else _text)(int(count))]
    chunks += [_chunk(model, {}, "tool_calls" if kind == "tool" else "stop"), _usage(model), _framed(b"[DONE]")]
    writes = [b"".join(chunks[at : at + per_write]) for at in range(0, len(chunks), per_write)]
    return (STREAM_HEAD + writes[0], *writes[1:-1], writes[-1] + STREAM_END)


def pause(model: str) -> float:
    """Seconds between the writes of a stream."""
    return int((*model.split("-"), "0", "0")[2]) / 1000


@cache
def slow_parts(model: str) -> tuple[bytes, bytes, bytes]:
    """A stream's beginning, and what stands before and after the 16 digits of each later chunk."""
    before, after = _chunk(model, {"content": f"word{STAMP.decode()}{_SLOW * 4}"}).split(_SLOW.encode() * 4)
    return STREAM_HEAD + _chunk(model, {"role": "assistant", "content": ""}), before, after


def _text(count: int) -> list[dict[str, Any]]:
    """Pieces of text, the first half of it thinking in tags."""
    words = [" the", " light", " of", " short", " waves", " is", " scattered", ",", "\n", " more"]
    pieces = [words[number % len(words)] for number in range(count)]
    pieces[0], pieces[1], pieces[count // 2], pieces[-1] = "<think>", f"{FIRST} ", "</think>", f" {LAST}"
    return [{"content": piece} for piece in pieces]


def _tool(count: int) -> list[dict[str, Any]]:
    """Pieces of one call's arguments; the first chunk names the tool."""
    pieces = ['{"', "text", '":', f' "{FIRST}', *([" word", "\\n", " more", "_x", "(1)"] * count)][: count - 3]
    pieces += [f" {LAST}", '"}']
    call = {"id": "chatcmpl-tool-8a1f", "type": "function", "index": 0}
    first = {"content": None, "tool_calls": [{**call, "function": {"name": "write", "arguments": ""}}]}
    return [first, *({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces)]


def _chunk(model: str, delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    choice |= {"stop_reason": None, "token_ids": None} if finish else {"token_ids": None}
    return _framed(orjson.dumps({**_ID, "object": "chat.completion.chunk", "model": model, "choices": [choice]}))


def _usage(model: str) -> bytes:
    usage = {"prompt_tokens": 15, "total_tokens": 215, "completion_tokens": 200}
    return _framed(
        orjson.dumps({**_ID, "object": "chat.completion.chunk", "model": model, "choices": [], "usage": usage})
    )


def _framed(data: bytes) -> bytes:
    """A server-sent event as one piece of a chunked body."""
    event = b"data: %b\n\n" % data
    return b"%x\r\n%b\r\n" % (len(event), event)
