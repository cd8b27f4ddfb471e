"""Faults of a whole answer: error statuses in every engine's words, and answers that are none."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, Final

from tests.faults.fault import CHUNKED, FIRST, SPOKEN, SSE, WHOLE, Fault, completion, framed, reply
from tests.faults.leaks import LEAK
from tests.faults.script import Script, byte_by_byte, close, for_ever, hang, much, pause, reset

_KINDS: Final[dict[str, Any]] = {
    "nested": {"error": {"message": LEAK, "type": "some_error", "param": None, "code": None}},
    "a string": {"error": LEAK},
    "flat": {"object": "error", "message": LEAK, "type": "SomeError", "param": None},
    "detail": {"detail": LEAK},
    "detail in a list": {"detail": [{"loc": ["body", "x"], "msg": LEAK, "type": "t"}]},
    "an array": [{"error": {"message": LEAK, "status": "SOME"}}],
    "tgi": {"error": LEAK, "error_type": "generation"},
    "openrouter": {"error": {"message": "Provider returned error", "metadata": {"raw": LEAK}}},
    "plain text": LEAK.encode(),
    "a message that is an object": {"object": "error", "message": {"detail": LEAK}},
}
_STATUSES: Final = {
    400: 400, 402: 402, 404: 404, 405: 502, 408: 504, 409: 400, 413: 413, 418: 400, 422: 400, 424: 502, 429: 429,
    498: 529, 499: 502, 500: 500, 502: 502, 503: 529, 504: 504, 507: 502, 520: 502, 524: 504, 529: 529,
}  # fmt: skip
_ANSWERABLE: Final = (400, 429, 500, 503)
_HTML: Final = b"<html><head><title>502 Bad Gateway</title></head><body><center>nginx</center></body></html>"
_LATER: Final = format_datetime(datetime.now(UTC) + timedelta(seconds=3000), usegmt=True)


def _status(status: int, body: Any = None) -> Fault:
    told = {"error": {"message": LEAK, "type": "t"}} if body is None else body
    retry = "false" if status == 402 else None
    return Fault(f"{status}", reply(status, told), _STATUSES[status], "GPU", should_retry=retry)


REFUSALS: Final = (
    *map(_status, _STATUSES),
    *(
        Fault(f"{status}, {name}", reply(status, body), _STATUSES[status], "GPU 0 is lost")
        for name, body in _KINDS.items()
        for status in _ANSWERABLE
    ),
    *(Fault(f"{status}, empty", reply(status), _STATUSES[status], str(status)) for status in _ANSWERABLE),
    *(
        Fault(f"{status}, HTML", reply(status, _HTML), _STATUSES[status], "502 Bad Gateway")
        for status in (500, 502, 503)
    ),
    *(
        Fault(f"{status}", reply(status, {"error": {"message": LEAK}}), 502, "credentials", should_retry="false")
        for status in (401, 403)
    ),
    Fault("401, empty", reply(401), 502, "credentials", should_retry="false"),
    Fault("401, a string", reply(401, {"error": "Unauthorized"}), 502, "credentials", should_retry="false"),
    Fault("429, seconds", reply(429, {"error": "slow down"}, "retry-after: 7"), 429, "slow", retry_after="7"),
    Fault(
        "429, a date", reply(429, {"error": "slow down"}, f"Retry-After: {_LATER}"), 429, "slow", retry_after="about"
    ),
    Fault("429, milliseconds", reply(429, {"error": "slow"}, "retry-after-ms: 2500"), 429, "slow", retry_after="3"),
    Fault("429, nonsense", reply(429, {"error": "slow"}, "retry-after: soon"), 429, "slow"),
    Fault("429, a negative", reply(429, {"error": "slow"}, "retry-after: -7"), 429, "slow"),
    Fault("429, not to be tried", reply(429, {"error": "slow"}, "x-should-retry: false"), 429, should_retry="false"),
    Fault("500, to be tried", reply(500, {"error": "oops"}, "x-should-retry: true"), 500, should_retry="true"),
    Fault("503, seconds", reply(503, {"error": "loading"}, "retry-after: 20"), 529, "loading", retry_after="20"),
    Fault("500, seconds", reply(500, {"error": "oops"}, "retry-after: 2"), 500, "oops", retry_after="2"),
    Fault(
        "429, the quota",
        reply(429, {"error": {"message": "no", "code": "insufficient_quota"}}),
        429,
        should_retry="false",
    ),
    Fault(
        "an error body that is cut off", (b'HTTP/1.1 500 No\r\ncontent-length: 99\r\n\r\n{"error": {"mess', close), 500
    ),
    Fault(
        "an error body that is reset", (b'HTTP/1.1 500 No\r\ncontent-length: 99\r\n\r\n{"error": {"mess', reset), 500
    ),
    Fault("an error body without end", (b"HTTP/1.1 503 No\r\n\r\n", for_ever(b"x" * 9999)), 529, "xxx", hangs=True),
    Fault("an error body that never comes", (b"HTTP/1.1 503 No\r\ncontent-length: 9\r\n\r\n", hang), 529, hangs=True),
    Fault(
        "an error body in gzip",
        reply(500, gzip.compress(b'{"error": "zipped"}'), "content-encoding: gzip"),
        500,
        "zipped",
    ),
    Fault("an error body that lies about gzip", reply(500, b'{"error": "no"}', "content-encoding: gzip"), 500),
    Fault("an error body with half a character", reply(500, b'{"error": "GPU \xc3'), 500),
    Fault("an error as an event stream", reply(500, b'data: {"error": {"message": "GPU"}}\n\n'), 500),
    Fault("301", reply(301, b"", "location: http://127.0.0.1:PORT5/v2"), 502),
    Fault("307", reply(307, b"moved", "location: http://127.0.0.1:PORT5/v2"), 502),
    Fault("304", reply(304), 502),
)

_LONG: Final = b"HTTP/1.1 200 OK\r\nx: " + b"y" * 2_000_000 + b"\r\n\r\n"
_JSON: Final = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
_EARLY: Final = b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
_GOOD: Final = framed(WHOLE) + b"0\r\n\r\n"


def _length(length: int, body: bytes, *then: Any) -> Script:
    return _JSON + b"content-length: %d\r\n\r\n" % length + body, *then


def _bytes(value: Any) -> bytes:
    return reply(200, value)[0].partition(b"\r\n\r\n")[2]  # type: ignore[union-attr]


_COMPLETION: Final = _bytes(completion())

ANSWERS: Final = (
    Fault("closed once read", (close,)),
    Fault("reset once read", (reset,)),
    Fault("silence once read", (hang,), 504, "did not begin", backend="quick", hangs=True),
    Fault("half a status line", (b"HTTP/1.1 20", close)),
    Fault("half a status line, then silence", (b"HTTP/1.1 20", hang), 504, backend="quick", hangs=True),
    Fault("half the headers", (b"HTTP/1.1 200 OK\r\ncontent-ty", close)),
    Fault("a bad status line", (b"HELLO 200 OK\r\n\r\n", hang), hangs=True),
    Fault("a status that is no number", (b"HTTP/1.1 abc OK\r\n\r\n", hang), hangs=True),
    Fault("a status of four digits", (b"HTTP/1.1 2000 OK\r\ncontent-length: 0\r\n\r\n", hang), hangs=True),
    Fault("the greeting of another protocol", (b"SSH-2.0-OpenSSH_9.6\r\n", hang), hangs=True),
    Fault("TLS where none is spoken", (b"\x15\x03\x01\x00\x02\x02\x46", close)),
    Fault("a header without colon", (b"HTTP/1.1 200 OK\r\nnothing\r\n\r\n", hang), hangs=True),
    Fault("huge headers", (_LONG, hang), hangs=True),
    Fault("headers without end", (b"HTTP/1.1 200 OK\r\n", for_ever(b"x: " + b"y" * 1000 + b"\r\n")), hangs=True),
    Fault(
        "1xx for ever",
        (for_ever(b"HTTP/1.1 100 Continue\r\n\r\n", 0.01),),
        504,
        backend="quick",
        hangs=True,
        statuses=(502,),
    ),
    Fault("two lengths", (_JSON + b"content-length: 5\r\ncontent-length: 7\r\n\r\n{}", hang), hangs=True),
    Fault("a length that is no number", (_JSON + b"content-length: many\r\n\r\n{}", hang), hangs=True),
    Fault("a length below nothing", (_JSON + b"content-length: -1\r\n\r\n{}", hang), hangs=True),
    Fault("a length too long", _length(len(_COMPLETION) + 5, _COMPLETION, close), 200, text=SPOKEN),
    Fault("a length too long, of a stream", (SSE[:-2] + b"content-length: 9999\r\n\r\n" + FIRST, close), text="Grüße "),
    Fault("a length too short", _length(len(_COMPLETION) - 5, _COMPLETION, close)),
    Fault("a length of nothing", _length(0, b"", close)),
    Fault("half a JSON", _length(len(_COMPLETION), _COMPLETION[:-9], close)),
    Fault("half a JSON, told as whole", reply(200, _COMPLETION[:-9]), said="cut off"),
    Fault(
        "half a JSON, then silence", _length(len(_COMPLETION), _COMPLETION[:-9], hang), 504, backend="quick", hangs=True
    ),
    Fault(
        "half a character",
        reply(200, _COMPLETION[: _COMPLETION.index(b"\\u00fc")].replace(b"Gr", b"Gr\xc3")),
        said="cut off",
    ),
    Fault("HTML", reply(200, _HTML), said="not JSON"),
    Fault("text", reply(200, b"hello")),
    Fault("JSON that is no completion", reply(200, {"hello": 1})),
    Fault("a completion without choices", reply(200, {"choices": []})),
    Fault("a completion without message", reply(200, {"choices": [{"index": 0}]})),
    Fault("a completion that is null", reply(200, b"null")),
    Fault("a very deep completion", reply(200, b"[" * 300_000)),
    Fault(
        "101", (b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n", hang), hangs=True
    ),
    Fault("204", (b"HTTP/1.1 204 No Content\r\n\r\n", close)),
    Fault("200, an error", reply(200, {"error": {"message": LEAK, "code": 429}}), 429, "GPU"),
    Fault("200, an error in words", reply(200, {"error": LEAK}), 502, "GPU"),
    Fault("200, a flat error", reply(200, {"object": "error", "message": LEAK, "code": 503}), 529, "GPU"),
    Fault("200, a detail", reply(200, {"detail": LEAK}), 502, "GPU"),
    Fault("200, an array", reply(200, [{"error": {"message": LEAK, "code": 500}}]), 500, "GPU"),
    Fault(
        "200, the gateway's key",
        reply(200, {"error": {"message": LEAK, "code": 401}}),
        502,
        "credentials",
        should_retry="false",
    ),
    Fault(
        "a body without end",
        (_JSON + b"\r\n", much(b"{" + b" " * 999_999, 70), hang),
        said="body of more than",
        hangs=True,
    ),
    Fault("gzip that is none", reply(200, _COMPLETION, "content-encoding: gzip")),
    Fault("gzip that is cut off", reply(200, gzip.compress(_COMPLETION * 9)[:-20], "content-encoding: gzip")),
    Fault("gzip that is none, of a stream", (SSE[:-2] + b"content-encoding: gzip\r\n\r\n" + WHOLE, close)),
    Fault(
        "an encoding of its own", reply(200, _COMPLETION, "content-encoding: rot13"), 200, text=SPOKEN, statuses=(502,)
    ),
    Fault(
        "a bomb",
        reply(200, gzip.compress(b"{" + b" " * 80_000_000), "content-encoding: gzip"),
        said="body of more than",
    ),
    # What is odd and yet an answer.
    Fault("byte by byte", (byte_by_byte(CHUNKED + _GOOD),), 200, text=SPOKEN),
    Fault("gzip", reply(200, gzip.compress(_COMPLETION), "content-encoding: gzip"), 200, text=SPOKEN),
    Fault("1xx first", (_EARLY + CHUNKED + _GOOD,), 200, text=SPOKEN),
    Fault("a whole completion", reply(200, completion()), 200, text=SPOKEN),
    Fault("a stream told as JSON", (_JSON + b"transfer-encoding: chunked\r\n\r\n" + _GOOD,), 200, text=SPOKEN),
    Fault(
        "blank lines, then JSON",
        _length(len(_COMPLETION) + 4, b"\n\n", pause(0.1), b"\n\n" + _COMPLETION),
        200,
        text=SPOKEN,
    ),
    Fault("trailers", (CHUNKED + framed(WHOLE) + b"0\r\nx-checksum: 1\r\n\r\n",), 200, text=SPOKEN),
    Fault("HTTP/1.0", (b"HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + WHOLE, close), 200, text=SPOKEN),
    Fault("a lower-case head", (b"HTTP/1.1 200\r\nTRANSFER-ENCODING: Chunked\r\n\r\n" + _GOOD,), 200, text=SPOKEN),
)
