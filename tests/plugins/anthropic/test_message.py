from __future__ import annotations

from typing import Any

import attrs
import orjson
import pytest

from core import Delta, GatewayError, Stop, Text, Thinking, ThinkingConfig, ToolUse, Usage
from plugins.anthropic.message import MessageAnswer, new_id, opens_block, tool_input, usage_value
from plugins.anthropic.signature import sign
from tests.plugins.anthropic.folding import HTTP, REQUEST

END = Stop("end_turn")


def body(*deltas: Delta, **request: Any) -> Any:
    answer = MessageAnswer(HTTP, attrs.evolve(REQUEST, **request))
    assert answer.feed(deltas) == b""
    assert answer.ping() == b""
    return orjson.loads(answer.finish())


def test_the_message_has_just_these_fields_in_order() -> None:
    message = body(Text("Hello"), Usage(11, 3), Text(" there"), END)
    assert message.pop("id").startswith("msg_")
    assert list(message.items()) == [
        ("type", "message"),
        ("role", "assistant"),
        ("content", [{"type": "text", "text": "Hello there"}]),
        ("model", "the-model"),
        ("stop_reason", "end_turn"),
        ("stop_sequence", None),
        ("usage", {"input_tokens": 11, "output_tokens": 3}),
    ]


def test_an_id_is_fresh_each_time() -> None:
    assert len({new_id() for _ in range(50)}) == 50
    assert len(new_id()) == 28


def test_the_matched_sequence() -> None:
    message = body(Text("a"), Stop("stop_sequence", "###"))
    assert (message["stop_reason"], message["stop_sequence"]) == ("stop_sequence", "###")


def test_neighbours_of_a_kind_are_one_block() -> None:
    message = body(Thinking("a"), Thinking("b"), Text("c"), Usage(), Text("d"), Thinking("e"), END)
    assert message["content"] == [
        {"type": "thinking", "thinking": "ab", "signature": sign("ab")},
        {"type": "text", "text": "cd"},
        {"type": "thinking", "thinking": "e", "signature": sign("e")},
    ]


def test_calls() -> None:
    pieces = [ToolUse(0, id="a", name="f"), ToolUse(0, '{"x":'), ToolUse(0, " 1}"), ToolUse(1, "{}", "b", "g")]
    message = body(*pieces, Stop("tool_use"))
    assert message["content"] == [
        {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
        {"type": "tool_use", "id": "b", "name": "g", "input": {}},
    ]


def test_omitted_thinking_has_a_signature_and_no_text() -> None:
    message = body(Thinking("secret"), END, thinking=ThinkingConfig("adaptive", display="omitted"))
    assert message["content"] == [{"type": "thinking", "thinking": "", "signature": sign("secret")}]


def test_nothing_said_is_no_block() -> None:
    assert body(END)["content"] == []


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ("", b"{}"),
        (" \n", b"{}"),
        ("null", b"{}"),
        ('{"n": 12345678901234567890123}', b'{"n": 12345678901234567890123}'),
        ('{"a":', b'{"unparsed_arguments":"{\\"a\\":"}'),
        ("[1]", b'{"unparsed_arguments":"[1]"}'),
        ('{"a": NaN}', b'{"unparsed_arguments":"{\\"a\\": NaN}"}'),
        ('"text"', b'{"unparsed_arguments":"\\"text\\""}'),
    ],
)
def test_a_calls_input_is_always_an_object(arguments: str, value: bytes) -> None:
    assert orjson.dumps(tool_input(arguments)) == value


def test_usage_with_cache_counts_adds_up_to_the_prompt() -> None:
    usage = Usage(input_tokens=100, output_tokens=7, cache_read_tokens=60, cache_creation_tokens=10)
    assert usage_value(usage, cache_usage=False) == {"input_tokens": 100, "output_tokens": 7}
    assert usage_value(usage, cache_usage=True) == {
        "input_tokens": 30,
        "output_tokens": 7,
        "cache_creation_input_tokens": 10,
        "cache_read_input_tokens": 60,
    }
    assert usage_value(Usage(5, 1, 9), cache_usage=True)["input_tokens"] == 0


def test_what_opens_a_block() -> None:
    assert opens_block(Text("x"), None)
    assert opens_block(Text("x"), Thinking)
    assert not opens_block(Text("x"), Text)
    assert opens_block(ToolUse(1, id="b", name="f"), ToolUse)
    assert not opens_block(ToolUse(1, "{}"), ToolUse)


@pytest.mark.parametrize("kind", [None, Text])
def test_a_piece_of_no_call_is_an_error(kind: Any) -> None:
    with pytest.raises(RuntimeError, match="no id"):
        opens_block(ToolUse(0, "{}"), kind)


def test_no_stop_no_message() -> None:
    with pytest.raises(RuntimeError, match="without a Stop"):
        body(Text("x"))


def test_text_with_a_lone_surrogate() -> None:
    assert body(Text("a\ud800"), END)["content"][0]["text"] == "a\ufffd"


def test_a_failure_takes_the_place_of_the_message() -> None:
    answer = MessageAnswer(HTTP, REQUEST)
    answer.feed([Text("half")])
    assert b"half" not in answer.fail(GatewayError("it fell over", kind="overloaded"))
    assert answer.status == 529
