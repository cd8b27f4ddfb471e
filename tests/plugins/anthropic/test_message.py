from __future__ import annotations

from typing import Any

import attrs
import orjson
import pytest

from core import Delta, GatewayError, State, Stop, Text, TextBlock, Thinking, ThinkingConfig, ToolChoice, ToolUse, Usage
from plugins.anthropic.message import MessageAnswer, tool_input
from tests.plugins.anthropic.folding import HTTP, REQUEST, SEAL

END = Stop("end_turn")


def body(*deltas: Delta, **request: Any) -> Any:
    answer = MessageAnswer(HTTP, attrs.evolve(REQUEST, **request), seal=SEAL)
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


def test_the_matched_sequence() -> None:
    message = body(Text("a"), Stop("stop_sequence", "###"))
    assert (message["stop_reason"], message["stop_sequence"]) == ("stop_sequence", "###")


def test_neighbours_of_a_kind_are_one_block() -> None:
    message = body(Thinking("a"), Thinking("b"), Text("c"), Usage(), Text("d"), Thinking("e"), END)
    assert message["content"] == [
        {"type": "thinking", "thinking": "ab", "signature": SEAL.close("ab")},
        {"type": "text", "text": "cd"},
        {"type": "thinking", "thinking": "e", "signature": SEAL.close("e")},
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
    signature = SEAL.close("secret", keep_text=True)
    assert message["content"] == [{"type": "thinking", "thinking": "", "signature": signature}]


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


def test_what_the_engine_wants_back_is_in_the_signature() -> None:
    state = State({"details": [1]})
    message = body(Thinking("a"), state, Text("b"), State({"details": [2]}), Text("c"), END)
    assert message["content"] == [
        {"type": "thinking", "thinking": "a", "signature": SEAL.close("a", state)},
        {"type": "text", "text": "bc"},
        {"type": "thinking", "thinking": "", "signature": SEAL.close("", State({"details": [2]}))},
    ]


def test_only_the_first_call_for_who_wants_one() -> None:
    pieces = [ToolUse(0, "{}", "a", "f"), ToolUse(1, "{}", "b", "g"), ToolUse(1, " ")]
    message = body(*pieces, Stop("tool_use"), tool_choice=ToolChoice(parallel=False))
    assert [block["id"] for block in message["content"]] == ["a"]
    assert message["stop_reason"] == "tool_use"


def test_what_the_engine_did_not_count_is_estimated() -> None:
    usage = body(Text("x" * 40), Usage(), END, system=(TextBlock("y" * 400),))["usage"]
    assert 100 <= usage["input_tokens"] <= 110
    assert usage["output_tokens"] == 10


def test_no_stop_no_message() -> None:
    with pytest.raises(RuntimeError, match="without a Stop"):
        body(Text("x"))


def test_text_with_a_lone_surrogate() -> None:
    assert body(Text("a\ud800"), END)["content"][0]["text"] == "a\ufffd"


def test_a_failure_takes_the_place_of_the_message() -> None:
    answer = MessageAnswer(HTTP, REQUEST, seal=SEAL)
    answer.feed([Text("half")])
    assert b"half" not in answer.fail(GatewayError("it fell over", kind="overloaded"))
    assert answer.status == 529
