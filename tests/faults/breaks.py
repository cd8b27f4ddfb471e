"""Faults in the middle of an answer: each before the first piece of it, and after."""

from __future__ import annotations

from typing import Final

import attrs

from tests.faults.fault import CHUNKED, DONE, FINISH, SAY, SPOKEN, SSE, Fault, chunk, event, framed
from tests.faults.leaks import LEAK
from tests.faults.script import Script, close, for_ever, hang, much, reset

EMPTY: Final = event({"choices": [{"index": 0, "delta": {}, "finish_reason": None}]})


@attrs.frozen
class Break:
    """How a stream breaks; `chunked` puts it, as it is, into a stream with chunked framing."""

    name: str
    script: Script
    status: int = 502
    said: str = ""
    chunked: bool = False
    backend: str = "up"
    hangs: bool = False
    before: tuple[int, str] | None = None
    """Status and words where it comes before the first piece, if others."""


BREAKS: Final = (
    Break("close", (close,), said="broke off"),
    Break("close inside chunked framing", (close,), chunked=True),
    Break("reset", (reset,)),
    Break("reset inside chunked framing", (reset,), chunked=True),
    Break("the end of chunked framing", (framed(b"")[:3] + b"\r\n", close), chunked=True, said="broke off"),
    Break("half a JSON", (b'data: {"choices": [{"index": 0, "delta": {"con', close)),
    Break("half a JSON, then its blank line", (b'data: {"choices": [{"ind\n\n', hang), hangs=True),
    Break("half a UTF-8 character", (b'data: {"choices": [{"delta": {"content": "\xc3', close)),
    Break("half an event's name", (b"da", close)),
    Break("garbage for a chunk's size", (b"zz\r\nnothing\r\n", hang), chunked=True, hangs=True),
    Break("a chunk that is longer than its size", (b"3\r\nabcdef\r\n", hang), chunked=True, hangs=True),
    Break("a chunk that is cut off", (b"ffff\r\ndata: ", close), chunked=True),
    Break("a chunk's size that is huge", (b"f" * 20 + b"\r\n", hang), chunked=True, hangs=True),
    Break("silence", (hang,), 504, "silent for 1 ", backend="quick", hangs=True, before=(504, "did not begin")),
    Break(
        "keep-alive comments for ever",
        (for_ever(b": keep-alive\n\n", 0.05),),
        504,
        "silent for 1 ",
        backend="quick",
        hangs=True,
        before=(504, "did not begin"),
    ),
    Break(
        "chunks of nothing for ever",
        (for_ever(EMPTY, 0.05),),
        504,
        "not complete after 5 seconds",
        backend="quick",
        hangs=True,
        before=(504, "did not begin"),
    ),
    Break(
        "chunks of nothing, as fast as can be",
        (for_ever(EMPTY * 100),),
        504,
        "not complete after 5 seconds",
        backend="quick",
        hangs=True,
        before=(504, "did not begin"),
    ),
    Break(
        "an error object", (event({"error": {"message": LEAK, "type": "server_error"}}), hang), hangs=True, said="GPU"
    ),
    Break("an error with a status", (event({"error": {"message": LEAK, "code": 503}}), DONE, close), 529, "GPU"),
    Break("a flat error", (event({"object": "error", "message": LEAK, "code": 400}), close), 400, "GPU"),
    Break("an error that is a string", (event({"error": LEAK}), close), said="GPU"),
    Break("a detail", (event({"detail": LEAK}), close), said="GPU"),
    Break("an array of errors", (event([{"error": {"message": LEAK, "code": 429}}]), close), 429, "GPU"),
    Break("an event named error", (b"event: error\n" + event({"message": LEAK}), close), said="GPU"),
    Break("an event named error, in words", (b"event: error\ndata: GPU is lost\n\n", close), said="GPU is lost"),
    Break(
        "an error beside choices", (event({"error": {"message": LEAK, "code": 502}, "choices": []}), close), said="GPU"
    ),
    Break(
        "finish_reason error",
        (event({"choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]}), DONE, hang),
        hangs=True,
    ),
    Break("finish_reason abort", (event({"choices": [{"index": 0, "delta": {}, "finish_reason": "abort"}]}), close)),
    Break("an event that is not JSON", (b"data: <html>502</html>\n\n", hang), hangs=True),
    Break("an event that is an array", (b"data: [1, 2]\n\n", hang), hangs=True),
    Break("an event that is null, then close", (b"data: null\n\n", close)),
    Break("a very deep JSON", (b"data: " + b"[" * 200_000 + b"\n\n", hang), hangs=True),
    Break(
        "another choice alone", (event({"choices": [{"index": 1, "delta": {"content": "x"}}]}), close), said="broke off"
    ),
    Break(
        "choices of a wrong type",
        (event({"choices": {"a": 1}}), event({"choices": [1, None]}), close),
        said="broke off",
    ),
    Break("delta of a wrong type", (event({"choices": [{"index": 0, "delta": [1], "finish_reason": None}]}), close)),
    Break("NUL bytes", (b"\0" * 1000, close)),
    Break(
        "an event without end", (much(b"data: " + b"x" * 1_000_000, 68), hang), said="event of more than", hangs=True
    ),
)


def faults() -> list[Fault]:
    """Each break before the first piece and after it; and after the first piece of a tool call."""
    made = []
    for kind in BREAKS:
        head = CHUNKED if kind.chunked else SSE
        said = framed(SAY) if kind.chunked else SAY
        status, words = kind.before or (kind.status, kind.said)
        first = Fault(f"{kind.name}, before", (head, *kind.script), status, words, "", kind.backend, kind.hangs)
        later = (head, said, *kind.script)
        made += [first, Fault(f"{kind.name}, after", later, kind.status, kind.said, SPOKEN, kind.backend, kind.hangs)]
    return [*made, *_IN_A_CALL]


_CALL: Final = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a": "b'}}
_CALLED: Final = chunk(tool_calls=[_CALL])
_THOUGHT: Final = chunk(reasoning_content="Hm")
_IN_A_CALL: Final = (
    Fault("close, in a call", (SSE, _CALLED, close), 502, "broke off", begun=True, arguments='{"a": "b'),
    Fault("reset, in a call", (SSE, _CALLED, reset), 502, begun=True, arguments='{"a": "b'),
    Fault("close, in thinking", (SSE, _THOUGHT, close), 502, "broke off", begun=True, thinking="Hm"),
    Fault("silence, in thinking", (SSE, _THOUGHT, hang), 504, backend="quick", hangs=True, begun=True, thinking="Hm"),
    Fault(
        "silence for longer than life is shown",
        (SSE, hang),
        504,
        "did not begin",
        backend="patient",
        hangs=True,
        begun=True,
    ),
)

UNENDED: Final = (
    # An end without its reason, in every way in which an engine may say that it is one.
    Fault("[DONE] without finish_reason", (SSE, SAY, DONE, close), 200, text=SPOKEN),
    Fault("finish_reason, then close", (SSE, SAY, FINISH, close), 200, text=SPOKEN),
    Fault("finish_reason, then reset", (SSE, SAY, FINISH, reset), 200, text=SPOKEN),
    Fault("finish_reason, then silence", (SSE, SAY, FINISH, hang), 200, text=SPOKEN, hangs=True),
    Fault(
        "finish_reason, then silence for half of its limit",
        (SSE, SAY, FINISH, hang),
        200,
        text=SPOKEN,
        hangs=True,
        backend="patient",
    ),
    Fault("finish_reason, then half a JSON", (SSE, SAY, FINISH, b'data: {"us', close), 200, text=SPOKEN),
    Fault("finish_reason, then comments", (SSE, SAY, FINISH, for_ever(b": hi\n\n", 0.1)), 200, text=SPOKEN, hangs=True),
    Fault("two finish_reasons", (SSE, SAY, FINISH, FINISH, DONE, close), 200, text=SPOKEN),
    Fault(
        "an error after finish_reason",
        (SSE, SAY, FINISH, event({"error": {"message": LEAK}}), close),
        502,
        "GPU",
        SPOKEN,
    ),
    Fault("text after the end", (SSE, SAY, FINISH, DONE, SAY, hang), 200, text=SPOKEN, hangs=True),
    Fault("[DONE], then silence", (CHUNKED, framed(SAY + FINISH + DONE), hang), 200, text=SPOKEN, hangs=True),
    Fault(
        "[DONE], then garbage", (CHUNKED, framed(SAY + FINISH + DONE), b"zz\r\n", hang), 200, text=SPOKEN, hangs=True
    ),
    Fault("an answer of nothing", (SSE, FINISH, DONE, close), 200),
    Fault("only [DONE]", (SSE, DONE, close), 200),
    Fault("nothing at all", (SSE, close), 502, "broke off"),
)
