"""What these tests share: requests to answer, and a strict client's way of putting a stream together."""

from __future__ import annotations

from typing import Any

import attrs
import orjson

from core import HTTPRequest, Request
from plugins.anthropic.message import tool_input
from plugins.anthropic.seal import Seal

SEAL = Seal(b"k" * 32)
HTTP = HTTPRequest("POST", "/messages", mount="/v1", id="req_1")
REQUEST = Request("message", model="the-model", max_tokens=10)

FIELDS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("thinking", "signature"),
    "input_json_delta": ("tool_use", "partial_json"),
}


def events(data: bytes) -> list[dict[str, Any]]:
    """The data of each event; its `event:` line must say the same type."""
    found = []
    assert data == b"" or data.endswith(b"\n\n")
    for text in data.split(b"\n\n")[:-1]:
        name, line = text.split(b"\n")
        assert name.startswith(b"event: ")
        assert line.startswith(b"data: ")
        value = orjson.loads(line.removeprefix(b"data: "))
        assert value["type"] == name.removeprefix(b"event: ").decode()
        found.append(value)
    return found


@attrs.define
class Folder:
    """Puts a stream's events together."""

    message: dict[str, Any] = attrs.field(factory=dict)
    open: int | None = None
    error: dict[str, Any] | None = None
    ended: bool = False

    def take(self, event: dict[str, Any]) -> None:
        assert not self.ended
        assert self.error is None
        getattr(self, f"on_{event['type']}")(event)

    def on_message_start(self, event: dict[str, Any]) -> None:
        assert not self.message
        self.message = event["message"]
        assert self.message["content"] == []

    def on_ping(self, event: dict[str, Any]) -> None:
        assert self.message
        assert event == {"type": "ping"}

    def on_content_block_start(self, event: dict[str, Any]) -> None:
        assert self.open is None
        assert event["index"] == len(self.message["content"])
        self.open = event["index"]
        block = event["content_block"]
        if block["type"] == "tool_use":
            assert block.pop("input") == {}
            block["partial_json"] = None
        self.message["content"].append(block)

    def on_content_block_delta(self, event: dict[str, Any]) -> None:
        assert event["index"] == self.open
        block, delta = self.message["content"][-1], event["delta"]
        kind, field = FIELDS[delta["type"]]
        assert block["type"] == kind
        assert not block.get("signature")
        block[field] = (block[field] or "") + delta[field]

    def on_content_block_stop(self, event: dict[str, Any]) -> None:
        assert event["index"] == self.open
        self.open = None

    def on_message_delta(self, event: dict[str, Any]) -> None:
        assert self.open is None
        assert self.message["stop_reason"] is None
        self.message |= event["delta"]
        self.message["usage"] |= event["usage"]

    def on_message_stop(self, event: dict[str, Any]) -> None:
        assert self.message["stop_reason"]
        self.ended = True

    def on_error(self, event: dict[str, Any]) -> None:
        assert self.open is None
        self.error = event


def fold(data: bytes) -> dict[str, Any]:
    """The message of a whole, well-ended stream."""
    folder = Folder()
    for event in events(data):
        folder.take(event)
    assert folder.ended
    for block in folder.message["content"]:
        if block["type"] == "tool_use":
            value = tool_input(block.pop("partial_json"))
            block["input"] = orjson.loads(orjson.dumps(value))
        elif block["type"] == "thinking":
            assert block["signature"]
    return folder.message
