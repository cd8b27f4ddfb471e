from __future__ import annotations

from typing import Any

import attrs
import pytest

from core.balance.affinity import session_key
from core.request import (
    DocumentBlock,
    HTTPRequest,
    ImageBlock,
    Message,
    Request,
    SearchResultBlock,
    TextBlock,
    Tool,
)

HTTP = HTTPRequest("POST", "/messages")
SESSION = "0d9c8b7a-1111-4222-8333-444455556666"
REQUEST = Request(
    "message",
    messages=(Message("user", (TextBlock("hello"),)), Message("assistant", (TextBlock("hi"),))),
    system=(TextBlock("be kind"),),
    tools=(Tool("look", {"type": "object"}),),
)


def key_of(**changes: Any) -> str:
    return session_key(HTTP, attrs.evolve(REQUEST, **changes))


@pytest.mark.parametrize(
    ("user", "key"),
    [
        (f'{{"device_id":"d","account_uuid":"","session_id":"{SESSION}"}}', SESSION),
        (f"user_ab12_account__session_{SESSION}", SESSION),
        ("somebody", "somebody"),
        ("{not json", "{not json"),
        ('{"session_id":""}', '{"session_id":""}'),
        ('{"session_id":5}', '{"session_id":5}'),
        ("{}", "{}"),
        ("user_ab_session_", "user_ab_session_"),
    ],
)
def test_the_session_is_found_in_the_user_and_else_the_user_counts(user: str, key: str) -> None:
    assert key_of(user_id=user) == key


def test_claude_codes_header_wins() -> None:
    http = HTTPRequest("POST", "/messages", headers=[(b"x-claude-code-session-id", SESSION.encode())])
    assert session_key(http, attrs.evolve(REQUEST, user_id="somebody")) == SESSION


def test_a_conversation_keeps_its_key_as_it_grows() -> None:
    more = (*REQUEST.messages, Message("user", (TextBlock("and now?"),)))
    assert key_of(messages=more) == key_of() != ""
    assert key_of(model="other", max_tokens=5, temperature=0.1) == key_of()


@pytest.mark.parametrize(
    "changes",
    [
        {"system": ()},
        {"system": (TextBlock("be kin"), TextBlock("d"))},
        {"tools": ()},
        {"tools": (Tool("loo", {}), Tool("k", {}))},
        {"messages": (Message("user", (TextBlock("hello!"),)),)},
        {"messages": (Message("user", (TextBlock("hel"), TextBlock("lo"))),)},
        {"messages": ()},
        {"messages": (Message("user", (TextBlock("\ud800"),)),)},
        {"messages": (Message("user", (ImageBlock("image/png", "AAAA"),)),)},
        {"messages": (Message("user", (ImageBlock("image/png", "AAAB"),)),)},
        {"messages": (Message("user", (ImageBlock(url="https://a/b"),)),)},
        {"messages": (Message("user", (DocumentBlock(text="a"),)),)},
        {"messages": (Message("user", (DocumentBlock(file_id="a b"),)),)},
        {"messages": (Message("user", (SearchResultBlock("s", "title"),)),)},
    ],
)
def test_another_beginning_is_another_key(changes: dict[str, Any]) -> None:
    assert key_of(**changes) != key_of()
    assert key_of(**changes) == key_of(**changes)


def test_what_comes_before_the_first_word_of_the_user_does_not_count() -> None:
    assert key_of(messages=(Message("system", (TextBlock("x"),)), *REQUEST.messages)) == key_of()


def test_the_end_of_a_long_file_costs_nothing() -> None:
    def with_image(data: str) -> str:
        return key_of(messages=(Message("user", (ImageBlock("image/png", data),)),))

    assert with_image("A" * 5000 + "B") == with_image("A" * 5000 + "C")
    assert with_image("A" * 5000) != with_image("A" * 5001)


def test_an_empty_request_has_no_key() -> None:
    assert session_key(HTTP, Request("message")) == ""
