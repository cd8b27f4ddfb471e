from __future__ import annotations

from typing import get_args

import attrs
import orjson
import pytest

from core import GatewayError, HTTPRequest, RequestError, Text
from core.errors import STATUS, Kind
from plugins.anthropic.envelope import TYPES, JSONAnswer
from tests.plugins.anthropic.folding import HTTP


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_kind_has_its_status_and_the_apis_word(kind: Kind) -> None:
    answer = JSONAnswer(HTTP)
    body = orjson.loads(answer.fail(GatewayError("words", kind=kind)))
    assert body == {"type": "error", "error": {"type": TYPES[kind], "message": "words"}, "request_id": "req_1"}
    assert answer.status == STATUS[kind]


def test_a_code_is_where_clients_look_for_it() -> None:
    error = orjson.loads(JSONAnswer(HTTP).fail(RequestError("words", code="a_word")))["error"]
    assert error == {"type": "invalid_request_error", "message": "words", "details": {"error_code": "a_word"}}


def test_the_headers_of_an_answer() -> None:
    assert dict(JSONAnswer(HTTP).headers) == {b"content-type": b"application/json", b"request-id": b"req_1"}


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (GatewayError("x", retry_after=1.2), {b"retry-after": b"2"}),
        (GatewayError("x", retry_after=0), {b"retry-after": b"0"}),
        (GatewayError("x", should_retry=False), {b"x-should-retry": b"false"}),
        (GatewayError("x", should_retry=True), {b"x-should-retry": b"true"}),
        (GatewayError("x"), {}),
    ],
)
def test_when_to_try_again(error: GatewayError, expected: dict[bytes, bytes]) -> None:
    answer = JSONAnswer(HTTP)
    before = dict(answer.headers)
    answer.fail(error)
    assert dict(answer.headers) == before | expected


@pytest.mark.parametrize(("path", "allow"), [("/messages", b"POST"), ("/models/x", b"GET, HEAD")])
def test_a_wrong_method_is_told_the_right_ones(path: str, allow: bytes) -> None:
    answer = JSONAnswer(HTTPRequest("PUT", path))
    answer.fail(RequestError("no", kind="method_not_allowed"))
    assert dict(answer.headers)[b"allow"] == allow
    assert answer.status == 405


def test_an_error_may_hold_any_string() -> None:
    answer = JSONAnswer(attrs.evolve(HTTP, id="é\u20ac"))
    assert "\ufffd" in orjson.loads(answer.fail(GatewayError("\ud800")))["error"]["message"]
    assert dict(answer.headers)[b"request-id"] == "é?".encode("latin-1")


def test_nothing_is_answered_without_a_request() -> None:
    answer = JSONAnswer(HTTP)
    assert answer.feed([Text("x")]) == b""
    assert answer.ping() == b""
    with pytest.raises(RuntimeError):
        answer.finish()
