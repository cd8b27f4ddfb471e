"""The bytes of the stream's events."""

from __future__ import annotations

from typing import Any, Final

from core import HTTPRequest, State, Text, Thinking, ToolUse
from plugins.anthropic.arrange import Piece
from plugins.anthropic.envelope import Headers
from plugins.anthropic.jsontext import dumps

PING: Final = b'event: ping\ndata: {"type":"ping"}\n\n'
END: Final = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'

DELTA_END: Final = b"}}\n\n"

PIECE_TYPES: Final[dict[type[Piece], tuple[bytes, bytes]]] = {
    Text: (b"text_delta", b"text"),
    Thinking: (b"thinking_delta", b"thinking"),
    ToolUse: (b"input_json_delta", b"partial_json"),
}
"""The type of delta that carries a piece, and the field that holds it."""


def event(value: dict[str, Any]) -> bytes:
    """One event, named by the value's type."""
    return b"event: %b\ndata: %b\n\n" % (value["type"].encode(), dumps(value))


def stream_headers(http: HTTPRequest) -> Headers:
    """The headers of an event stream that no proxy on the way may hold back."""
    return (
        (b"content-type", b"text/event-stream; charset=utf-8"),
        (b"cache-control", b"no-cache"),
        (b"x-accel-buffering", b"no"),
        (b"request-id", http.id.encode("latin-1", "replace")),
    )


def delta_prefix(index: int, kind: bytes, field: bytes) -> bytes:
    """A `content_block_delta` up to the string in its `field`; the string's JSON and DELTA_END make it whole."""
    return b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,"delta":{"type":"%b","%b":' % (
        index,
        kind,
        field,
    )


def skeleton(piece: Piece) -> dict[str, Any]:
    """A block as it starts, before its deltas."""
    if isinstance(piece, ToolUse):
        return {"type": "tool_use", "id": piece.id, "name": piece.name, "input": {}}
    if isinstance(piece, (Thinking, State)):
        return {"type": "thinking", "thinking": "", "signature": ""}
    return {"type": "text", "text": ""}
