"""The body of an answer: every test plays it whole and streamed, on both sides."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.testing import ChunkShape, UpstreamAnswer, UpstreamToolCall
from tests.mapping.wire import ASK, BACKENDS, F, Wire, completion, without_made

CALL = UpstreamToolCall("f", '{"x":1}', "call_1")
NO_TEXT: dict[str, Any] = {"text": None, "finish_reason": "tool_calls"}


def edited(answer: UpstreamAnswer, **fields: Any) -> bytes:
    """A whole answer's bytes with further fields in its message."""
    value = answer.completion()
    value["choices"][0]["message"].update(fields)
    return json.dumps(value).encode()


def test_id(wire: Wire) -> None:
    ids = {wire.answer(UpstreamAnswer())["id"] for _ in range(3)}
    assert len(ids) == 3
    assert all(identity.startswith("msg_") for identity in ids)


def test_fields(wire: Wire) -> None:
    message = wire.answer(UpstreamAnswer(text="A", top={"system_fingerprint": "x", "service_tier": "default"}))
    assert (
        message.items()
        >= {
            "type": "message",
            "role": "assistant",
            "model": "client-model",
            "content": [{"type": "text", "text": "A"}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
        }.items()
    )


@pytest.mark.parametrize("text", [None, ""])
def test_no_content(wire: Wire, text: str | None) -> None:
    assert wire.answer(UpstreamAnswer(text=text))["content"] == []


@pytest.mark.parametrize(
    ("backend", "fields"),
    [
        ("vllm", ("reasoning",)),
        ("vllm", ("reasoning_content",)),
        ("sglang", ("reasoning_content",)),
        ("llama_cpp", ("reasoning_content",)),
        ("ollama", ("reasoning",)),
        ("lm_studio", ("reasoning_content",)),
        ("lmdeploy", ("reasoning_content",)),
        ("tensorrt_llm", ("reasoning_content",)),
        ("tensorrt_llm", ("reasoning_content", "reasoning")),
        ("transformers_serve", ("reasoning_content",)),
        ("openai", ("reasoning_content",)),
        ("azure", ("reasoning_content",)),
        ("deepseek", ("reasoning_content",)),
        ("openrouter", ("reasoning",)),
        ("openrouter", ("reasoning", "reasoning_content")),
        ("groq", ("reasoning",)),
    ],
)
def test_reasoning(wire: Wire, backend: str, fields: tuple[str, ...]) -> None:
    message = wire.answer(UpstreamAnswer(text="A", reasoning="hm, so", reasoning_fields=fields), backend)
    assert without_made(message["content"]) == [
        {"type": "thinking", "thinking": "hm, so"},
        {"type": "text", "text": "A"},
    ]
    assert message["content"][0]["signature"]


def test_reasoning_in_parts(wire: Wire) -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "closed": True}
    parts = [thinking, {"type": "text", "text": "A"}]
    message = wire.answer(edited(UpstreamAnswer(), content=parts), "mistral")
    assert without_made(message["content"]) == [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "A"}]


@pytest.mark.parametrize("backend", ["tgi", "openai", "vllm"])
def test_reasoning_inside_the_text(wire: Wire, backend: str) -> None:
    text = "<think>hm</think>A"
    assert wire.answer(UpstreamAnswer(text=text), backend)["content"] == [{"type": "text", "text": text}]


@pytest.mark.parametrize("backend", BACKENDS)
def test_tool_call(wire: Wire, backend: str) -> None:
    answer = UpstreamAnswer(text="Look.", tool_calls=(CALL,), finish_reason="tool_calls")
    message = json.loads(wire.ask("/v1/messages", {**ASK, "tools": [F]}, completion(answer), backend=backend).body)
    text, call = message["content"]
    identity = call["id"] if backend == "tgi" else "call_1"
    assert identity.startswith("toolu_" if backend == "tgi" else "call_1")
    assert text == {"type": "text", "text": "Look."}
    assert call == {"type": "tool_use", "id": identity, "name": "f", "input": {"x": 1}}
    assert message["stop_reason"] == "tool_use"


@pytest.mark.parametrize(
    "shape",
    [
        ChunkShape(piece=1),
        ChunkShape(piece=0),
        ChunkShape(interleaved=True),
        ChunkShape(numbered=False),
        ChunkShape(shared=True, nulls=True),
        ChunkShape(finish_early=True),
    ],
)
def test_several_tool_calls(wire: Wire, shape: ChunkShape) -> None:
    calls = (CALL, UpstreamToolCall("g", '{"y":"z"}', "call_2"), UpstreamToolCall("f", "{}", "call_3"))
    message = wire.answer(UpstreamAnswer(tool_calls=calls, shape=shape, **NO_TEXT))
    assert [(block["id"], block["name"], block["input"]) for block in message["content"]] == [
        ("call_1", "f", {"x": 1}),
        ("call_2", "g", {"y": "z"}),
        ("call_3", "f", {}),
    ]


@pytest.mark.parametrize("ids", [(None, None), ("", ""), ("call_1", "call_1")])
def test_tool_call_ids(wire: Wire, ids: tuple[str | None, ...]) -> None:
    calls = tuple(UpstreamToolCall("f", f'{{"x":{number}}}', given) for number, given in enumerate(ids))
    message = wire.answer(UpstreamAnswer(tool_calls=calls, **NO_TEXT))
    assert [block["input"] for block in message["content"]] == [{"x": 0}, {"x": 1}]
    made = {block["id"] for block in message["content"]} - {"call_1"}
    assert len({block["id"] for block in message["content"]}) == 2
    assert all(identity.startswith("toolu_") for identity in made)


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ("", {}),
        ("null", {}),
        ("{}", {}),
        (' {"x": 1}', {"x": 1}),
        ('"{\\"x\\": 1}"', {"x": 1}),
        ("[1]", {"unparsed_arguments": "[1]"}),
        ("say hi", {"unparsed_arguments": "say hi"}),
    ],
)
def test_tool_call_arguments(wire: Wire, arguments: str, given: dict[str, Any]) -> None:
    message = wire.answer(UpstreamAnswer(tool_calls=(UpstreamToolCall("f", arguments),), **NO_TEXT))
    assert message["content"][0]["input"] == given


def test_arguments_as_an_object(wire: Wire) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": {"x": 1}}}
    message = wire.answer(edited(UpstreamAnswer(**NO_TEXT), tool_calls=[call]))
    assert message["content"][0]["input"] == {"x": 1}


def test_broken_arguments(wire: Wire) -> None:
    message = wire.answer(UpstreamAnswer(tool_calls=(UpstreamToolCall("f", '{"x": tru'),), **NO_TEXT))
    assert message["content"][0]["input"] == {"unparsed_arguments": '{"x": tru'}
    assert message["stop_reason"] == "tool_use"


def test_function_call(wire: Wire) -> None:
    old = edited(
        UpstreamAnswer(text=None, finish_reason="function_call"), function_call={"name": "f", "arguments": '{"x":1}'}
    )
    message = wire.answer(old)
    assert (message["content"][0]["input"], message["stop_reason"]) == ({"x": 1}, "tool_use")


def test_refusal(wire: Wire) -> None:
    message = wire.answer(UpstreamAnswer(text=None, refusal="I cannot."))
    assert message["content"] == [{"type": "text", "text": "I cannot."}]
    assert message["stop_reason"] == "refusal"


@pytest.mark.parametrize(
    ("finish", "calls", "reason"),
    [
        ("stop", (), "end_turn"),
        ("stop", (CALL,), "tool_use"),
        ("tool_calls", (CALL,), "tool_use"),
        ("tool_calls", (), "end_turn"),
        ("length", (), "max_tokens"),
        ("length", (CALL,), "max_tokens"),
        ("content_filter", (), "refusal"),
        ("a word of its own", (), "end_turn"),
    ],
)
def test_finish_reason(wire: Wire, finish: str, calls: tuple[UpstreamToolCall, ...], reason: str) -> None:
    assert wire.answer(UpstreamAnswer(finish_reason=finish, tool_calls=calls))["stop_reason"] == reason


def test_no_finish_reason(wire: Wire) -> None:
    done = UpstreamAnswer(finish_reason=None)
    assert wire.answer(done)["stop_reason"] == "end_turn"
    called = UpstreamAnswer(finish_reason=None, tool_calls=(CALL,), text=None)
    assert wire.answer(called)["stop_reason"] == "tool_use"


MATCHED: list[tuple[str, dict[str, Any]]] = [
    ("vllm", {"choice": {"stop_reason": "END"}}),
    ("sglang", {"choice": {"matched_stop": "END"}}),
    ("tensorrt_llm", {"choice": {"stop_reason": "END"}}),
    ("llama_cpp", {"top": {"__verbose": {"stop_type": "word", "stopping_word": "END"}}}),
    ("tgi", {"finish_reason": "stop_sequence"}),
]


@pytest.mark.parametrize(("backend", "report"), MATCHED)
def test_matched_stop(wire: Wire, backend: str, report: dict[str, Any]) -> None:
    message = wire.answer(UpstreamAnswer(text="A", **report), backend, stop_sequences=["END"])
    assert (message["stop_reason"], message["stop_sequence"]) == ("stop_sequence", "END")
    assert message["content"] == [{"type": "text", "text": "A"}]


@pytest.mark.parametrize(("backend", "report"), MATCHED[:-1])
def test_a_stop_that_nobody_asked_for(wire: Wire, backend: str, report: dict[str, Any]) -> None:
    message = wire.answer(UpstreamAnswer(text="A", **report), backend, stop_sequences=["FIN"])
    assert (message["stop_reason"], message["stop_sequence"]) == ("end_turn", None)


@pytest.mark.parametrize("backend", [name for name in BACKENDS if name not in dict(MATCHED)])
def test_a_stop_that_is_not_reported(wire: Wire, backend: str) -> None:
    message = wire.answer(UpstreamAnswer(text="A"), backend, stop_sequences=["END"])
    assert (message["stop_reason"], message["stop_sequence"]) == ("end_turn", None)


def test_stop_inside_a_call(wire: Wire) -> None:
    cut = UpstreamAnswer(tool_calls=(UpstreamToolCall("f", '{"x": "'),), choice={"stop_reason": "END"}, **NO_TEXT)
    message = wire.answer(cut, "vllm", stop_sequences=["END"])
    assert (message["stop_reason"], message["stop_sequence"]) == ("stop_sequence", "END")


def test_further_choices(wire: Wire) -> None:
    value = UpstreamAnswer(text="A").completion()
    value["choices"] += [{**value["choices"][0], "index": 1, "message": {"role": "assistant", "content": "B"}}]
    value["choices"][0]["logprobs"] = {"content": []}
    message = wire.answer(json.dumps(value).encode())
    assert message["content"] == [{"type": "text", "text": "A"}]


def test_annotations(wire: Wire) -> None:
    cited = edited(UpstreamAnswer(text="A"), annotations=[{"type": "url_citation", "url_citation": {"url": "u"}}])
    assert wire.answer(cited)["content"] == [{"type": "text", "text": "A"}]
