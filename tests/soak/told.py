"""What a client is told, event by event: each rule of the protocol is held, and nothing is kept but what was said."""

from __future__ import annotations

import json
from typing import Any, Final

import attrs

FIELDS: Final = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("arguments", "partial_json"),
    "signature_delta": ("signature", "signature"),
}


class WrongError(Exception):
    """The answer breaks a rule; the text says which."""


def need(holds: object, sentence: str) -> None:
    """Raise WrongError with that sentence unless it holds."""
    if not holds:
        raise WrongError(sentence)


@attrs.define
class Told:
    """A stream so far. `ended` once its last event has come."""

    stop_reason: str = ""
    error: dict[str, Any] | None = None
    request_id: str = ""
    pings: int = 0
    ended: bool = False
    _rest: bytes = b""
    _said: dict[str, list[str]] = attrs.field(factory=dict)
    _begun: bool = False
    _open: int | None = None
    _blocks: int = 0

    @property
    def said(self) -> dict[str, str]:
        """All that was said, by field."""
        return {field: "".join(self._said.get(field, ())) for field in ("thinking", "text", "arguments")}

    def feed(self, data: bytes) -> bool:
        """The next bytes of the body; whether anything was said in them. Raises WrongError."""
        before = sum(map(len, self._said.values()))
        *events, self._rest = (self._rest + data).split(b"\n\n")
        for event in events:
            self._take(event)
        return sum(map(len, self._said.values())) > before

    def finish(self) -> None:
        """The body has ended in order. Raises WrongError when the stream has not."""
        need(not self._rest, f"the body ends inside an event: {self._rest[-100:]!r}")
        need(self.ended, "the body ends without message_stop and without error")

    def _take(self, event: bytes) -> None:
        first, _, second = event.partition(b"\n")
        need(first.startswith(b"event: ") and second.startswith(b"data: "), f"no event: {event[:100]!r}")
        name, data = first[7:].decode(), json.loads(second[6:])
        need(data["type"] == name, f"{name} has the type {data['type']}")
        need(not self.ended, f"{name} after the end")
        need(self._begun != (name == "message_start"), f"{name} where the other was due")
        need(not self.stop_reason or name in ("message_stop", "ping"), f"{name} after message_delta")
        self._begun = True
        step = getattr(self, f"_on_{name}", None)
        if step is None:
            raise WrongError(f"an unknown event {name}")
        step(data)

    def _on_message_start(self, data: dict[str, Any]) -> None:
        need(data["message"]["content"] == [], "the message starts with content")

    def _on_ping(self, data: dict[str, Any]) -> None:
        self.pings += 1

    def _on_content_block_start(self, data: dict[str, Any]) -> None:
        need(self._open is None and data["index"] == self._blocks, f"block {data['index']} in block {self._open}")
        self._open, self._blocks = self._blocks, self._blocks + 1

    def _on_content_block_delta(self, data: dict[str, Any]) -> None:
        need(data["index"] == self._open, f"a delta for block {data['index']} in block {self._open}")
        field, name = FIELDS[data["delta"]["type"]]
        self._said.setdefault(field, []).append(data["delta"][name])

    def _on_content_block_stop(self, data: dict[str, Any]) -> None:
        need(data["index"] == self._open, f"block {data['index']} stops in block {self._open}")
        self._open = None

    def _on_message_delta(self, data: dict[str, Any]) -> None:
        need(self._open is None, "message_delta in an open block")
        self.stop_reason = data["delta"]["stop_reason"]
        need(self.stop_reason, "message_delta without a reason")

    def _on_message_stop(self, data: dict[str, Any]) -> None:
        need(self.stop_reason, "message_stop without message_delta")
        self.ended = True

    def _on_error(self, data: dict[str, Any]) -> None:
        need(self._open is None, "an error in an open block")
        self.error, self.request_id, self.ended = data["error"], data["request_id"], True
