"""A fault: a script for the upstream, and what the client must then get."""

from __future__ import annotations

import json
from typing import Any, Final

import attrs

from tests.faults.client import STOP
from tests.faults.script import Script, close

TYPES: Final = {
    400: "invalid_request_error",
    402: "billing_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    502: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
SSE: Final = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
"""The head of a stream that ends with its connection."""
CHUNKED: Final = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
DONE: Final = b"data: [DONE]\n\n"
HELD: Final = STOP[:-1]
SPOKEN: Final = "Grüße " + HELD
"""What was said before the fault: its end is the beginning of the stop sequence, and so is held back by the gateway."""


def chunk(**delta: Any) -> bytes:
    """One chunk of a completion, as an event."""
    return event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})


def event(value: Any) -> bytes:
    """Any value as an event."""
    return b"data: %b\n\n" % json.dumps(value, ensure_ascii=False).encode()


def framed(data: bytes) -> bytes:
    """Bytes as one chunk of HTTP."""
    return b"%x\r\n%b\r\n" % (len(data), data)


FIRST: Final = chunk(content="Grüße ")
SAY: Final = chunk(role="assistant", content="Grüße ") + chunk(content=HELD)
FINISH: Final = event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
WHOLE: Final = SAY + FINISH + DONE


@attrs.frozen
class Fault:
    """`status` is the truth about it: the HTTP status while nothing was sent, else that of the error event.

    `text` was said before it; `said` must be in the error's message. 200 is a fault that is none for the client.
    """

    name: str
    script: Script
    status: int = 502
    said: str = ""
    text: str = ""
    backend: str = "up"
    hangs: bool = False
    """The script leaves the connection open: the gateway must close it."""
    retry_after: str | None = None
    should_retry: str | None = None
    begun: bool = False
    """The client was given something before the fault, so that an event must tell it; with `text` it always is."""
    thinking: str = ""
    arguments: str = ""
    size: int = 0
    """Bytes of the prompt beyond the small one."""
    statuses: tuple[int, ...] = ()
    """Other statuses that are true, too, where it is a race."""

    def __str__(self) -> str:
        return self.name


def reply(status: int, body: bytes | Any = b"", *headers: str) -> Script:
    """A whole answer with a length, then the end of the connection."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Whatever", f"content-length: {len(data)}", "connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode() + data, close


def completion(text: str = SPOKEN, **more: Any) -> dict[str, Any]:
    """A whole completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop", **more}
    return {"id": "c", "object": "chat.completion", "choices": [choice]}
