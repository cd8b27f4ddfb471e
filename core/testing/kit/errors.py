"""The rules of failures: refused, broken off, or no answer at all."""

from __future__ import annotations

from typing import Any, Final

import httpx

from core.testing.answers import UpstreamAnswer, dump
from core.testing.broken import error_bodies
from core.testing.fold_checks import need
from core.testing.kit.bench import Bench
from core.testing.kit.engine import piece
from core.testing.kit.expect import check_error, content_of, joined, same
from core.testing.kit.rule import Rule, rule, unless
from core.testing.kit.tools import CALLS

WORDS: Final = "the perch is full"
OWN: Final = unless(rewrite_error=...)
STATUSES: Final = {
    400: (400, "invalid_request_error"),
    401: (502, "api_error"),
    402: (402, "billing_error"),
    403: (502, "api_error"),
    404: (404, "not_found_error"),
    408: (504, "timeout_error"),
    413: (413, "request_too_large"),
    422: (400, "invalid_request_error"),
    429: (429, "rate_limit_error"),
    500: (500, "api_error"),
    502: (502, "api_error"),
    503: (529, "overloaded_error"),
    504: (504, "timeout_error"),
    529: (529, "overloaded_error"),
}
"""The engine's status; the client's, and the type of its error."""


@rule(hint=OWN)
def a_status_becomes_its_kind(bench: Bench) -> None:
    """An HTTP error is the client's error of that kind, with its status and the engine's words, streaming or not."""
    for status, wanted in STATUSES.items():
        for place, reply in bench.refuse({"message": WORDS, "type": "server_error"}, status):
            where = f"status {status}, {place}"
            check_error(where, reply, WORDS)
            got = (reply.status, (reply.error or {})["type"])
            same(where, "client's status and type of error", got, wanted)


@rule(hint=OWN)
def retry_after_is_passed_on(bench: Bench) -> None:
    """The engine's `retry-after` reaches the client."""
    for status in (429, 503):
        for place, reply in bench.refuse({"message": WORDS}, status, {"retry-after": "7"}):
            same(f"status {status}, {place}", "header retry-after", reply.headers.get("retry-after"), "7")


@rule()
def what_waiting_cannot_mend_is_not_retried(bench: Bench) -> None:
    """The client's SDK is told not to retry what will not change: a spent quota, a refused key."""
    for status, code in ((429, "insufficient_quota"), (401, "invalid_api_key"), (402, "billing")):
        for place, reply in bench.refuse({"message": WORDS, "type": code, "code": code}, status):
            same(f"{code}, {place}", "header x-should-retry", reply.headers.get("x-should-retry"), "false")


@rule()
def error_bodies_of_any_shape_are_read(bench: Bench) -> None:
    """The words of an error are found in whatever shape the engine or a proxy put them."""
    for place, reply in bench.refuse({"message": WORDS, "code": 500}, 500):
        check_error(place, reply, WORDS)
    *worded, (empty, _) = error_bodies(WORDS, 500)
    for body, content_type in worded:
        for place, reply in bench.serve(body, status=500, headers={"content-type": content_type}):
            check_error(place, reply, WORDS)
    for place, reply in bench.serve(empty, status=500):
        check_error(place, reply)


@rule(hint=OWN)
def an_error_with_status_200_is_an_error(bench: Bench) -> None:
    """A body with an error, though its status is 200, is an error with its words."""
    own = bench.engine.failed({"message": WORDS, "code": 500})[0]
    others = [dump(value).encode() for value in ({"error": WORDS}, {"object": "error", "message": WORDS})]
    for body in (own, *([] if bench.facts.rewrite_error else others)):
        for place, reply in bench.serve(body):
            check_error(place, reply, WORDS)
            need(reply.status >= 400, f"{place}: an answer that is nothing but an error has status {reply.status}")


@rule(hint=OWN)
def an_error_in_a_stream_is_an_error(bench: Bench) -> None:
    """An error in a stream ends the answer as an error, before the first text and behind it, and the text is kept."""
    error = {"error": {"message": WORDS, "type": "server_error", "code": 500}}
    for text in ("", "One, two"):
        said = [piece({"role": "assistant", "content": ""}), *([piece({"content": text})] if text else [])]
        for end in ([error], [error, piece({}, "stop")], *([] if bench.facts.rewrite_error else [[{"error": WORDS}]])):
            for place, reply in bench.serve(bench.engine.stream([*said, *end], done=True)):
                check_error(place, reply, WORDS)
                streamed = place.startswith("client stream")
                need(streamed or reply.status >= 400, f"{place}: a failed answer has status {reply.status}")
                if text and streamed and "event by event" in place:
                    kept = joined(reply.message.get("content", ()), "text")
                    same(place, "text before the error", kept, text)


@rule(hint=OWN)
def the_word_of_an_error_tells_its_kind(bench: Bench) -> None:
    """Where no HTTP status tells it, in a stream and in a body with status 200, the engine's word for it does."""
    for word, kind in (("overloaded_error", "overloaded_error"), ("rate_limit_error", "rate_limit_error")):
        error = {"error": {"message": WORDS, "type": word}}
        streamed = bench.engine.stream([piece({"content": "One"}), error], done=True)
        for played in (bench.serve(streamed), bench.refuse(error["error"])):
            for place, reply in played:
                check_error(place, reply, WORDS)
                same(f"{word}, {place}", "type of the error", (reply.error or {})["type"], kind)


@rule(hint=OWN)
def a_prompt_that_is_too_long_is_told_as_such(bench: Bench) -> None:
    """The engine's word for a prompt that is too long becomes the sentence on which clients make it shorter."""
    for place, reply in bench.refuse({"message": WORDS, "type": "context_length_exceeded"}, 400):
        check_error(place, reply, "prompt is too long")
        same(place, "client's status", reply.status, 400)


@rule()
def an_event_named_error_is_an_error(bench: Bench) -> None:
    """An event that is named `error` is an error."""
    wire = bench.engine.stream([piece({"content": "One"})], done=False)
    wire += b"event: error\ndata: " + bench.engine.failed({"message": WORDS})[0] + b"\n\n"
    for place, reply in bench.serve(wire):
        check_error(place, reply, WORDS)


@rule()
def a_given_up_answer_is_an_error(bench: Bench) -> None:
    """The finish_reasons `error` and `abort` are errors."""
    for finish in ("error", "abort"):
        wire = bench.engine.stream([piece({"content": "One"}), piece({}, finish)], done=True)
        for place, reply in bench.serve(wire):
            check_error(place, reply)


@rule()
def a_cut_answer_is_an_error(bench: Bench) -> None:
    """A stream that ends before its end, anywhere, is an error and never a whole answer."""
    engine = bench.engine
    answers = (engine.answer(text="One, two, three.", reasoning="Count."), _calling(bench))
    for answer in answers:
        chunks = engine.unfinished(answer)
        for size in (0, 2, len(chunks)):
            for place, reply in bench.serve(engine.stream(chunks[:size], done=False)):
                check_error(f"{size} chunks, {place}", reply)
        whole = engine.wire(answer, stream=False)
        for end in (len(whole) // 3, len(whole) - 1):
            for place, reply in bench.serve(whole[:end]):
                check_error(f"{end} bytes of JSON, {place}", reply)


@rule()
def a_broken_connection_is_an_error(bench: Bench) -> None:
    """A connection that breaks amid the answer is an error, and the text before it is kept."""
    wire = bench.engine.stream([piece({"content": "One, two"})], done=False)
    for kind in (httpx.ReadError, httpx.RemoteProtocolError, httpx.ReadTimeout):
        for place, reply in bench.serve(wire, fails=lambda kind=kind: kind("gone")):  # type: ignore[misc]
            check_error(place, reply)
            if place.startswith("client stream"):
                same(place, "text before it broke", joined(reply.message.get("content", ()), "text"), "One, two")
    for place, reply in bench.serve(bench.engine.wire(bench.engine.answer(text="Hi."), stream=True)):
        content_of(place, reply)


@rule()
def what_is_no_answer_is_an_error(bench: Bench) -> None:
    """A page, broken JSON, a body without choices and nothing at all are errors."""
    for body in (
        b"",
        b"<html><body>Bad gateway</body></html>",
        b'{"choices": []}',
        b"{}",
        b"[]",
        b"null",
        b"data: {\n\n",
    ):
        for place, reply in bench.serve(body):
            check_error(f"body {body!r}, {place}", reply)


def _calling(bench: Bench) -> UpstreamAnswer:

    made: dict[str, Any] = {"text": None, "tool_calls": CALLS[:2], "finish_reason": "tool_calls"}
    return bench.engine.answer(**made)


RULES: Final[tuple[Rule, ...]] = (
    a_status_becomes_its_kind,
    retry_after_is_passed_on,
    what_waiting_cannot_mend_is_not_retried,
    error_bodies_of_any_shape_are_read,
    an_error_with_status_200_is_an_error,
    an_error_in_a_stream_is_an_error,
    the_word_of_an_error_tells_its_kind,
    a_prompt_that_is_too_long_is_told_as_such,
    an_event_named_error_is_an_error,
    a_given_up_answer_is_an_error,
    a_cut_answer_is_an_error,
    a_broken_connection_is_an_error,
    what_is_no_answer_is_an_error,
)
