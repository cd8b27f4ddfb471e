from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.chat.failures import MESSAGE_LIMIT, clean, failure, failure_in, retry_after
from core.chat.problems import Problem, ProblemField
from core.errors import Kind
from core.testing import error_bodies

STATUSES: list[tuple[int, Kind, int]] = [
    (400, "invalid_request", 400),
    (404, "not_found", 404),
    (405, "api", 502),
    (407, "api", 502),
    (408, "timeout", 504),
    (409, "invalid_request", 400),
    (413, "too_large", 413),
    (415, "invalid_request", 400),
    (422, "invalid_request", 400),
    (424, "api", 502),
    (429, "rate_limit", 429),
    (498, "overloaded", 529),
    (499, "api", 502),
    (500, "api", 500),
    (501, "api", 502),
    (502, "api", 502),
    (503, "overloaded", 529),
    (504, "timeout", 504),
    (524, "timeout", 504),
    (529, "overloaded", 529),
    (301, "api", 502),
    (308, "api", 502),
]


@pytest.mark.parametrize(("status", "kind", "ours"), STATUSES)
def test_every_status_in_every_shape(status: int, kind: Kind, ours: int) -> None:
    for body, _ in error_bodies("the words", status):
        error = failure(status, {}, body)
        assert (error.kind, error.status, error.should_retry) == (kind, ours, None)
        said = error.message.removeprefix("messages: ")
        assert said == ("the words" if body else f"the upstream answered {status} without a word")


@pytest.mark.parametrize("status", [401, 403])
def test_the_gateway_s_key_is_not_the_client_s(status: int) -> None:
    error = failure(status, {"retry-after": "3"}, b'{"error": "Unauthorized"}')
    assert (error.kind, error.status, error.should_retry, error.retry_after) == ("api", 502, False, None)
    assert error.message == "the upstream refused the gateway's credentials: Unauthorized"


FLAGGED = {
    "code": 403,
    "message": 'm requires moderation on P. Your input was flagged for "x". No credits were charged.',
    "metadata": {"reasons": ["x"], "flagged_input": "the prompt", "provider_name": "P"},
}
NO_IMAGES = {"code": 500, "message": "image input is not supported - hint: provide the mmproj", "type": "server_error"}
BROKEN_CALL = {
    "message": "Failed to call a function. See 'failed_generation'.",
    "type": "invalid_request_error",
    "code": "tool_use_failed",
    "failed_generation": "<function=f>",
}


@pytest.mark.parametrize(
    ("status", "error", "kind", "ours"),
    [
        (403, FLAGGED, "invalid_request", 400),
        (500, NO_IMAGES, "invalid_request", 400),
        (400, BROKEN_CALL, "api", 502),
        (400, {**BROKEN_CALL, "code": "json_validate_failed"}, "api", 502),
    ],
)
def test_whose_fault_it_is_whatever_the_status(status: int, error: dict[str, Any], kind: Kind, ours: int) -> None:
    whole = failure(status, {}, json.dumps({"error": error}).encode())
    streamed = failure_in({"error": error})
    for found in (whole, streamed):
        assert found is not None
        assert (found.kind, found.status, found.should_retry, found.message) == (kind, ours, None, error["message"])


def test_spent_money_is_not_worth_a_retry() -> None:
    quota = {
        "error": {"message": "You exceeded your quota", "type": "insufficient_quota", "code": "insufficient_quota"}
    }
    error = failure(429, {}, json.dumps(quota).encode())
    assert (error.kind, error.status, error.should_retry) == ("rate_limit", 429, False)
    error = failure(402, {}, b"pay first")
    assert (error.kind, error.status, error.should_retry) == ("billing", 402, False)


def test_a_rate_limit_says_when() -> None:
    error = failure(429, {"retry-after": "17"}, b"slow down")
    assert (error.retry_after, error.should_retry) == (17.0, None)


# --- about length ---

VLLM_SAYS = (
    "This model's maximum context length is 2048 tokens. However, your prompt contains at least 2049 input tokens, "
    "which exceeds this limit even without any output tokens."
)
SGLANG_SAYS = "The input (9000 tokens) is longer than the model's context length (8192 tokens)."
TGI_SAYS = "Input validation error: `inputs` must have less than 1000 tokens. Given: 1200"
LLAMA_SAYS = {"type": "exceed_context_size_error", "n_prompt_tokens": 5000, "n_ctx": 4096}
TOO_LONG: list[tuple[int, Any, str]] = [
    (400, {"error": {"message": VLLM_SAYS, "type": "BadRequestError", "code": 400}}, "2049 tokens > 2048 maximum"),
    (400, {"object": "error", "message": SGLANG_SAYS, "code": 400}, "9000 tokens > 8192 maximum"),
    (422, {"error": TGI_SAYS, "error_type": "validation"}, "1200 tokens > 1000 maximum"),
    (500, {"error": {"code": 500, "message": "the request exceeds", **LLAMA_SAYS}}, "5000 tokens > 4096 maximum"),
    (413, {"error": {"message": "Please reduce the length of the messages."}}, "Please reduce the length"),
    (400, {"error": {"message": "no", "code": "context_length_exceeded"}}, "no"),
]


@pytest.mark.parametrize(("status", "body", "said"), TOO_LONG)
def test_a_prompt_that_is_too_long_is_said_in_the_words_on_which_clients_act(status: int, body: Any, said: str) -> None:
    error = failure(status, {}, json.dumps(body).encode())
    assert (error.kind, error.status) == ("invalid_request", 400)
    assert error.message.startswith(f"prompt is too long: {said}")


def test_the_limit_that_was_sent_stands_beside_a_cap() -> None:
    said = {"error": {"message": "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"}}
    error = failure(400, {}, json.dumps(said).encode(), asked=32000)
    assert (error.kind, error.status) == ("invalid_request", 400)
    assert error.message.startswith("max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens ")


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": VLLM_SAYS}},
        {"error": VLLM_SAYS},
        {"error": {"message": VLLM_SAYS, "type": "server_error", "code": 500}},
        {"choices": [{"finish_reason": "error", "error": {"message": VLLM_SAYS}}]},
    ],
)
def test_a_stream_may_say_so_too(body: Any) -> None:
    error = failure_in(body)
    assert error is not None
    assert (error.kind, error.status) == ("invalid_request", 400)
    assert error.message == "prompt is too long: 2049 tokens > 2048 maximum"


@pytest.mark.parametrize("status", [401, 404, 429, 502, 503])
def test_another_status_is_about_something_else(status: int) -> None:
    error = failure(status, {}, json.dumps({"error": {"message": SGLANG_SAYS}}).encode())
    assert error.message.endswith(SGLANG_SAYS)
    assert error.kind != "invalid_request"


def test_a_model_that_is_not_there_is_told_in_the_upstream_s_words() -> None:
    said = "The model `m` does not exist."
    error = failure(404, {}, json.dumps({"error": {"message": said, "type": "NotFoundError", "code": 404}}).encode())
    assert (error.kind, error.status, error.message) == ("not_found", 404, said)


# --- in a 200 ---


@pytest.mark.parametrize(
    ("value", "kind", "status"),
    [
        ({"error": {"message": "m", "type": "rate_limit_error"}}, "rate_limit", 429),
        ({"error": {"message": "m", "type": "RateLimitError"}}, "rate_limit", 429),
        ({"error": {"message": "m", "type": "rate limit exceeded"}}, "rate_limit", 429),
        ({"error": {"message": "m", "code": "insufficient_quota"}}, "rate_limit", 429),
        ({"error": "m", "error_type": "overloaded"}, "overloaded", 529),
        ({"error": {"message": "m", "type": "ServiceUnavailableError"}}, "overloaded", 529),
        ({"error": {"message": "m", "type": "timeout_error"}}, "timeout", 504),
        ({"error": {"message": "m", "type": "NotFoundError"}}, "not_found", 404),
        ({"error": {"message": "m", "type": "BadRequestError"}}, "invalid_request", 400),
        ({"error": {"message": "m", "type": "exceed_context_size_error"}}, "invalid_request", 400),
        ({"error": "m", "error_type": "validation"}, "invalid_request", 400),
        ({"error": {"message": "m", "type": "authentication_error"}}, "api", 502),
        ({"error": {"message": "m", "code": 401}}, "api", 502),
        ({"error": {"message": "m", "code": 503}}, "overloaded", 529),
        ({"error": {"message": "m", "code": 200}}, "api", 502),
        ({"error": {"message": "m", "type": "server_error"}}, "api", 502),
        ({"error": "m"}, "api", 502),
        ([{"error": {"message": "m", "code": 429}}], "rate_limit", 429),
        ({"choices": [{"finish_reason": "error", "error": {"code": 429, "message": "m"}}]}, "rate_limit", 429),
    ],
)
def test_words_stand_in_for_a_status(value: Any, kind: Kind, status: int) -> None:
    error = failure_in(value)
    assert error is not None
    assert (error.kind, error.status) == (kind, status)
    assert error.message.endswith("m")


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        "text",
        [],
        [1],
        {},
        {"error": None},
        {"choices": []},
        {"choices": None},
        {"choices": [{"finish_reason": "stop"}]},
        {"choices": [{"finish_reason": {}}, None, {"finish_reason": ["error"]}]},
        {"usage": {"prompt_tokens": 1}, "detail": "cached"},
    ],
)
def test_what_is_no_error(value: Any) -> None:
    assert failure_in(value) is None


def test_a_broken_off_answer_is_not_told_as_its_error() -> None:
    error = failure_in({"choices": [{"message": {"content": "the half answer"}, "finish_reason": "abort"}]})
    assert error is not None
    assert error.message == "the upstream broke off its answer (abort)"


# --- what is kept back ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Incorrect API key provided: sk-abcDEF123456.", "Incorrect API key provided: [hidden]"),
        ("key sk-proj-****************WXYZ, check it", "key [hidden], check it"),
        ("bad gsk_A1b2C3d4E5f6", "bad [hidden]"),
        ("got 'Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.e30.x-_1'", "got 'Authorization: [hidden]'"),
        ("AIzaSyA1234567890abcdefg is not valid", "[hidden] is not valid"),
        ('boom\nTraceback (most recent call last):\n  File "/srv/x.py", line 3\nKeyError', "boom"),
        ('boom\n  File "/srv/x.py", line 3, in f\n    g()', "boom"),
        ("boom\n    at Object.run (/srv/x.js:3:1)\n    at go (/srv/y.js)", "boom"),
        ("TypeError: x\n    at async Foo.bar (/srv/app/x.js:3:5)\n    at /srv/app/y.js:3:5", "TypeError: x"),
        ("TypeError: x\n    at /srv/app/y.js:3:5\n    at new F (/x.js)", "TypeError: x"),
        ("Meet me\n  at noon", "Meet me\n  at noon"),
        ("panic\ngoroutine 7 [running]:\nmain.go", "panic"),
        (" words \n", "words"),
        (
            "unknown argument key_padding_mask in hf_hub_download",
            "unknown argument key_padding_mask in hf_hub_download",
        ),
        ("Missing bearer authentication", "Missing bearer authentication"),
        ("look at http://docs/errors", "look at http://docs/errors"),
        ("half \ud83d", "half \ufffd"),
        ("", ""),
    ],
)
def test_clean(text: str, expected: str) -> None:
    assert clean(text) == expected


def test_configured_strings_are_hidden() -> None:
    hide = ["sesame-open", "http://10.0.0.5:8000", "10.0.0.5:8000", "", "1", "yes"]
    text = "yes: key sesame-open at http://10.0.0.5:8000/v1 (10.0.0.5:8000), attempt 1"
    assert clean(text, hide) == "yes: key [hidden] at [hidden]/v1 ([hidden]), attempt 1"
    for error in (failure(400, {}, text.encode(), hide=hide), failure_in({"error": text}, hide)):
        assert error is not None
        assert "sesame" not in error.message
        assert "10.0" not in error.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cannot reach 10.1.2.3:8000", "cannot reach [hidden]"),
        ("http://10.1.2.3:8000/v1/chat failed", "[hidden] failed"),
        ("POST http://vllm-0.engines.svc:8000/v1/chat: refused", "POST [hidden]: refused"),
        ("(host='127.0.0.1', port=8000)", "(host='[hidden]', port=8000)"),
        ("see http://localhost/v1, or [::1]:80", "see [hidden], or [hidden]"),
        ("192.168.1.20 and 172.20.0.2:9", "[hidden] and [hidden]"),
        ("see https://platform.openai.com/docs/errors", "see https://platform.openai.com/docs/errors"),
        ("version 10.1.2 is not 1.10.1.2.3, nor 172.40.0.1", "version 10.1.2 is not 1.10.1.2.3, nor 172.40.0.1"),
        ("10 to 127 of 8:30", "10 to 127 of 8:30"),
    ],
)
def test_addresses_inside_are_hidden(text: str, expected: str) -> None:
    assert clean(text) == expected


@pytest.mark.parametrize(("said", "expected"), [("true", True), ("false", False), ("maybe", None)])
def test_what_an_sdk_shall_do_is_passed_on(said: str, expected: bool | None) -> None:
    assert failure(429, {"x-should-retry": said}, b"").should_retry is expected
    assert failure(401, {"x-should-retry": said}, b"").should_retry is False


def test_a_trace_alone_leaves_the_status() -> None:
    assert (
        failure(500, {}, b"Traceback (most recent call last):\n  x").message
        == "the upstream answered 500 without a word"
    )


def test_a_long_text_is_cut() -> None:
    error = failure(400, {}, b"x" * 100_000)
    assert error.message == "x" * MESSAGE_LIMIT + "…"
    assert clean("x" * MESSAGE_LIMIT) == "x" * MESSAGE_LIMIT


# --- when to come again ---


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "17"}, 17.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "250.5", "retry-after": "7"}, 0.2505),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "1e9"}, None),
        ({"retry-after": "99999999999999999999"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 99999999999999999999 07:28:00 GMT"}, None),
    ],
)
def test_retry_after(headers: dict[str, str], expected: float | None) -> None:
    assert retry_after(headers) == expected


@pytest.mark.parametrize("zone", [True, False])
def test_retry_after_a_date(zone: bool) -> None:
    at = datetime.now(UTC) + timedelta(seconds=60)
    text = format_datetime(at) if zone else format_datetime(at.replace(tzinfo=None)).removesuffix(" -0000")
    wait = retry_after({"retry-after": text})
    assert wait is not None
    assert 50 < wait <= 60


@given(st.text(max_size=30) | st.from_regex(r"[A-Z][a-z]{2}, \d+ Oct \d+ \d+:\d+:\d+ [+-]\d+", fullmatch=True))
def test_no_header_breaks_it(value: str) -> None:
    wait = retry_after({"retry-after": value, "retry-after-ms": value})
    assert wait is None or wait >= 0


@given(st.integers(300, 599), st.binary(max_size=40))
def test_no_body_breaks_it(status: int, body: bytes) -> None:
    error = failure(status, {}, body)
    assert error.message
    assert 400 <= error.status <= 599


KINDS = {"overload": "overloaded", "prompt_too_long": "context_length_exceeded", "gone": 404}
PROBLEM = ProblemField("problem", message="why", word="kind", words=KINDS, retry_after="retry-in")


def told(why: str, kind: str) -> dict[str, Any]:
    return {"problem": {"why": why, "kind": kind}}


@pytest.mark.parametrize(
    ("status", "body", "kind", "sent", "message"),
    [
        (503, told("full", "overload"), "overloaded", 529, "full"),
        (500, told("full", "overload"), "overloaded", 529, "full"),
        (418, told("not so", "teapot"), "invalid_request", 400, "not so"),
        (500, told("which?", "gone"), "not_found", 404, "which?"),
        (400, told("no room", "prompt_too_long"), "invalid_request", 400, "prompt is too long: no room"),
        (500, told("no room", "prompt_too_long"), "invalid_request", 400, "prompt is too long: no room"),
        (503, {"error": {"message": "a proxy's"}}, "overloaded", 529, "a proxy's"),
        (503, "plain text", "overloaded", 529, '"plain text"'),
    ],
)
def test_an_engine_s_own_way_to_refuse(status: int, body: Any, kind: str, sent: int, message: str) -> None:
    data = json.dumps(body).encode()
    error = failure(status, {"retry-in": "7"}, data, problem=PROBLEM)
    assert (error.kind, error.status, error.message) == (kind, sent, message.strip('"'))


def test_its_wait_is_told_and_else_the_usual_header_s() -> None:
    body = json.dumps(told("full", "overload")).encode()
    assert failure(503, {"retry-in": "7", "retry-after": "3"}, body, problem=PROBLEM).retry_after == 7
    assert failure(503, {"retry-after": "3"}, body, problem=PROBLEM).retry_after == 3
    assert failure(503, {"retry-after": "3"}, b'{"error": "no"}', problem=PROBLEM).retry_after == 3


def test_a_body_that_is_no_json_is_looked_at_as_text() -> None:
    error = failure(500, {}, b"BUSY 7", problem=lambda body, _: Problem("busy", "overloaded", 0, body.split()[1]))
    assert (error.kind, error.message, error.retry_after) == ("overloaded", "busy", 7)


def test_an_engine_s_own_way_to_fail_in_an_answer() -> None:
    error = failure_in(told("asleep at sesame-open", "overload"), ["sesame-open"], problem=PROBLEM)
    assert error is not None
    assert (error.kind, error.message, error.retry_after) == ("overloaded", "asleep at [hidden]", None)
    waiting = failure_in(told("full", "overload"), problem=PROBLEM, headers={"retry-in": "7"})
    assert waiting is not None
    assert waiting.retry_after == 7


def test_without_a_word_of_its_own_the_usual_reading_holds() -> None:
    assert failure_in({"choices": []}, problem=PROBLEM) is None
    usual = failure_in({"error": {"message": "full", "code": 503}}, problem=PROBLEM)
    assert usual is not None
    assert usual.kind == "overloaded"
    silent = failure(503, {}, b'{"problem": {"x": 1}}', problem=PROBLEM)
    assert silent.message == "the upstream answered 503 without a word"


@pytest.mark.parametrize(
    ("word", "kind"), [("billing", "billing"), ("too_large", "too_large"), ("permission", "api"), ("api", "api")]
)
def test_the_kinds_of_the_gateway_s_are_words_too(word: str, kind: str) -> None:
    error = failure_in({"error": {"message": "no", "type": word}})
    assert error is not None
    assert error.kind == kind
