"""Client bytes to one message, by the accumulation rules of the official clients; every breach is an AssertionError.

Written apart from hookline's own writer, so that it can find it wrong: it reads what clients read and trusts nothing.
"""

from __future__ import annotations

from typing import Any

from core.testing.fold_checks import (
    DELTAS,
    Folded,
    breach,
    check_block,
    check_error,
    check_foreign,
    check_message,
    check_stop,
    check_usage,
    need,
    parse,
    parse_arguments,
)


def fold(body: bytes) -> Folded:
    """Fold a streamed answer; AssertionError says which rule it breaks, and where."""
    need(body, "the stream is empty")
    need(body.endswith(b"\n\n"), f"the stream ends inside an event: …{body[-80:]!r}")
    folder = _Folder()
    for number, event in enumerate(body[:-2].split(b"\n\n")):
        folder.take(*_read_event(event, f"event {number}"))
    return folder.result()


def fold_json(body: bytes) -> Folded:
    """Check an answer that is one JSON body, a message or an error."""
    message = parse(body, "the body")
    check_foreign(message, "the body")
    if message.get("type") == "error":
        return Folded({}, check_error(message, "the body"))
    check_message(message, "the body")
    for number, block in enumerate(message["content"]):
        check_block(block, f"content[{number}]")
    check_stop(message, message["content"], "the body")
    return Folded(message)


def _read_event(event: bytes, place: str) -> tuple[dict[str, Any], str]:
    lines = event.split(b"\n")
    need(b"data: [DONE]" not in lines, f"{place} is [DONE], which belongs to the upstream's protocol")
    shape = [line.partition(b": ")[0] for line in lines]
    need(shape == [b"event", b"data"], f"{place} is not one `event:` and one `data:` line: {event[:200]!r}")
    name = lines[0].removeprefix(b"event: ").decode()
    data = parse(lines[1].removeprefix(b"data: "), place)
    need(data.get("type") == name, f"{place} is named {name!r} but its data has type {data.get('type')!r}")
    check_foreign(data, place)
    return data, f"{place} ({name})"


class _Folder:
    """The state of one folding: the message so far, the open block and what has been seen."""

    def __init__(self) -> None:
        self.message: dict[str, Any] = {}
        self.error: dict[str, Any] | None = None
        self.open: dict[str, Any] | None = None
        self.arguments = ""
        self.signed = False
        self.stopped = False
        self.done = False

    def take(self, event: dict[str, Any], place: str) -> None:
        """One event."""
        need(not self.done, f"{place} comes after the end of the answer")
        kind = event["type"]
        need(bool(self.message) != (kind == "message_start"), f"{place}: message_start must come first, and once")
        step = getattr(self, f"_on_{kind}", None)
        if step is None:
            breach(f"{place} is no event of the protocol")
        step(event, place)

    def result(self) -> Folded:
        """What was folded; the answer must have ended."""
        need(self.done, "the stream ends without message_stop and without error")
        return Folded(self.message, self.error)

    def _on_message_start(self, event: dict[str, Any], place: str) -> None:
        self.message = event["message"]
        check_message(self.message, place)
        need(self.message["content"] == [], f"{place}: content must be []")
        for name in ("stop_reason", "stop_sequence"):
            need(self.message[name] is None, f"{place}: {name} must be null, it is {self.message[name]!r}")

    def _on_ping(self, event: dict[str, Any], place: str) -> None:
        need(event == {"type": "ping"}, f"{place} must hold nothing but its type")

    def _on_content_block_start(self, event: dict[str, Any], place: str) -> None:
        need(self.open is None, f"{place}: the block before is still open")
        need(not self.stopped, f"{place}: a block after message_delta")
        count = len(self.message["content"])
        need(event.get("index") == count, f"{place}: index must be {count}, it is {event.get('index')!r}")
        block = event["content_block"]
        check_block(block, place, start=True)
        self.open, self.arguments, self.signed = block, "", False
        self.message["content"].append(block)

    def _on_content_block_delta(self, event: dict[str, Any], place: str) -> None:
        block = self._block(event, place)
        delta = event["delta"]
        allowed = DELTAS.get(block["type"], ())
        need(delta.get("type") in allowed, f"{place}: {delta.get('type')!r} in a block of type {block['type']!r}")
        need(not self.signed, f"{place}: a delta after the block's signature_delta")
        field = {"input_json_delta": "partial_json"}.get(delta["type"], delta["type"].removesuffix("_delta"))
        value = delta.get(field)
        if not isinstance(value, str):
            breach(f"{place}: {field} must be a string, it is {value!r}")
        if field == "partial_json":
            self.arguments += value
        elif field == "signature":
            block["signature"], self.signed = value, True
        else:
            block[field] += value

    def _on_content_block_stop(self, event: dict[str, Any], place: str) -> None:
        block = self._block(event, place)
        if block["type"] == "thinking":
            need(self.signed, f"{place}: a thinking block closes with a signature_delta")
        if block["type"] == "tool_use":
            block["input"] = parse_arguments(self.arguments)
        check_block(block, place)
        self.open = None

    def _on_message_delta(self, event: dict[str, Any], place: str) -> None:
        need(self.open is None, f"{place}: a block is still open")
        need(not self.stopped, f"{place}: a second message_delta")
        delta = event["delta"]
        check_stop(delta, self.message["content"], place)
        check_usage(event.get("usage"), place, names=("output_tokens",))
        self.message |= delta
        self.message["usage"] |= {name: value for name, value in event["usage"].items() if value is not None}
        self.stopped = True

    def _on_message_stop(self, event: dict[str, Any], place: str) -> None:
        need(event == {"type": "message_stop"}, f"{place} must hold nothing but its type")
        need(self.stopped, f"{place}: no message_delta before it")
        self.done = True

    def _on_error(self, event: dict[str, Any], place: str) -> None:
        need(not self.stopped, f"{place}: an error after message_delta")
        self.error, self.done = check_error(event, place), True
        if self.open is not None and self.open["type"] == "tool_use":
            self.open["input"] = parse_arguments(self.arguments)

    def _block(self, event: dict[str, Any], place: str) -> dict[str, Any]:
        if self.open is None:
            breach(f"{place}: no block is open")
        index = len(self.message["content"]) - 1
        need(event.get("index") == index, f"{place}: index must be {index}, it is {event.get('index')!r}")
        return self.open
