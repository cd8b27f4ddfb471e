from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.chat.reports import Report, is_report, read_body, report_of
from core.testing import error_bodies

HEAD = b"<!DOCTYPE html>\n<html><head><TITLE>\n 502 Bad\n Gateway &amp; more </TITLE></head>"
PAGE = HEAD + b"<body><h1>secret</h1></body></html>"


@pytest.mark.parametrize(("body", "content_type"), error_bodies("the words", 422)[:-1])
def test_every_shape_says_its_words(body: bytes, content_type: str) -> None:
    assert read_body(body).message.removeprefix("messages: ") == "the words"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", Report()),
        (b" \r\n", Report()),
        (b"null", Report()),
        (b"{}", Report()),
        (b"[]", Report()),
        (b'"words"', Report("words")),
        (b"words", Report("words")),
        (b"7", Report("7")),
        (b'{"error":', Report('{"error":')),
        (b"\xef\xbb\xbfwords \xff", Report("words \ufffd")),
        (PAGE, Report("502 Bad Gateway & more")),
        (b"<html><body>busy</body></html>", Report("the upstream answered with an HTML page")),
        (b"<html><title> </title></html>", Report("the upstream answered with an HTML page")),
    ],
)
def test_bodies_that_are_no_object(body: bytes, expected: Report) -> None:
    assert read_body(body) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            {
                "error": {
                    "message": "m",
                    "type": "invalid_request_error",
                    "param": None,
                    "code": "context_length_exceeded",
                }
            },
            Report("m", "invalid_request_error context_length_exceeded"),
        ),
        ({"error": {"message": "m", "type": "NotFoundError", "code": 404}}, Report("m", "notfounderror 404", 404)),
        (
            {"error": {"code": 400, "message": "m", "type": "exceed_context_size_error", "n_ctx": 9}},
            Report("m", "exceed_context_size_error 400", 400),
        ),
        ({"error": "m", "error_type": "overloaded"}, Report("m", "overloaded")),
        ({"error": "Unauthorized"}, Report("Unauthorized")),
        ({"error": {"message": "m", "http_status_code": 422}}, Report("m", "", 422)),
        (
            {"object": "error", "message": "m", "type": "BadRequestError", "code": 400},
            Report("m", "badrequesterror 400", 400),
        ),
        (
            {"object": "error", "message": {"detail": [{"loc": ["body", "a"], "msg": "m"}]}, "type": "x"},
            Report("a: m", "x"),
        ),
        ({"detail": "m"}, Report("m")),
        (
            {"detail": [{"loc": ["body", "messages", 0, "role"], "msg": "m"}, {"msg": "n"}]},
            Report("messages.0.role: m; n"),
        ),
        ({"detail": [{"loc": 7, "msg": "m"}, "n", 7, None]}, Report("m; n")),
        ({"detail": {"error": {"message": "m"}}}, Report("m")),
        (
            [{"error": {"code": 400, "message": "m", "status": "INVALID_ARGUMENT"}}],
            Report("m", "400 invalid_argument", 400),
        ),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "m"}}, Report("m", "overloaded_error")),
        ({"error": {"error": {"message": "m"}}}, Report("m")),
        ({"error": {"code": 500}}, Report('{"code": 500}', "500", 500)),
        ({"message": "m", "code": "429"}, Report("m", "429", 429)),
        ({"message": "m", "code": True, "status": 200}, Report("m", "true 200")),
        ({"message": "m", "code": 1234, "status": 503}, Report("m", "1234 503", 503)),
        ({"msg": "m"}, Report("m")),
        ({"error": True}, Report()),
    ],
)
def test_objects(value: Any, expected: Report) -> None:
    assert report_of(value) == expected
    assert read_body(json.dumps(value).encode()) == expected


def test_what_stands_beside_the_words_is_kept() -> None:
    report = report_of([{"error": {"message": "m", "n_ctx": 9}, "n_prompt_tokens": 10}])
    assert (report.fields["n_ctx"], report.fields["n_prompt_tokens"]) == (9, 10)
    assert report_of("m").fields == {}


PASSED_ON = {"message": "Provider returned error", "code": 400}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("too long", Report("too long", "400", 400)),
        (
            '{"error": {"message": "m", "code": "context_length_exceeded"}}',
            Report("m", "400 context_length_exceeded", 400),
        ),
        ('{"error": {"message": "m", "code": 429}}', Report("m", "400 429", 400)),
        ('[{"error": {"message": "m"}}]', Report("m", "400", 400)),
        ("", Report("Provider returned error", "400", 400)),
        (None, Report("Provider returned error", "400", 400)),
        ({"error": "m"}, Report("Provider returned error", "400", 400)),
    ],
)
def test_the_words_of_a_provider_behind(raw: Any, expected: Report) -> None:
    assert report_of({"error": {**PASSED_ON, "metadata": {"raw": raw, "provider_name": "P"}}}) == expected


def test_a_sentence_of_its_own_is_kept_and_depth_breaks_nothing() -> None:
    value: Any = {"error": {"message": "my words", "metadata": {"raw": "theirs"}}}
    assert report_of(value).message == "my words"
    assert report_of({"error": {**PASSED_ON, "metadata": "x"}}).message == "Provider returned error"
    raw = "m"
    for _ in range(6):
        raw = json.dumps({"error": {"message": "Provider returned error", "metadata": {"raw": raw}}})
    assert read_body(raw.encode()).message == "m"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"error": {"message": "m"}}, True),
        ({"error": "m", "choices": []}, True),
        ({"object": "error", "message": "m"}, True),
        ({"detail": "m"}, True),
        ({"message": "m", "code": 400}, True),
        ({"message": "m", "type": "overloaded_error"}, True),
        ({"error": None, "choices": []}, False),
        ({"error": {}, "choices": []}, False),
        ({"choices": [], "detail": "m"}, False),
        ({"usage": {}, "detail": "m"}, False),
        ({"message": "loading", "type": "progress"}, False),
        ({"object": "chat.completion.chunk"}, False),
        ({}, False),
    ],
)
def test_which_objects_are_errors(value: dict[str, Any], expected: bool) -> None:
    assert is_report(value) is expected


@pytest.mark.parametrize("key", ["message", "detail", "error", "loc"])
def test_no_depth_breaks_it(key: str) -> None:
    value: Any = {"x": 1}
    for _ in range(50_000):
        value = {key: [value]}
    assert isinstance(report_of(value).message, str)


KEYS = st.sampled_from(("error", "message", "detail", "msg", "loc", "type", "code", "status"))
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner), max_leaves=10)


@given(VALUES)
def test_no_value_breaks_it(value: Any) -> None:
    report = report_of(value)
    assert isinstance(report.message, str)
    assert report.status == 0 or 400 <= report.status <= 599
