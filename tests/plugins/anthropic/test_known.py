from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import Message, RequestError, TextBlock, Tool
from plugins.anthropic import known
from plugins.anthropic.known import Known
from plugins.anthropic.parse import Parser

ROOM = 100_000
FIELDS = ("model", "messages", "tools", "system")
MESSAGES = [
    b'{"role":"user","content":"hi"}',
    b'{"role": "user", "content": "hi"}',
    b'{"content":[{"type":"text","text":"gr\\u00f6\\u00dfe"}],"role":"user"}',
    b'{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"n":18446744073709551616}}]}',
    b'{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[]}]}',
    b'{"role":"user","content":"x","role":"assistant"}',
    b'{"role":"system","content":[{"type":"text","text":"s"}]}',
    b'{"role":"user","content":"\\ud83d half"}',
    b'{"role":"user","content":"\xff"}',
    b'{"role":"user","content":""}',
    b'{"role":"user"}',
    b'{"name":"f","input_schema":{}}',
    b"[" * 2000,
    b"[" * 2000 + b"]" * 2000,
    b"NaN",
    b'{"role":"user","content":"tab\there"}',
]
TOOLS = [
    b'{"name":"f","input_schema":{"type":"object"}}',
    b'{"name":"f","input_schema":{"type":"object"},"defer_loading":true}',
    b'{"type":"custom","name":"g","description":"d","input_schema":{}}',
    b'{"type":"bash_20250124","name":"bash"}',
    b'{"type":"web_search_20250305","name":"web_search"}',
    b'{"name":"f"}',
    b'{"role":"user","content":"hi"}',
]
TAILS = [b"}", b',"stream":true}', b',"thread":"t"}', b"", b"}x", b',"model":"n"}']


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    messages = b",".join(draw(st.lists(st.sampled_from(MESSAGES), max_size=4)))
    tools = b",".join(draw(st.lists(st.sampled_from(TOOLS), max_size=2)))
    return b'{"model":"m","max_tokens":5,"messages":[%b],"tools":[%b]%b' % (
        messages,
        tools,
        draw(st.sampled_from(TAILS)),
    )


def outcome(parser: Parser, data: bytes) -> Any:
    try:
        return parser.parse_body(data, "message")
    except RequestError as error:
        return error.message, error.code


@given(st.lists(bodies(), min_size=1, max_size=6), st.sampled_from([3000, 60_000, 10_000_000]))
def test_what_is_known_reads_as_what_is_new(sent: list[bytes], room: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known, "FROM", 0)
        remembering, plain = Parser(remember=room), Parser()
        for data in [*sent, *sent]:
            assert repr(outcome(remembering, data)) == repr(outcome(plain, data))


def body(*messages: dict[str, Any], size: int = known.FROM) -> bytes:
    data = orjson.dumps({"model": "m", "max_tokens": 5, "messages": messages, "system": "s" * size})
    assert len(data) > size
    return data


def turn(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def test_a_history_is_read_once() -> None:
    parser = Parser(remember=ROOM)
    first = parser.parse_body(body(turn("a"), turn("b")), "message")
    second = parser.parse_body(body(turn("a"), turn("b"), turn("c")), "message")
    assert [one is other for one, other in zip(first.messages, second.messages, strict=False)] == [True, True]
    assert second.messages[2] == Message("user", (TextBlock("c"),))


@pytest.mark.parametrize(("size", "room"), [(10, ROOM), (known.FROM, 0)])
def test_small_bodies_and_no_room(size: int, room: int) -> None:
    parser = Parser(remember=room)
    data = body(turn("a"), size=size)
    assert parser.parse_body(data, "message").messages[0] is not parser.parse_body(data, "message").messages[0]


def test_no_more_is_kept_than_there_is_room_for_and_the_oldest_goes_first() -> None:
    found = Known(ROOM, FIELDS)
    for number in [*range(60), 0, *range(60, 120)]:
        data = body(turn(f"{number} " + "x" * 2000))
        split = found.split(data)
        assert split is not None
        found.keep(split, messages=[Message("user", (TextBlock(str(number)),))])
        assert found.used <= ROOM

    def knows(number: int) -> bool:
        split = found.split(body(turn(f"{number} " + "x" * 2000)))
        return split is not None and split.value["messages"][0].__class__ is Message

    assert [number for number in range(120) if knows(number)] == list(range(120 - ROOM // (2000 + 1100), 120))


def test_what_is_used_stays() -> None:
    found = Known(ROOM, FIELDS)
    for number in range(100):
        for text in ("used", f"{number} " + "x" * 3000):
            split = found.split(body(turn(text)))
            assert split is not None
            was = split.value["messages"][0]
            assert text != "used" or number == 0 or was.__class__ is Message
            found.keep(split, messages=[was if was.__class__ is Message else Message("user", ())])


def test_what_is_very_large_is_not_kept() -> None:
    found = Known(ROOM, FIELDS)
    split = found.split(body(turn("x" * ROOM)))
    assert split is not None
    found.keep(split, messages=[Message("user", ())])
    assert found.used == 0


def test_a_tool_is_no_message() -> None:
    """The same text in both places is read for each."""
    both = {"role": "user", "content": "hi", "name": "f", "input_schema": {}}
    data = orjson.dumps({"model": "m", "max_tokens": 5, "messages": [both], "tools": [both], "system": "s" * 20_000})
    parser = Parser(remember=ROOM)
    for _ in range(2):
        request = parser.parse_body(data, "message")
        assert request.messages == (Message("user", (TextBlock("hi"),)),)
        assert request.tools == (Tool("f", {}),)
