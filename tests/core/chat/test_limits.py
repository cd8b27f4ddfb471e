from __future__ import annotations

from typing import Any

import attrs
import pytest

from core.chat.dialect import Dialect
from core.chat.limits import limit_in, only_allowed, stop_list, token_limit
from core.errors import RequestError
from core.request import Message, Request, TextBlock
from core.route import Candidate


@pytest.mark.parametrize(
    ("asked", "cap", "most", "sent"),
    [
        (None, None, None, None),
        (None, 100, 50, None),
        (0, None, None, 1),
        (0, 100, 50, 1),
        (128_000, None, None, 128_000),
        (128_000, 8192, None, 8192),
        (128_000, None, 4096, 4096),
        (128_000, 8192, 4096, 4096),
        (128_000, 2048, 4096, 2048),
        (100, 8192, 4096, 100),
    ],
)
def test_the_token_limit(asked: int | None, cap: int | None, most: int | None, sent: int | None) -> None:
    candidate = Candidate("up", "m", max_output_tokens=cap)
    assert token_limit(Request("message", max_tokens=asked), candidate, Dialect(max_tokens_limit=most)) == sent


def test_the_limit_leaves_room_for_the_prompt_where_the_window_is_known() -> None:
    prompt = "x" * 4000  # 1004 tokens by the estimate, 1255 with the margin
    request = Request("message", messages=(Message("user", (TextBlock(prompt),)),), max_tokens=32_000)
    assert token_limit(request, Candidate("up", "m", context=8192), Dialect()) == 8192 - 1255
    assert token_limit(attrs.evolve(request, max_tokens=100), Candidate("up", "m", context=8192), Dialect()) == 100
    assert token_limit(request, Candidate("up", "m", context=8192, max_output_tokens=500), Dialect()) == 500


def test_a_prompt_that_fills_the_window_is_the_engines_to_refuse() -> None:
    request = Request("message", messages=(Message("user", (TextBlock("x" * 40_000),)),), max_tokens=32_000)
    assert token_limit(request, Candidate("up", "m", context=4096), Dialect()) == 4096


@pytest.mark.parametrize(
    ("dialect", "stops"),
    [(Dialect(), ()), (Dialect(), ("1", "2", "3", "4")), (Dialect(max_stops=None), tuple("123456"))],
)
def test_stops(dialect: Dialect, stops: tuple[str, ...]) -> None:
    assert stop_list(Request("message", stop_sequences=stops), dialect) == list(stops)


def test_more_stops_than_the_server_takes_are_refused() -> None:
    with pytest.raises(RequestError) as caught:
        stop_list(Request("message", stop_sequences=tuple("12345")), Dialect())
    assert caught.value.message == "stop_sequences: this model's server takes at most 4, the request has 5"


def test_a_stop_that_is_asked_for_twice_is_sent_once() -> None:
    assert stop_list(Request("message", stop_sequences=tuple("ABABCD")), Dialect()) == ["A", "B", "C", "D"]


@pytest.mark.parametrize(
    ("body", "limit"),
    [
        (b'{"max_tokens": 9}', 9),
        (b'{"max_completion_tokens": 8}', 8),
        (b'{"max_tokens": "9"}', 0),
        (b"{}", 0),
        (b"[]", 0),
        (b"no JSON", 0),
    ],
)
def test_the_limit_that_was_sent(body: bytes, limit: int) -> None:
    assert limit_in(body) == limit


def test_any_field_goes_where_none_does_harm() -> None:
    body = {"model": "m", "messages": [], "tools": [], "stop": [], "x": 1}
    assert only_allowed(body, Dialect()) == body


def test_only_the_allowed_fields_go_to_a_strict_engine() -> None:
    body = {"model": "m", "messages": [], "temperature": 1, "stream": True, "stream_options": {}, "seed": 1}
    found = only_allowed(body, Dialect(allowed_fields=("seed", "stream")))
    assert found == {"model": "m", "messages": [], "stream": True, "seed": 1}


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("tools", "tools: this model's server takes no tools; send the request without"),
        ("stop", "stop_sequences: this model's server takes no stop sequences; send the request without"),
        (
            "continue_final_message",
            "messages: this model's server does not continue an assistant message; send the request without",
        ),
    ],
)
def test_what_changes_the_meaning_is_refused_by_name(field: str, message: str) -> None:
    body: dict[str, Any] = {"model": "m", "messages": [], field: [1]}
    with pytest.raises(RequestError) as caught:
        only_allowed(body, Dialect(allowed_fields=("stream",)))
    assert caught.value.message == message
